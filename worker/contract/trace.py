"""What a node tells of the operations of a script, where the target asks for a trace."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, FiniteFloat, StringConstraints

from worker.contract.message import Message

_Count = Annotated[int, Field(ge=0, lt=2**53)]
_Size = Annotated[FiniteFloat, Field(ge=0)]
_Element = FiniteFloat | Literal["inf", "-inf", "nan"]


class TracedSide(Message):
    """What one device gave in an operation, beside float64: the largest error, also in units of the last place, and what neighbours span.

    `explained`: whether rounding can have made all of it, None where that can't be told; `reduced`: with the factors cut as TF32 cuts them.
    `worst` is the element that is furthest off and what float64 gives there; what is not finite is a word.
    """

    side: Literal["cpu", "cuda"]
    explained: bool | None = None
    reduced: bool = False
    error: _Size = 0.0
    ulps: _Size = 0.0
    span: _Size = 0.0
    worst: tuple[_Element, _Element] | None = None


class TracedOperation(Message):
    """The `number`-th operation of a script. With two sides the gaps between them, None where one is finite and the other is not."""

    number: _Count
    name: Annotated[str, StringConstraints(pattern=r"^aten::[a-z0-9_]{1,80}$")]
    dtype: Annotated[str, StringConstraints(pattern=r"^torch\.[a-z0-9_]{1,20}$")]
    shape: Annotated[list[_Count], Field(max_length=64)] = Field(default_factory=list)
    inputs_agree: bool | None = None
    gap: _Size | None = None
    relative_gap: _Size | None = None
    input_gap: _Size | None = None
    sides: Annotated[list[TracedSide], Field(min_length=1, max_length=2)]


class Trace(Message):
    """How the numbers of a script came about, by the harness: `pairs` are operations that the CPU and a card both did.

    `asked` are those whose outputs differ, and those in no pair; `answered` of them were held against float64, and the counts are of
    their sides. `whole`: nothing was left out for want of room.
    """

    operations_seen: _Count
    pairs: _Count
    asked: _Count
    whole: bool
    answered: _Count = 0
    unexplained: _Count = 0
    unjudged: _Count = 0
    reduced: _Count = 0
    operations: Annotated[list[TracedOperation], Field(max_length=30)] = Field(default_factory=list)
