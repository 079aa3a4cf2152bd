"""The parts that the forms of checks share: texts, places, and bounds."""

from __future__ import annotations

import math
import re
import signal as signals
from typing import Annotated, Any

from packaging.specifiers import InvalidSpecifier, SpecifierSet
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StrictInt, model_validator

MOST_LINES = 1_000
MOST_CHARACTERS = 10_000
_NUMBER = re.compile(
    r"[+-]?(?:0[xX][0-9a-fA-F]++|(?:\d++(?:_\d++)*+(?:\.\d*+)?|\.\d++)(?:[eE][+-]?\d++)?|nan|inf(?:inity)?)[jJ]?",
    re.IGNORECASE,
)


def _encodable(text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise ValueError("this text has half of a surrogate pair") from error
    return text


def number_as_text(number: Any) -> Any:
    """A number of JSON as it is written. Its digits count: `1.0` and `1.00` are not equally exact."""
    is_number = isinstance(number, (int, float)) and not isinstance(number, bool)
    return repr(number) if is_number else number


def as_number(text: str) -> str:
    """The text, if it is a number. Raises ValueError."""
    if _NUMBER.fullmatch(text.strip()) is None:
        raise ValueError("this is no number; write it as the script prints it, such as 0.98999 or nan")
    return text


def _is_range(text: str) -> str:
    try:
        SpecifierSet(text)
    except InvalidSpecifier as error:
        raise ValueError("this is no range of versions; write it as in >=2.4,<2.6") from error
    return text


def as_signal(name: str) -> str:
    """The name, if it is one of a signal. Raises ValueError."""
    if name not in signals.Signals.__members__:
        raise ValueError("there is no such signal; write its name, such as SIGSEGV")
    return name


def as_finite(number: float) -> float:
    """The number, if it is finite. Raises ValueError."""
    if not math.isfinite(number):
        raise ValueError("this must be a finite number")
    return number


Text = Annotated[str, Field(max_length=MOST_CHARACTERS), AfterValidator(_encodable)]
Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{1,40}$")]
ShortText = Annotated[str, Field(max_length=200), AfterValidator(_encodable)]


class FormPart(BaseModel):
    """A part of a claim as data. An unknown field is an error."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class WhereForm(FormPart):
    """The environment to which a check is limited. A field that is left out means any."""

    device: ShortText | None = Field(
        default=None,
        description="`cpu` or `cuda`; on any other device nothing can be shown here",
        examples=["cuda"],
    )
    package: Annotated[str, Field(pattern=r"^[A-Za-z0-9._-]{1,100}$")] | None = Field(
        default=None,
        description="the package whose version `version` and `range` mean; torch without it",
        examples=["numpy"],
    )
    version: ShortText | None = Field(
        default=None,
        description=(
            "a version by its first two numbers; `>=` and the oldest one; or `python` and a version of Python"
        ),
        examples=["2.4"],
    )
    range: Annotated[str, Field(max_length=200), AfterValidator(_is_range)] | None = Field(
        default=None, description="versions, in the form of a requirement", examples=[">=2.4,<2.6"]
    )
    os: ShortText | None = Field(default=None, description="an operating system", examples=["linux"])
    mode: ShortText | None = Field(
        default=None,
        description="a way to run it that no target has: then the check can be met, and never refuted",
        examples=["other code"],
    )


Line = Annotated[StrictInt, Field(ge=1, le=1_000_000)]


class PlaceForm(FormPart):
    """The script and the statement that a check is about."""

    script: Annotated[StrictInt, Field(ge=1, le=100)] | None = Field(
        default=None,
        description="the number of the only script that is judged; the first one is 1",
        examples=[1],
    )
    digest: ShortText | None = Field(
        default=None,
        description="the digest of that script; if it is not the script's, the claim is refused",
        examples=["sha256:…"],
    )
    line: Line | None = Field(
        default=None,
        description=(
            "the line of the script as submitted that prints or raises it: a no needs that it was passed;"
            " without it the line is looked for"
        ),
        examples=[3],
    )
    through: Annotated[list[Line], Field(max_length=20)] = Field(
        default_factory=list,
        description="the lines of the calls that lead to `line`, the outermost first",
        examples=[[12, 7]],
    )


Limit = Annotated[float, AfterValidator(as_finite)]


class BoundsForm(FormPart):
    """Where a printed number has to lie. A bound that is left out sets no limit."""

    least: Limit | None = Field(default=None, description="it is at least this", examples=[0.0])
    most: Limit | None = Field(default=None, description="it is at most this", examples=[1.0])
    above: Limit | None = Field(default=None, description="it is greater than this", examples=[0.0])
    below: Limit | None = Field(default=None, description="it is less than this", examples=[1.0])
    unequal: Limit | None = Field(default=None, description="it is any number but this one", examples=[0.0])

    @model_validator(mode="after")
    def _sets_a_limit(self) -> BoundsForm:
        if self.model_dump(exclude_none=True) == {}:
            raise ValueError("give at least one of least, most, above, below and unequal")
        return self
