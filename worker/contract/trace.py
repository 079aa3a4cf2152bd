"""Messages about a script's torch operations, for targets with `trace=on`."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from worker.contract.bounds import MOST_DIMENSIONS, Count, Number, Size
from worker.contract.message import Message

_Element = Number | Literal["inf", "-inf", "nan"]


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
    error: Size = 0.0
    ulps: Size = 0.0
    span: Size = 0.0
    worst: tuple[_Element, _Element] | None = None


class TracedOperation(Message):
    """One operation of a script; `number` counts from 1.

    With two sides, `gap`, `relative_gap` and `input_gap` are the largest differences between them: absolute,
    relative, and relative between the inputs. A gap is None if only one side is finite.
    """

    number: Count
    name: Annotated[str, StringConstraints(pattern=r"^aten::[a-z0-9_]{1,80}$", max_length=90)]
    dtype: Annotated[str, StringConstraints(pattern=r"^torch\.[a-z0-9_]{1,20}$", max_length=30)]
    shape: Annotated[list[Count], Field(max_length=MOST_DIMENSIONS)] = Field(default_factory=list)
    inputs_agree: bool | None = None
    gap: Size | None = None
    relative_gap: Size | None = None
    input_gap: Size | None = None
    sides: Annotated[list[TracedSide], Field(min_length=1, max_length=2)]


class Trace(Message):
    """The torch operations of a script, compared with float64 by the harness.

    `pairs` counts operations that the CPU and a card both ran. `asked` counts those whose outputs differ and
    those without a pair; `answered` of them were compared with float64. `unexplained`, `unjudged` and
    `reduced` count their sides. `whole` is False if operations were skipped for lack of space.
    """

    operations_seen: Count
    pairs: Count
    asked: Count
    whole: bool
    answered: Count = 0
    unexplained: Count = 0
    unjudged: Count = 0
    reduced: Count = 0
    operations: Annotated[list[TracedOperation], Field(max_length=30)] = Field(default_factory=list)
