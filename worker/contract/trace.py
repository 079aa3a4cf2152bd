"""Messages about a script's torch operations, for targets with `trace=on`."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from worker.contract.bounds import MOST_DIMENSIONS, Count, Number, Size
from worker.contract.message import Message

_Element = Number | Literal["inf", "-inf", "nan"]

# A class repeated up to a bound, as in `\w{1,80}`, takes some MiB in each process. So length is a limit
# of its own.
DtypeName = Annotated[str, StringConstraints(pattern=r"^torch\.[a-z0-9_]+$", max_length=26)]


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
    name: Annotated[str, StringConstraints(pattern=r"^aten::[a-z0-9_]+$", max_length=86)]
    dtype: DtypeName
    shape: Annotated[list[Count], Field(max_length=MOST_DIMENSIONS)] = Field(default_factory=list)
    inputs_agree: bool | None = None
    gap: Size | None = None
    relative_gap: Size | None = None
    input_gap: Size | None = None
    sides: Annotated[list[TracedSide], Field(min_length=1, max_length=2)]


OperationName = Annotated[
    str,
    StringConstraints(
        pattern=r"^[a-zA-Z_][a-zA-Z0-9_]*::[a-zA-Z0-9_.]+$|^printing$|^the end$", max_length=123
    ),
]


OwnName = Annotated[str, StringConstraints(pattern=r"^[a-zA-Z_][a-zA-Z0-9_.]*$", max_length=122)]
OperationKind = Annotated[
    str, StringConstraints(pattern=r"^aten::[a-zA-Z0-9_][a-zA-Z0-9_(), ]*$", max_length=246)
]
OperationDigests = Annotated[
    str, StringConstraints(pattern=r"^[0-9]{1,9}:[0-9]{1,3}:[0-9a-f]{8}:[0-9a-f]{8}$", max_length=31)
]
# 64 bytes in base64.
StepSample = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9+/]{86}==$", max_length=88)]


ShownName = Annotated[str, StringConstraints(pattern=r"^(?:print|read)\[[0-9]{1,9}\]$|^\w+$", max_length=80)]


class ShownValue(Message):
    """Something that a script shows, held against the float64 reference.

    `name` is `print[k]` for the k-th printed tensor, `read[k]` for the k-th number that the script took out
    of a tensor (`.item()`), or the name of a tensor at the end. `number` is the operation before it. The rest
    are facts of the worst element: `error` is the absolute distance to the reference, `ulps` the same in
    units in the last place of `dtype`. `uncertainty` is how far the reference moves if the values that the
    script began with move by one unit, `rounding` how far if each step's result moves by up to one.
    `relative` is the largest error over the largest number of the reference. `outside` counts the elements
    that neither of both explains, `at` is the index of the worst one. A distance that is not finite is None.
    `free`: it is one of several right answers, such as a singular vector with its sign.
    """

    name: ShownName
    number: Count
    dtype: DtypeName
    shape: Annotated[list[Count], Field(max_length=MOST_DIMENSIONS)] = Field(default_factory=list)
    value: _Element
    reference: _Element
    error: Size | None = None
    ulps: Size | None = None
    relative: Size | None = None
    uncertainty: Size | None = None
    rounding: Size | None = None
    outside: Count = 0
    at: Count = 0
    free: bool = False


class ComparedSide(Message):
    """One side of a comparison, at the element where both are furthest apart; as in a ShownValue."""

    dtype: DtypeName
    value: _Element
    reference: _Element
    error: Size | None = None
    ulps: Size | None = None
    uncertainty: Size | None = None
    rounding: Size | None = None


class ComparedValues(Message):
    """Two tensors of one shape that the script compared (`==`, `isclose`, `assert_close`).

    `name` is `compared[k]`. `differing` counts unequal elements. `gap` is the largest distance between the
    sides, `reference_gap` the distance of their references at that element, and `largest_reference_gap`
    that of any element.
    """

    name: Annotated[str, StringConstraints(pattern=r"^compared\[[0-9]{1,9}\]$", max_length=19)]
    number: Count
    shape: Annotated[list[Count], Field(max_length=MOST_DIMENSIONS)] = Field(default_factory=list)
    differing: Count = 0
    gap: Size | None = None
    reference_gap: Size | None = None
    largest_reference_gap: Size | None = None
    sides: Annotated[list[ComparedSide], Field(min_length=2, max_length=2)]


class Restart(Message):
    """An operation at which the reference began again from the script's own values."""

    number: Count
    name: OperationName
    why: Literal[
        "not in float64",
        "an input changed out of sight",
        "not an operation of torch",
        "layout",
        "several right answers",
    ]


class Decision(Message):
    """An operation of whose truth values, integers or order `elements` are rounding's.

    They are other ones in float64, or if the inputs are rounded otherwise. `single`: it gives one only, which
    may decide where the script goes on, or a number follows it.
    """

    number: Count
    name: OperationName
    elements: Count
    single: bool = False


class PythonDecision(Message):
    """A line of the script that decides by numbers that it took out of tensors.

    `why`: they lie as near to each other or to a threshold as rounding may carry them (`near`), or to a whole
    number (`whole`), or Python computes with them in a way that is not followed (`unknown`).
    """

    line: Count
    why: Literal["near", "whole", "unknown"]


class Shadow(Message):
    """Values that a script shows, held against float64, which was computed beside it.

    `restart_count` counts all restarts, `free_choices` those of them where several answers are right.
    `undefined` has casts of numbers that the integer type can't hold: `elements` of them; `overflowed`
    has arithmetic on integers that goes beyond its type. `unwritten` has operations that read `elements`
    which nobody had written. `alike` names pairs of shown tensors that different formulas gave: nearly
    the same, and apart in float64, too. `nearest`: each step gave the nearest numbers of its type, as
    IEEE 754 has it. `of_itself` has differences of a tensor with itself. `by_python` has what Python decides,
    and rounding may. `stopped_at` is the operation at which `stopped_by`, a budget, ended it: what is shown
    later has no reference. `seconds` is the time that it took. `omitted` counts shown values that were not
    held against it, and comparisons and values outside that have no place here.
    """

    values: Annotated[list[ShownValue], Field(max_length=100)] = Field(default_factory=list)
    compared: Annotated[list[ComparedValues], Field(max_length=100)] = Field(default_factory=list)
    omitted: Count = 0
    alike: Annotated[list[tuple[ShownName, ShownName]], Field(max_length=5)] = Field(default_factory=list)
    restarts: Annotated[list[Restart], Field(max_length=10)] = Field(default_factory=list)
    restart_count: Count = 0
    free_choices: Count = 0
    decisions: Annotated[list[Decision], Field(max_length=10)] = Field(default_factory=list)
    undefined: Annotated[list[Decision], Field(max_length=10)] = Field(default_factory=list)
    overflowed: Annotated[list[Decision], Field(max_length=10)] = Field(default_factory=list)
    unwritten: Annotated[list[Decision], Field(max_length=10)] = Field(default_factory=list)
    of_itself: Annotated[list[Decision], Field(max_length=10)] = Field(default_factory=list)
    by_python: Annotated[list[PythonDecision], Field(max_length=5)] = Field(default_factory=list)
    nearest: bool = False
    stopped_at: Count | None = None
    stopped_by: Literal["bytes", "seconds"] | None = None
    seconds: Size = 0.0


class Trace(Message):
    """The torch operations of a script, compared with float64 by the harness.

    `pairs` counts operations that the CPU and a card both ran. `asked` counts those whose outputs differ and
    those without a pair; `answered` of them were compared with float64. `unexplained`, `unjudged` and
    `reduced` count their sides. `whole` is False if operations were skipped for lack of space. `own` names
    operations for which the script registers a kernel of its own, `origin_unknown` those of which torch does
    not tell who registered their kernels. `replaced` names functions of torch that the script replaced, and
    its own `autograd.Function`s ("__main__.Square"). `shadow` is None where there was none.
    `steps` has the first operations as number, index in `kinds`, and digests of inputs and of outputs;
    `samples` has for each of them six elements of the first output, their places fixed by its size, its sum
    and its sum of absolute values: eight float64, little-endian, in base64.
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
    own: Annotated[list[OperationName], Field(max_length=20)] = Field(default_factory=list)
    origin_unknown: Annotated[list[OperationName], Field(max_length=20)] = Field(default_factory=list)
    replaced: Annotated[list[OwnName], Field(max_length=20)] = Field(default_factory=list)
    shadow: Shadow | None = None
    kinds: Annotated[list[OperationKind], Field(max_length=1_000)] = Field(default_factory=list)
    steps: Annotated[list[OperationDigests], Field(max_length=1_000)] = Field(default_factory=list)
    samples: Annotated[list[StepSample], Field(max_length=1_000)] = Field(default_factory=list)
    steps_omitted: Count = 0
