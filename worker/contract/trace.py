"""Messages about a script's torch operations, for targets with `trace=on`."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, FiniteFloat, StringConstraints

from worker.contract.message import Message

_Count = Annotated[int, Field(ge=0, lt=2**53)]
_Size = Annotated[FiniteFloat, Field(ge=0)]
_Element = FiniteFloat | Literal["inf", "-inf", "nan"]


class TracedSide(Message):
    """The result of one operation on one device, compared with float64 on the same inputs.

    `error` is the largest absolute error, `ulps` the same in units in the last place of the dtype. `span` is
    how far float64 results lie apart when the inputs move by one unit in the last place.
    `explained` is True if rounding can cause the whole error, None if unknown. `reduced` says that this holds
    only with inputs cut to TF32. `worst` is the element with the largest error and its float64 value; values
    that are not finite are words.
    """

    side: Literal["cpu", "cuda"]
    explained: bool | None = None
    reduced: bool = False
    error: _Size = 0.0
    ulps: _Size = 0.0
    span: _Size = 0.0
    worst: tuple[_Element, _Element] | None = None


class TracedOperation(Message):
    """One operation of a script; `number` counts from 1.

    With two sides, `gap`, `relative_gap` and `input_gap` are the largest differences between them: absolute,
    relative, and relative between the inputs. A gap is None if only one side is finite.
    """

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
    """The torch operations of a script, compared with float64 by the harness.

    `pairs` counts operations that the CPU and a card both ran. `asked` counts those whose outputs differ and
    those without a pair; `answered` of them were compared with float64. `unexplained`, `unjudged` and
    `reduced` count their sides. `whole` is False if operations were skipped for lack of space.
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
