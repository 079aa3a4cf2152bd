"""Messages about the passage of a point: whether a statement of the script was executed and left normally."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from worker.contract.bounds import Name, SmallCount
from worker.contract.message import Message

# The most points of one attempt.
MOST_POINTS = 8
# An observed attempt is slower: its time limit is so many times larger, up to the largest limit there is.
SLOWDOWN = 8
MOST_WALL_SECONDS = 600.0

# First line, first column, last line, last column: lines from 1, columns in bytes of UTF-8 from 0. The last
# column is not included.
Span = tuple[SmallCount, SmallCount, SmallCount, SmallCount]
PassageState = Literal["passed", "raised", "not_reached", "unknown"]


class PassagePoint(Message):
    """A statement that is to be observed.

    `code` is the name of the code that holds it: `<module>`, or that of the function. `calls` are the calls
    in it that need not happen when it is executed, such as the one in `a and f()`: they must happen too.
    `alone` is False if another statement stands on one of its lines.
    """

    span: Span
    code: Name = "<module>"
    calls: Annotated[list[Span], Field(max_length=16)] = Field(default_factory=list)
    alone: bool = True


class PassedPoint(Message):
    """The observation of one point, by its first line.

    `passed`: it began and was left normally, and no exception ever went through it. `raised`: an exception
    went through it, swallowed later or not. `unknown`: this interpreter can't tell.
    """

    line: SmallCount
    state: PassageState


Points = Annotated[list[PassagePoint], Field(max_length=MOST_POINTS)]
PassedPoints = Annotated[list[PassedPoint], Field(max_length=MOST_POINTS)]
