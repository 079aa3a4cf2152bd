"""A claim as data into checks, and back: what `read` answers can be sent again and gives the same claim."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from app.intake.claim.claim_text import read_claim
from app.intake.claim.claims import Bounds, Check, CheckKind, Claim, ScriptPlace, Where
from app.intake.reading import ClaimSource, Script
from app.intake.typed.check_forms import FORMS, CheckForm
from app.intake.typed.claim_form import ClaimForm, ReadingForm, form_in_text, refusal

# Fields with another name in the data than in a check.
_NAMES = {"type": "exception_type", "status": "exit_status"}
_SURROGATE = re.compile(r"[\ud800-\udfff]")
_SHARED = frozenset({"kind", "text", "role", "where", "over", "at"})


def given_claim(text: str) -> Claim:
    """The claim that somebody gave: words, or the JSON of a claim as data.

    Raises InputError for data in a wrong form.
    """
    form = form_in_text(text)
    return read_claim(text) if form is None else claim_of_form(form)


def source_of(text: str | None) -> ClaimSource:
    """The source of a claim that somebody gave, or of one that was read from the report."""
    is_data = text is not None and form_in_text(text) is not None
    return ClaimSource.TYPED if is_data else ClaimSource.RULES


def claim_of_form(form: ClaimForm) -> Claim:
    """The claim of data."""
    claim = _claim(form)
    return claim.model_copy(update={"further": tuple(map(_claim, form.further))}) if form.further else claim


def with_scripts(claim: Claim, scripts: Sequence[Script]) -> Claim:
    """The claim with the digests of the scripts that its checks name.

    Raises InputError where there is no such script or line, or if the script is another one.
    """
    if not scripts or not any(_names_place(check) for one in (claim, *claim.further) for check in one.checks):
        return claim
    placed = _with_scripts(claim, scripts, "claim")
    further = [_with_scripts(one, scripts, f"claim.further.{at}") for at, one in enumerate(claim.further)]
    return placed.model_copy(update={"further": tuple(further)})


def data_of_claim(claim: Claim) -> dict[str, Any]:
    """A claim as data. Fields without a value are left out.

    Half of a surrogate pair, which no JSON can send, becomes a replacement character.
    """
    data = _data(claim)
    if claim.further:
        data["further"] = [_data(one) for one in claim.further]
    encodable: dict[str, Any] = _encodable(data)
    return encodable


def _encodable(data: Any) -> Any:
    if isinstance(data, str):
        return _SURROGATE.sub("\N{REPLACEMENT CHARACTER}", data)
    if isinstance(data, list):
        return [_encodable(each) for each in data]
    return {name: _encodable(each) for name, each in data.items()} if isinstance(data, dict) else data


def data_of_check(check: Check) -> dict[str, Any]:
    """A check as data: the fields of its kind that have a value."""
    data: dict[str, Any] = {
        "text": check.text,
        "kind": str(check.kind),
        "role": str(check.role),
        "where": check.where.model_dump(exclude_none=True),
        "over": str(check.over),
    }
    for name in FORMS[check.kind].model_fields:
        value = getattr(check, _NAMES.get(name, name), None)
        if name in _SHARED or value is None or value == ():
            continue
        if isinstance(value, Bounds):
            value = value.model_dump(exclude_none=True)
        data[name] = list(value) if isinstance(value, tuple) else value
    return {**data, "at": _place_data(check)} if _names_place(check) else data


def _names_place(check: Check) -> bool:
    return check.at is not None or check.script is not None


def _place_data(check: Check) -> dict[str, Any]:
    place: dict[str, Any] = {} if check.at is None else {"line": check.at}
    if check.through:
        place["through"] = list(check.through)
    if check.script is not None:
        place["script"] = check.script.number
        if check.script.digest is not None:
            place["digest"] = check.script.digest
    return place


def _data(claim: Claim) -> dict[str, Any]:
    data: dict[str, Any] = {
        "subject": claim.subject,
        "checks": [data_of_check(each) for each in claim.checks],
    }
    if claim.text:
        data["text"] = claim.text
    if claim.right_values:
        data["right_values"] = list(claim.right_values)
    if claim.right_errors:
        data["right_errors"] = list(claim.right_errors)
    if claim.right_bounds:
        data["right_bounds"] = [bounds.model_dump(exclude_none=True) for bounds in claim.right_bounds]
    if claim.right_traits:
        data["right_traits"] = [str(trait) for trait in claim.right_traits]
    return data


def _claim(form: ReadingForm) -> Claim:
    return Claim(
        checks=tuple(_check(check, form.subject) for check in form.checks),
        text=form.text,
        subject=form.subject,
        right_values=tuple(form.right_values),
        right_errors=tuple(name.rsplit(".", 1)[-1] for name in form.right_errors),
        right_bounds=tuple(Bounds.model_validate(each.model_dump()) for each in form.right_bounds),
        right_traits=tuple(form.right_traits),
    )


def _check(form: CheckForm, subject: str | None) -> Check:
    fields = {
        _NAMES.get(name, name): value
        for name, value in form.model_dump(exclude_none=True, exclude={"where", "at"}).items()
    }
    if form.at is not None:
        fields |= {"at": form.at.line, "through": tuple(form.at.through)}
        if form.at.script is not None or form.at.digest is not None:
            fields["script"] = ScriptPlace(number=form.at.script or 1, digest=form.at.digest)
    if isinstance(kind := fields.get("exception_type"), str):
        fields["exception_type"] = kind.rsplit(".", 1)[-1]
    check = Check.model_validate({"text": "", **fields, "where": _where(form, subject)})
    return check if form.text is not None else check.model_copy(update={"text": _words(check)})


def _where(form: CheckForm, subject: str | None) -> Where:
    where = Where.model_validate(form.where.model_dump())
    names_python = (where.version or "").startswith("python")
    if where.package or names_python or not (where.version or where.range) or subject in {None, "torch"}:
        return where
    return where.model_copy(update={"package": subject})


def _words(check: Check) -> str:
    """Words for a check without any."""
    return _WORDS[check.kind](check)


_WORDS: dict[CheckKind, Callable[[Check], str]] = {
    CheckKind.OUTPUT: lambda check: "\n".join(check.lines),
    CheckKind.VALUE: lambda check: ": ".join(filter(None, (check.label, check.number))),
    CheckKind.EXCEPTION: lambda check: ": ".join(filter(None, (check.exception_type, check.message))),
    CheckKind.CRASH: lambda check: check.signal or "a crash",
    CheckKind.EXIT_STATUS: lambda check: f"exit status {check.exit_status}",
    CheckKind.NO_ERROR: lambda check: f"no {check.exception_type or 'error'} is raised",
    CheckKind.OUT_OF_BOUNDS: lambda check: f"the {check.label or 'value'} breaks a bound",
    CheckKind.LACKS: lambda check: f"printed values are not {check.trait}",
    CheckKind.HANG: lambda _: "it does not end",
    CheckKind.OUT_OF_MEMORY: lambda _: "memory runs out",
    CheckKind.VARIES: lambda _: "repeats give different results",
    CheckKind.DIFFERS: lambda check: f"{' and '.join(check.sides) or 'two targets'} differ",
    CheckKind.SLOWER: lambda check: " is slower than ".join(side or "the others" for side in check.sides),
}


def _with_scripts(claim: Claim, scripts: Sequence[Script], place: str) -> Claim:
    checks = [
        _in_script(check, scripts, f"{place}.checks.{at}.at") if _names_place(check) else check
        for at, check in enumerate(claim.checks)
    ]
    return claim.model_copy(update={"checks": tuple(checks)})


def _in_script(check: Check, scripts: Sequence[Script], place: str) -> Check:
    number = 1 if check.script is None else check.script.number
    if number > len(scripts):
        raise refusal(f"{place}.script", f"The report has {len(scripts)} of them; `read` shows them.")
    script = scripts[number - 1]
    if check.script is not None and check.script.digest not in {None, script.digest}:
        raise refusal(
            f"{place}.digest", "The script has another digest. Read the report again, and take its lines."
        )
    lines = max(script.as_given.count("\n"), script.script.count("\n")) + 1
    for name, given in (("line", [check.at] if check.at else []), ("through", list(check.through))):
        if any(line > lines for line in given):
            raise refusal(f"{place}.{name}", f"The script has {lines} lines.")
    if check.script is None:
        return check
    return check.model_copy(update={"script": ScriptPlace(number=number, digest=script.digest)})
