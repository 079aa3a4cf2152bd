"""What a trace of a script's operations says of a difference in numbers: rounding, an input that makes much of it, or neither. Pure."""

from __future__ import annotations

from worker.contract.trace import Trace, TracedOperation, TracedSide

# Two results that far apart are no longer the same number to anyone who prints them...
FAR_APART = 1e-2
# ...and by so much more than their inputs: rounding alone does not do that in one operation.
AMPLIFIED = 1e3
# What one rounding does, where the inputs are the same to the last bit.
_UNIT = {
    "torch.float64": 2.0**-53,
    "torch.complex128": 2.0**-53,
    "torch.float16": 2.0**-11,
    "torch.bfloat16": 2.0**-8,
}
_SINGLE = 2.0**-24


def cause_by_trace(trace: Trace) -> str | None:
    """`unexplained` goes first, whatever else there is; of the rest only a trace without gaps says anything."""
    if trace.unexplained:
        return "unexplained"
    if not trace.whole or trace.answered < trace.asked or trace.unjudged or not trace.pairs:
        return None
    apart = [operation for operation in trace.operations if len(operation.sides) == 2]
    if not apart:
        return None
    if trace.reduced:
        return "reduced_precision"
    return "ill_conditioned" if any(is_amplified(operation) for operation in apart) else "rounding"


def is_amplified(operation: TracedOperation) -> bool:
    """Whether inputs that are all but equal gave outputs that are not."""
    if operation.input_gap is None:
        return False
    unit = max(operation.input_gap, _UNIT.get(operation.dtype, _SINGLE))
    if operation.relative_gap is None:
        # One is infinite or no number, and the other is finite.
        return unit < FAR_APART
    return operation.relative_gap >= max(FAR_APART, AMPLIFIED * unit)


def first_difference(trace: Trace) -> TracedOperation | None:
    """The first operation that gave something else on the same inputs, else what rounding does not explain."""
    unexplained = next(
        (one for one in trace.operations if any(side.explained is False for side in one.sides)), None
    )
    return unexplained or next(
        (one for one in trace.operations if one.inputs_agree and len(one.sides) == 2), None
    )


def amplifier(trace: Trace) -> TracedOperation | None:
    """The first operation that made much of a small difference."""
    return next((one for one in trace.operations if len(one.sides) == 2 and is_amplified(one)), None)


def told(trace: Trace) -> list[str]:
    """What the trace shows, in plain sentences; they name operations of torch, and nothing else of what ran."""
    sentences = []
    if trace.pairs:
        sentences.append(
            f"{_count(trace.pairs, 'operation')} ran on the CPU and on the card; {_gave_another(trace)}."
        )
    elif trace.asked:
        sentences.append(f"Held against float64: {trace.answered} of {_count(trace.asked, 'operation')}.")
    first = first_difference(trace)
    if first is not None:
        sentences.append(f"{_name(first)}: {_sides(first)}.")
    much = amplifier(trace)
    if much is not None:
        sentences.append(
            f"{_name(much)} made much of little: inputs {_apart(much.input_gap)}, results {_apart(much.relative_gap)}."
        )
    if trace.unjudged or not trace.whole or trace.answered < trace.asked:
        sentences.append("Some operations could not be held against float64, so this may not be all.")
    return sentences


def _gave_another(trace: Trace) -> str:
    differing = sum(len(operation.sides) == 2 for operation in trace.operations)
    return "some gave other numbers" if differing else "all gave the same, bit for bit"


def _name(operation: TracedOperation) -> str:
    shape = "×".join(map(str, operation.shape)) or "one number"
    agree = {True: " on equal inputs", False: " on inputs that differ already", None: ""}[
        operation.inputs_agree
    ]
    return f"Operation {operation.number}, {operation.name} ({operation.dtype.removeprefix('torch.')}, {shape}){agree}"


def _sides(operation: TracedOperation) -> str:
    parts = (
        [f"{_number(operation.gap)} apart"] if len(operation.sides) == 2 and operation.gap is not None else []
    )
    return "; ".join(parts + [_side(side) for side in operation.sides])


def _side(side: TracedSide) -> str:
    name = "the card" if side.side == "cuda" else "the CPU"
    if side.explained is None:
        return f"{name} can't be held against float64"
    if side.explained:
        reduced = " with factors cut as TF32 cuts them" if side.reduced else ""
        return f"{name} is within {_number(side.error)} ({_number(side.ulps)} ULP) of float64, as rounding allows{reduced}"
    gave = (
        ""
        if side.worst is None
        else f" gave {_exactly(side.worst[0])} where float64 gives {_exactly(side.worst[1])}, and"
    )
    return f"{name}{gave} is further off than its inputs' last digits allow ({_number(side.span)})"


def _apart(gap: float | None) -> str:
    return (
        "of which one is not finite"
        if gap is None
        else f"{_number(gap)} apart, relatively"
        if gap
        else "the same"
    )


def _number(value: float | str | None) -> str:
    return "no number" if value is None else value[:8] if isinstance(value, str) else f"{value:.3g}"


def _exactly(value: float | str) -> str:
    return value[:8] if isinstance(value, str) else f"{value:.9g}"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
