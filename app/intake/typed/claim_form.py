"""The form of a whole claim that is sent as data, and its errors, each with its place."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from pydantic import Field, ValidationError

from app.errors import InputError
from app.intake.claim.claims import (
    MOST_READINGS,
    MOST_RIGHT_BOUNDS,
    MOST_RIGHT_ERRORS,
    MOST_RIGHT_VALUES,
    Trait,
)
from app.intake.typed.check_forms import FORMS, MOST_CHECKS, AnyCheck
from app.intake.typed.form_parts import BoundsForm, FormPart, ShortText, Text

_PACKAGE = r"^[A-Za-z0-9._-]{1,100}$"
_CODE = "bad_claim"


class ReadingForm(FormPart):
    """One reading of a report: what happens, what should happen, and where."""

    subject: Annotated[str, Field(pattern=_PACKAGE)] | None = Field(
        default=None,
        description=(
            "the package whose fault is claimed, `python` for Python itself; a version in `where` without a"
            " `package` is one of this package, or of torch"
        ),
        examples=["numpy"],
    )
    text: Text = Field(
        default="",
        description="the claim in words, for people; a word such as `sometimes` asks for more attempts",
    )
    right_values: Annotated[list[Text], Field(max_length=MOST_RIGHT_VALUES)] = Field(
        default_factory=list,
        description=(
            "values that the report calls right somewhere; if all that changed became such values, the bug is"
            " gone"
        ),
        examples=[["0.9567"]],
    )
    right_errors: Annotated[list[ShortText], Field(max_length=MOST_RIGHT_ERRORS)] = Field(
        default_factory=list,
        description=(
            "types of errors that the report calls right, without their modules; `Exception` is any error:"
            " if the statement of the bug raises one of them, the bug is gone"
        ),
        examples=[["ValueError"]],
    )
    right_bounds: Annotated[list[BoundsForm], Field(max_length=MOST_RIGHT_BOUNDS)] = Field(
        default_factory=list,
        description=(
            "where the value has to lie: if the claimed number breaks these bounds, and what is printed"
            " instead keeps them all, the bug is gone"
        ),
        examples=[[{"least": 0.0, "most": 1.0}]],
    )
    right_traits: Annotated[list[Trait], Field(max_length=len(Trait))] = Field(
        default_factory=list,
        description=(
            "traits that the value has to have: if the claimed value lacks one, and what is printed instead"
            " has it, the bug is gone"
        ),
        examples=[["sorted"]],
    )
    checks: Annotated[list[AnyCheck], Field(max_length=MOST_CHECKS)] = Field(
        description="all checks with the role `bug` must be met; without any, nothing is judged",
        examples=[
            [{"kind": "value", "number": "86"}, {"kind": "value", "role": "expected", "number": "4950"}]
        ],
    )


class ClaimForm(ReadingForm):
    """A claim as data. Nothing is guessed: each check is judged as it stands."""

    further: Annotated[list[ReadingForm], Field(max_length=MOST_READINGS - 1)] = Field(
        default_factory=list,
        description="other readings of the same report; a verdict is given when all readings agree",
    )


def claim_form(data: Any) -> ClaimForm:
    """Data as a claim. Raises InputError with the place of the first error, as `claim.checks.2.lines`."""
    try:
        form = ClaimForm.model_validate(data)
    except ValidationError as error:
        raise _input_error(error) from None
    for place, reading in (
        ("claim", form),
        *((f"claim.further.{at}", one) for at, one in enumerate(form.further)),
    ):
        _check_names(reading, place)
    return form


def form_in_text(text: str) -> ClaimForm | None:
    """The claim if the text is the JSON of one; None for words. Raises InputError if it has a wrong form."""
    data = _object_in(text)
    return None if data is None or "checks" not in data else claim_form(data)


def text_of_data(data: Mapping[str, Any]) -> str:
    """A claim as data, as the text that is stored. Raises InputError if it has a wrong form."""
    if "checks" not in data:
        raise InputError(
            "A claim as data has a list of `checks`; `docs/claims.md` has one of each kind.",
            code=_CODE,
            field="claim.checks",
        )
    claim_form(data)
    return json.dumps(data, ensure_ascii=False, separators=(",", ":"))


def checked_json(text: str) -> str:
    """The JSON of a claim as data, as a user wrote it. Raises InputError if it is none."""
    try:
        data = json.loads(text)
    except json.JSONDecodeError as error:
        raise InputError(
            f"This claim is not JSON: {error.msg} in line {error.lineno}, column {error.colno}.",
            code=_CODE,
            field="claim",
        ) from None
    except (ValueError, RecursionError):
        raise InputError("This claim is not JSON that can be read.", code=_CODE, field="claim") from None
    if not isinstance(data, dict):
        raise InputError("A claim as data is an object with a list of `checks`.", code=_CODE, field="claim")
    return text_of_data(data)


def _object_in(text: str) -> dict[str, Any] | None:
    text = text.strip()
    if not (text.startswith("{") and text.endswith("}")):
        return None
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return data if isinstance(data, dict) else None


def refusal(place: str, message: str) -> InputError:
    """The error of a claim at a place, as `claim.checks.2.of`."""
    return InputError(f"{place}: {message}", code=_CODE, field=place)


def _check_names(reading: ReadingForm, place: str) -> None:
    """Refuse a name that two checks have, and an `of` that names no bug."""
    ids: set[str] = set()
    bugs = {check.id for check in reading.checks if check.role == "bug" and check.id}
    for at, check in enumerate(reading.checks):
        if check.id in ids:
            raise refusal(f"{place}.checks.{at}.id", "Another check has this id. Give each its own.")
        if check.id:
            ids.add(check.id)
        if check.of is not None and check.role != "expected":
            raise refusal(f"{place}.checks.{at}.of", "Only a check with the role expected replaces a bug.")
        if check.of is not None and check.of not in bugs:
            raise refusal(
                f"{place}.checks.{at}.of",
                "No check with the role bug has this id. Name one, or leave it out.",
            )


def _input_error(error: ValidationError) -> InputError:
    first = error.errors(include_url=False, include_context=False, include_input=False)[0]
    place = _place(first["loc"])
    if first["type"] in {"union_tag_invalid", "union_tag_not_found"}:
        return refusal(f"{place}.kind", f"A check has a kind: {', '.join(FORMS)}.")
    if first["type"] == "extra_forbidden":
        return refusal(place, "There is no such field here. Leave it out, or see docs/claims.md.")
    message = str(first["msg"]).removeprefix("Value error, ")
    return refusal(place, f"{message[:1].upper()}{message[1:300]}.".replace("..", "."))


def _place(location: Sequence[str | int]) -> str:
    """The place in the words of the sender. The name of the kind, which pydantic puts in, is left out."""
    parts: list[str] = []
    for at, part in enumerate(location):
        is_kind = at > 1 and location[at - 2] == "checks" and isinstance(location[at - 1], int)
        if not is_kind:
            parts.append(str(part)[:60] if isinstance(part, int) or part.isidentifier() else "…")
    return ".".join(["claim", *parts])[:200]
