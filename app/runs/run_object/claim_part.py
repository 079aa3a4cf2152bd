"""The claim in a run object and in the answer of `reports:read`: the form in which it can be sent back."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from app.intake.claim.claims import Claim
from app.intake.exhibit import Exhibit, ExhibitKind, Stance
from app.intake.typed.typed_claim import data_of_claim


def _is_absent(value: Any) -> bool:
    return value is None or value in ([], "")


# A field that is present only if it has a value.
_Text = Annotated[str | None, Field(exclude_if=_is_absent)]
_Texts = Annotated[list[str] | None, Field(exclude_if=_is_absent)]
_Whole = Annotated[int | None, Field(exclude_if=_is_absent)]
_Number = Annotated[float | None, Field(exclude_if=_is_absent)]


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True)


class PlacePart(_Part):
    """The script that a check is about, by its number, and the line that prints or raises it."""

    script: _Whole = None
    digest: _Text = None
    line: _Whole = None
    through: Annotated[list[int] | None, Field(exclude_if=_is_absent)] = None


class BoundsPart(_Part):
    """Where a printed number has to lie. A bound that is not there sets no limit."""

    least: _Number = None
    most: _Number = None
    above: _Number = None
    below: _Number = None
    unequal: _Number = None


class CheckPart(_Part):
    """A check as it is judged. Fields of its kind are there if they have a value: see `ClaimForm`."""

    text: str
    kind: str
    role: str
    where: dict[str, str]
    over: str
    id: _Text = None
    of: _Text = None
    facet: _Text = None
    at: Annotated[PlacePart | None, Field(exclude_if=_is_absent)] = None
    type: _Text = None
    message: Annotated[str | None, Field(exclude_if=lambda message: message is None)] = None
    signal: _Text = None
    status: _Whole = None
    lines: _Texts = None
    number: _Text = None
    label: _Text = None
    position: _Text = None
    stream: _Text = None
    occurrence: _Whole = None
    random: Annotated[bool | None, Field(exclude_if=lambda random: random is None)] = None
    tolerance: _Number = None
    bounds: Annotated[BoundsPart | None, Field(exclude_if=_is_absent)] = None
    trait: _Text = None
    among: Annotated[list[int], Field(exclude_if=_is_absent)] = Field(default_factory=list)
    prints: _Whole = None
    sides: _Texts = None
    side_lines: _Texts = None
    factor: _Number = None


class ReadingPart(_Part):
    """One reading of a report."""

    # The package whose fault is claimed.
    subject: str | None = None
    text: _Text = None
    right_values: _Texts = None
    right_errors: _Texts = None
    right_bounds: Annotated[list[BoundsPart], Field(exclude_if=_is_absent)] = Field(default_factory=list)
    right_traits: _Texts = None
    checks: list[CheckPart] = Field(default_factory=list)


class ClaimPart(ReadingPart):
    """The claim as it is judged. It can be sent as `claim`, as it is or mended.

    If one of the `further` readings is seen where the claim is not, the verdict is `observed` with the reason
    `two_readings`.
    """

    further: Annotated[list[ReadingPart], Field(exclude_if=_is_absent)] = Field(default_factory=list)


def claim_part(claim: Claim) -> ClaimPart:
    """The claim of a run object."""
    return ClaimPart.model_validate(data_of_claim(claim))


class SpanPart(_Part):
    """A place in the text as submitted, in characters (Unicode code points) from 0; `end` is behind it.

    `post` is 0 for the report, and the number of the comment in a thread. Offsets are those in its body.
    """

    post: int = 0
    start: int
    end: int


class ConditionPart(_Part):
    """The circumstances to which an exhibit is limited."""

    words: _Text = None
    device: _Text = None
    package: _Text = None
    version: _Text = None
    range: _Text = None
    os: _Text = None
    mode: _Text = None


class AnchorPart(_Part):
    """The statement that prints or raises it: the number of the script, and the line of the script as run."""

    script: int = 1
    line: int


class ExhibitPart(_Part):
    """A piece of evidence in the report. Its `text` is the submitted text at its `span`."""

    id: str
    kind: ExhibitKind
    span: SpanPart
    author: str = Field(description="the author of the post as its thread names them, else `reporter`")
    text: str
    stance: Stance = Field(
        description=(
            "`actual`: it happens; `expected`: it should happen; `elsewhere`: it is so in another version,"
            " on another device or with other code; `unclear`: it may be what happens, and only adds doubt"
        )
    )
    because: str = Field(description="the words that decided the stance; empty if there are none")
    condition: ConditionPart | None = None
    anchor: AnchorPart | None = None
    corrected_by: _Text = None


def exhibit_part(exhibit: Exhibit) -> ExhibitPart:
    """An exhibit as answers have it."""
    data = exhibit.model_dump(exclude={"evidence", "condition"})
    if exhibit.condition is not None:
        data["condition"] = {"words": exhibit.condition.words, **exhibit.condition.where.model_dump()}
    return ExhibitPart.model_validate(data)
