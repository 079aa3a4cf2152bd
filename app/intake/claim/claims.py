"""What a reporter says, as checks that can be judged."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, model_validator


class CheckKind(StrEnum):
    """What a check looks at. Each kind has one judge in `app.judging.check.checks`."""

    EXCEPTION = "exception"  # type and masked message
    CRASH = "crash"  # a signal, such as SIGSEGV
    EXIT_STATUS = "exit_status"
    OUTPUT = "output"  # printed lines, numbers as values
    VALUE = "value"  # a number, perhaps with a label and a position
    HANG = "hang"
    OUT_OF_MEMORY = "out_of_memory"
    VARIES = "varies"  # another result in each repeat
    DIFFERS = "differs"  # two sides within one attempt, or two targets, disagree
    SLOWER = (
        "slower"  # the first of two sides takes longer than the second, within one attempt or on two targets
    )
    NO_ERROR = "no_error"  # an error that should be raised is not


class Role(StrEnum):
    """`bug` decides the verdict, `expected` says what should be seen instead, `detail` only refines."""

    BUG = "bug"
    EXPECTED = "expected"
    DETAIL = "detail"


class Over(StrEnum):
    """What a check is judged over."""

    ATTEMPT = "attempt"
    REPEATS = "repeats"
    PAIR = "pair"


class Where(BaseModel):
    """Where a check is said to hold; an empty field means anywhere. A version is `2.1`, `>=2.1` or `python 3.12`."""

    model_config = ConfigDict(frozen=True)

    device: str | None = None
    version: str | None = None
    os: str | None = None
    mode: str | None = None


class Check(BaseModel):
    """One statement of a claim. `text` quotes the reporter; the other fields are what is matched."""

    model_config = ConfigDict(frozen=True)

    text: str
    kind: CheckKind
    role: Role = Role.BUG
    where: Where = Field(default_factory=Where)
    over: Over = Over.ATTEMPT
    # EXCEPTION: the type's last name and the message as given; NO_ERROR: the type that is missing, if it is named.
    exception_type: str | None = None
    message: str | None = None
    # CRASH.
    signal: str | None = None
    # EXIT_STATUS.
    exit_status: int | None = None
    # OUTPUT: the lines that must be found, in any order; VALUE: one number as given ("0.98999"), its label, its position.
    lines: tuple[str, ...] = ()
    number: str | None = None
    label: str | None = None
    position: str | None = None  # "last", "first" or None
    # DIFFERS: the two sides ("cpu", "cuda") with the line each is said to print, empty when not given. Over a pair, versions ("2.2").
    # SLOWER: the slow side, the fast side and by what factor, if that is said; an empty side is whatever is timed besides the other.
    sides: tuple[str, ...] = ()
    side_lines: tuple[str, ...] = ()
    factor: float | None = None

    @model_validator(mode="before")
    @classmethod
    def _judge_variation_over_repeats(cls, fields: Any) -> Any:
        """One attempt can't vary, so such a check is always over repeats."""
        varies = isinstance(fields, dict) and fields.get("kind") == CheckKind.VARIES
        return {**fields, "over": Over.REPEATS} if varies else fields

    @property
    def over_repeats(self) -> bool:
        """Whether it is judged over the repeats of a job, not in one attempt."""
        return self.over is Over.REPEATS


class Claim(BaseModel):
    """The whole claim; without checks it is a fact to state, not a reason to guess."""

    model_config = ConfigDict(frozen=True)

    checks: tuple[Check, ...] = ()
    text: str = ""

    def having(self, role: Role) -> tuple[Check, ...]:
        """The checks with this role."""
        return tuple(check for check in self.checks if check.role is role)
