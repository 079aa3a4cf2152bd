"""The form of each kind of check in a claim that is sent as data. A kind has only the fields that count."""

from __future__ import annotations

from typing import Annotated, Any, Literal, get_args

from pydantic import AfterValidator, BeforeValidator, Field, StrictBool, StrictInt, model_validator

from app.intake.claim.claims import Role, Stream
from app.intake.typed.form_parts import (
    MOST_LINES,
    BoundsForm,
    FormPart,
    Name,
    PlaceForm,
    ShortText,
    Text,
    WhereForm,
    as_finite,
    as_number,
    as_signal,
    number_as_text,
)

MOST_CHECKS = 60


class CheckForm(FormPart):
    """The fields that all kinds share."""

    id: Name | None = Field(default=None, description="its name, once in a claim", examples=["a"])
    text: Text | None = Field(
        default=None,
        description="the reporter's words for it, for people; it is made from the other fields without it",
        examples=["prints 86, expected 4950"],
    )
    role: Role = Field(
        default=Role.BUG,
        description="`bug` decides the verdict, `expected` is the right behaviour, `detail` only refines",
    )
    of: Name | None = Field(
        default=None,
        description="for `expected`: the `id` of the bug that it replaces; all bugs without it",
        examples=["a"],
    )
    facet: Name | None = Field(
        default=None,
        description="its claim, if the report makes several: each gets a verdict",
        examples=["grad"],
    )
    where: WhereForm = Field(default_factory=WhereForm, description="the environment to which it is limited")
    at: PlaceForm | None = Field(default=None, description="the place in the scripts of the report")
    over: Literal["attempt"] = Field(default="attempt", description="each attempt is judged by itself")


class ExceptionForm(CheckForm):
    """An error that the script raises or prints, or a warning."""

    kind: Literal["exception"]
    type: ShortText | None = Field(
        default=None, description="the name of its type, without its module", examples=["RuntimeError"]
    )
    message: Text | None = Field(
        default=None,
        description="its message or the beginning of it; numbers, addresses and paths in it do not count",
        examples=["expected scalar type Half but found Float"],
    )

    @model_validator(mode="after")
    def _names_something(self) -> ExceptionForm:
        if not self.type and not (self.message or "").strip():
            raise ValueError("give the type of the error, its message, or both")
        return self


class NoErrorForm(CheckForm):
    """An error that should be raised, and is not."""

    kind: Literal["no_error"]
    type: ShortText | None = Field(
        default=None, description="the type of the missing error; any without it", examples=["ValueError"]
    )


class CrashForm(CheckForm):
    """The process dies by a signal."""

    kind: Literal["crash"]
    signal: Annotated[str, AfterValidator(as_signal)] | None = Field(
        default=None, description="the name of the signal; any crash without it", examples=["SIGSEGV"]
    )


class ExitStatusForm(CheckForm):
    """The script ends with a status."""

    kind: Literal["exit_status"]
    status: StrictInt = Field(ge=0, le=255, description="the exit status", examples=[3])


class _PrintedForm(CheckForm):
    """The fields of what is printed."""

    label: ShortText | None = Field(
        default=None, description="words on the line that shows it", examples=["max diff"]
    )
    stream: Stream | None = Field(
        default=None,
        description="only this stream; else stdout, and stderr too if it counts",
        examples=["stdout"],
    )
    occurrence: StrictInt | None = Field(
        default=None,
        ge=1,
        le=1_000_000,
        description=(
            "the line that shows it, counted from 1 among the lines with the label, or among all lines that"
            " are not blank"
        ),
        examples=[2],
    )
    random: StrictBool | None = Field(
        default=None,
        description=(
            "whether its fractions are random numbers, which are no evidence; without it, they are if the"
            " script draws random numbers and sets no seed"
        ),
        examples=[False],
    )


class OutputForm(_PrintedForm):
    """Lines that the script prints. Numbers count by their value, spaces and punctuation do not count."""

    kind: Literal["output"]
    lines: Annotated[list[Text], Field(max_length=MOST_LINES)] = Field(
        default_factory=list,
        description=(
            "the lines, all of which must be printed, in any order; without it those of `text`;"
            " one empty line: nothing is printed"
        ),
        examples=[["tensor([1., 2.])"]],
    )

    @model_validator(mode="before")
    @classmethod
    def _lines_of_text(cls, data: Any) -> Any:
        if isinstance(data, dict) and "lines" not in data and isinstance(data.get("text"), str):
            return {**data, "lines": data["text"].splitlines()}
        return data

    @model_validator(mode="after")
    def _shows_lines(self) -> OutputForm:
        if not self.lines:
            raise ValueError("give the printed lines")
        return self


class ValueForm(_PrintedForm):
    """One number that the script prints."""

    kind: Literal["value"]
    number: Annotated[
        str, Field(max_length=400), AfterValidator(as_number), BeforeValidator(number_as_text)
    ] = Field(
        description="the number with as many digits as count; a text such as nan is one, too",
        examples=["0.98999"],
    )
    position: Literal["first", "last"] | None = Field(
        default=None, description="the first or the last number that is printed; any without it"
    )
    tolerance: Annotated[float, AfterValidator(as_finite)] | None = Field(
        default=None,
        ge=0,
        description="the largest distance from `number` that still counts as equal, in its unit",
        examples=[0.001],
    )


class OutOfBoundsForm(CheckForm):
    """A printed number breaks a bound. The last line with numbers counts, or the lines with the label."""

    kind: Literal["out_of_bounds"]
    bounds: BoundsForm = Field(
        description="where the number has to lie", examples=[{"least": 0.0, "most": 1.0}]
    )
    label: ShortText | None = Field(
        default=None, description="words on the line that shows it", examples=["p-value"]
    )


class LacksForm(CheckForm):
    """Printed values lack a trait: two should agree, all should differ, or the last should be sorted."""

    kind: Literal["lacks"]
    trait: Literal[
        "agree", "distinct", "sorted", "real", "not_empty", "sums_to_one", "not_zeros", "not_nan"
    ] = Field(
        description=(
            "`agree`: they should be equal but for rounding; `distinct`: each should be another one; the"
            " others are about the last value; `not_zeros` and `not_nan`: not all of its elements"
        ),
        examples=["agree"],
    )
    among: Annotated[list[Annotated[StrictInt, Field(ge=1, le=10_000)]], Field(max_length=20)] = Field(
        default_factory=list,
        description="the printed values that are compared, counted from 1; all without it",
        examples=[[1, 2]],
    )
    prints: StrictInt | None = Field(
        default=None,
        ge=2,
        le=10_000,
        description="how many values the script prints; with another number, nothing is compared",
        examples=[2],
    )


class HangForm(CheckForm):
    """The script does not end."""

    kind: Literal["hang"]
    message: Text | None = Field(
        default=None, description="text in the stacks of the processes at the time limit", examples=["futex"]
    )


class OutOfMemoryForm(CheckForm):
    """Memory runs out."""

    kind: Literal["out_of_memory"]


class VariesForm(CheckForm):
    """Repeats give different results."""

    kind: Literal["varies"]
    over: Literal["repeats"] = Field(  # type: ignore[assignment]
        default="repeats", description="the repeats on one target are judged together"
    )
    lines: Annotated[list[Text], Field(max_length=MOST_LINES)] = Field(
        default_factory=list,
        description="the outputs of several repeats, as the report shows them",
        examples=[["0.51", "0.73"]],
    )


def _are_two(sides: list[str]) -> list[str]:
    if len(sides) == 1:
        raise ValueError("there are two sides; give both, or none")
    return sides


Sides = Annotated[list[ShortText], Field(max_length=2), AfterValidator(_are_two)]


class _SidesForm(CheckForm):
    """The fields of two sides."""

    sides: Sides = Field(
        default_factory=list,
        description="the two sides: devices, modes or dtypes as printed; over a pair, targets: 2.1 and 2.2",
        examples=[["cpu", "cuda"]],
    )
    over: Literal["attempt", "pair"] = Field(  # type: ignore[assignment]
        default="attempt",
        description="`attempt`: one attempt prints both sides; `pair`: each side is a target of its own",
    )


class DiffersForm(_SidesForm):
    """Two sides give different values."""

    kind: Literal["differs"]
    side_lines: Annotated[list[Text], Field(max_length=2)] = Field(
        default_factory=list,
        description="the line that each side prints, in the order of `sides`; an empty one: any",
        examples=[["cpu tensor(1.)", "cuda tensor(2.)"]],
    )

    @model_validator(mode="after")
    def _lines_have_sides(self) -> DiffersForm:
        if len(self.side_lines) > len(self.sides):
            raise ValueError("each of `side_lines` needs its side in `sides`")
        return self


class SlowerForm(_SidesForm):
    """The first side takes longer than the second one."""

    kind: Literal["slower"]
    sides: Annotated[Sides, Field(min_length=2)] = Field(
        description="the slow side and the fast side; an empty one stands for all others",
        examples=[["cuda", "cpu"]],
    )
    factor: Annotated[float, AfterValidator(as_finite)] | None = Field(
        default=None,
        gt=0,
        description="how many times as long; any clear difference without it",
        examples=[3.0],
    )


AnyCheck = Annotated[
    ExceptionForm
    | NoErrorForm
    | CrashForm
    | ExitStatusForm
    | OutputForm
    | ValueForm
    | OutOfBoundsForm
    | LacksForm
    | HangForm
    | OutOfMemoryForm
    | VariesForm
    | DiffersForm
    | SlowerForm,
    Field(discriminator="kind"),
]
FORMS: dict[str, type[CheckForm]] = {
    str(get_args(form.model_fields["kind"].annotation)[0]): form for form in get_args(get_args(AnyCheck)[0])
}
