"""A claim as checks that can be judged."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, model_validator

# The most readings of one report, the first one included.
MOST_READINGS = 4
# The most values of a report that it calls right.
MOST_RIGHT_VALUES = 40
# The most types of errors that it calls right. The base class of Python's errors stands for any of them.
MOST_RIGHT_ERRORS = 10
ANY_ERROR = Exception.__name__
# The most bounds that it sets for a value.
MOST_RIGHT_BOUNDS = 3


# A claimed exception with this type and no message is any error.
ANY_ERROR = "Exception"


class CheckKind(StrEnum):
    """The kinds of checks. Each has one judge in `app.judging.check.checks`."""

    EXCEPTION = "exception"  # type and message
    CRASH = "crash"  # a signal, such as SIGSEGV
    EXIT_STATUS = "exit_status"
    OUTPUT = "output"  # printed lines; numbers count by their value
    VALUE = "value"  # a number, with an optional label and position
    HANG = "hang"
    OUT_OF_MEMORY = "out_of_memory"
    VARIES = "varies"  # the repeats give different results
    DIFFERS = "differs"  # two sides of one attempt differ, or two targets
    SLOWER = "slower"  # the first side takes longer than the second, in one attempt or on two targets
    NO_ERROR = "no_error"  # an expected error is missing
    OUT_OF_BOUNDS = "out_of_bounds"  # a printed number breaks a bound
    LACKS = "lacks"  # printed values lack a trait


class Trait(StrEnum):
    """A property of a printed value as a whole."""

    FINITE = "finite"  # neither nan nor infinity
    NO_NAN = "no_nan"  # the same, where only the nan is called wrong
    ZEROS = "zeros"
    ONES = "ones"
    SORTED = "sorted"  # upwards
    EQUAL = "equal"  # all of its numbers
    SUMS_TO_ONE = "sums_to_one"
    REAL = "real"  # without imaginary parts
    NOT_EMPTY = "not_empty"
    NOT_ZEROS = "not_zeros"  # not all of them
    NOT_NAN = "not_nan"  # not all of them
    AGREE = "agree"  # two printed values
    DISTINCT = "distinct"  # all printed values from each other


class Role(StrEnum):
    """`bug` decides the verdict, `expected` is the right behaviour, `detail` only refines."""

    BUG = "bug"
    EXPECTED = "expected"
    DETAIL = "detail"


class Over(StrEnum):
    """The scope over which a check is judged."""

    ATTEMPT = "attempt"
    REPEATS = "repeats"
    PAIR = "pair"


class Where(BaseModel):
    """The environment to which a check is limited. An empty field means any.

    A version has the form `2.1`, `>=2.1` or `python 3.12`. It is a version of `package`, or of torch without
    one.
    """

    model_config = ConfigDict(frozen=True)

    device: str | None = None
    package: str | None = None
    version: str | None = None
    # Versions of `package`, or of torch without one, as in `>=2.4,<2.6`.
    range: str | None = None
    os: str | None = None
    mode: str | None = None


class Stream(StrEnum):
    """A stream of the script that shows the claimed lines."""

    STDOUT = "stdout"
    STDERR = "stderr"


class ScriptPlace(BaseModel):
    """A script of the report by its number, which begins at 1, and its digest; None until it is known."""

    model_config = ConfigDict(frozen=True)

    number: int = 1
    digest: str | None = None


class Bounds(BaseModel):
    """Where a number has to lie. A bound that is None sets no limit; `least` and `most` may be reached."""

    model_config = ConfigDict(frozen=True)

    least: float | None = None
    most: float | None = None
    above: float | None = None
    below: float | None = None
    unequal: float | None = None

    def hold(self, number: float) -> bool:
        """Whether the number keeps all bounds; nan keeps none."""
        return (
            number == number  # noqa: PLR0124 - nan
            and (self.least is None or number >= self.least)
            and (self.most is None or number <= self.most)
            and (self.above is None or number > self.above)
            and (self.below is None or number < self.below)
            and (self.unequal is None or number != self.unequal)
        )


class Check(BaseModel):
    """One statement of a claim. `text` quotes the reporter, the other fields are compared."""

    model_config = ConfigDict(frozen=True)

    text: str
    kind: CheckKind
    role: Role = Role.BUG
    where: Where = Field(default_factory=Where)
    over: Over = Over.ATTEMPT
    # EXCEPTION: the last name of the type, and the message as given. NO_ERROR: the missing type, if it is
    # named.
    exception_type: str | None = None
    message: str | None = None
    # CRASH: the name of the signal.
    signal: str | None = None
    # EXIT_STATUS: the status.
    exit_status: int | None = None
    # OUTPUT: lines that must all be printed, in any order. VALUE: one number as given ("0.98999"), its label,
    # its position.
    lines: tuple[str, ...] = ()
    number: str | None = None
    label: str | None = None
    position: str | None = None  # "last" or "first"
    # DIFFERS: the two sides ("cpu", "cuda") and the line that each prints, empty if not given. Over a pair,
    # the sides are versions ("2.2"). SLOWER: the slow side, the fast side, and the factor if it is given. An
    # empty side stands for all sides but the other.
    sides: tuple[str, ...] = ()
    side_lines: tuple[str, ...] = ()
    factor: float | None = None
    # The anchor: the line of the main script, as it is run, that prints or raises it; None if it is not
    # known. `through`: the lines of the calls that lead there, the outermost first.
    at: int | None = None
    through: tuple[int, ...] = ()
    # Whether nothing ties a failure to the main script: no anchor, and no name that both have.
    loose: bool = False
    # A name for this check, and the name of the bug that an expected value replaces. Without `of` it replaces
    # all bugs.
    id: str | None = None
    of: str | None = None
    # The claim of the report that it belongs to, if the report makes several. Without one it is part of each.
    facet: str | None = None
    # The script to which it is limited. None: all scripts.
    script: ScriptPlace | None = None
    # OUTPUT and VALUE: the stream, the first printed line that may hold it, counted from 1 among those with
    # the label, and whether its fractions are random numbers. None: as the script shows.
    stream: Stream | None = None
    occurrence: int | None = None
    random: bool | None = None
    # OUT_OF_BOUNDS: where the printed numbers have to lie.
    bounds: Bounds | None = None
    # LACKS: the trait, the printed values that are compared, counted from 1 (without any, all), and how many
    # the script prints, if that is known.
    trait: Trait | None = None
    among: tuple[int, ...] = ()
    prints: int | None = None
    # VALUE: the largest distance from `number` that still counts as equal.
    tolerance: float | None = None

    @model_validator(mode="before")
    @classmethod
    def _judge_variation_over_repeats(cls, fields: Any) -> Any:
        """Repeats are the only scope that can show variation."""
        varies = isinstance(fields, dict) and fields.get("kind") == CheckKind.VARIES
        return {**fields, "over": Over.REPEATS} if varies else fields

    @property
    def over_repeats(self) -> bool:
        """True if it is judged over the repeats of a job."""
        return self.over is Over.REPEATS


class Claim(BaseModel):
    """The whole claim. A claim without checks can't be judged."""

    model_config = ConfigDict(frozen=True)

    checks: tuple[Check, ...] = ()
    text: str = ""
    # Other readings of the same report. Each is judged too: a verdict is given when they agree.
    further: tuple[Claim, ...] = ()
    # Whether it can be read in still more ways. Then there is no "no".
    has_more: bool = False
    # The package whose fault is claimed, such as `numpy`; `python` for Python itself. None if nobody says it.
    subject: str | None = None
    # Whether it replaced another claim when attempts were already stored. A "no" to it needs a passage check
    # of its own.
    corrected: bool = False
    # Values that the report calls right somewhere. They are no checks, and decide nothing by themselves.
    right_values: tuple[str, ...] = ()
    # Types of errors that it calls right, without their modules: they should come in place of the bug.
    right_errors: tuple[str, ...] = ()
    # Bounds between which it says that the value has to lie.
    right_bounds: tuple[Bounds, ...] = ()
    # Traits that it says the value has to have.
    right_traits: tuple[Trait, ...] = ()
    # Whether only a model reads the report so. Such a reading can bring doubt, and no verdict.
    by_model: bool = False

    def having(self, role: Role) -> tuple[Check, ...]:
        """The checks with this role."""
        return tuple(check for check in self.checks if check.role is role)
