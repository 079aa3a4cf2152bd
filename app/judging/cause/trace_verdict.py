"""The cause of a numeric difference by a trace of operations: rounding, amplified rounding, or a defect."""

from __future__ import annotations

from worker.contract.trace import Trace, TracedOperation, TracedSide

# Results with a larger relative gap look like different numbers in a print.
FAR_APART = 1e-2
# An operation amplifies if the gap of its results is this many times the gap of its inputs.
AMPLIFIED = 1e3
# The relative error of one rounding, for operations with bit-identical inputs.
_UNIT = {
    "torch.float64": 2.0**-53,
    "torch.complex128": 2.0**-53,
    "torch.float16": 2.0**-11,
    "torch.bfloat16": 2.0**-8,
}
_SINGLE = 2.0**-24
# Signs or orders are free in their results, so two right ones may be far apart.
FREE = frozenset(
    f"aten::{name}"
    for name in (
        "_linalg_svd", "svd", "_linalg_eigh", "linalg_eigh", "linalg_eig", "linalg_qr", "geqrf", "linalg_lu",
        "linalg_lu_factor_ex", "linalg_householder_product",
    )
)  # fmt: skip


def cause_by_trace(trace: Trace) -> str | None:
    """The cause that a trace shows; None if it shows none.

    One unexplained operation is enough for `unexplained`. All other causes need a complete trace.
    """
    if trace.unexplained:
        return "unexplained"
    if not trace.whole or trace.answered < trace.asked or trace.unjudged or not trace.pairs:
        return None
    apart = [operation for operation in trace.operations if len(operation.sides) == 2]
    if not apart:
        return None
    if trace.reduced:
        return "reduced_precision"
    first = next((operation for operation in apart if is_amplified(operation)), None)
    if first is None:
        return "rounding"
    return "sign_or_order" if first.name in FREE else "ill_conditioned"


def is_amplified(operation: TracedOperation) -> bool:
    """Whether nearly equal inputs gave clearly different outputs."""
    if operation.input_gap is None:
        return False
    unit = max(operation.input_gap, _UNIT.get(operation.dtype, _SINGLE))
    if operation.relative_gap is None:
        # One result is infinite or NaN, and the other is finite.
        return unit < FAR_APART
    return operation.relative_gap >= max(FAR_APART, AMPLIFIED * unit)


def first_difference(trace: Trace) -> TracedOperation | None:
    """The first operation that rounding does not explain, else the first that differs on equal inputs."""
    unexplained = next(
        (one for one in trace.operations if any(side.explained is False for side in one.sides)), None
    )
    return unexplained or next(
        (one for one in trace.operations if one.inputs_agree and len(one.sides) == 2), None
    )


def amplifier(trace: Trace) -> TracedOperation | None:
    """The first operation that amplified a small difference; None if none did."""
    return next(
        (
            one
            for one in trace.operations
            if len(one.sides) == 2 and is_amplified(one) and one.name not in FREE
        ),
        None,
    )


def trace_sentences(trace: Trace) -> list[str]:
    """The trace in plain sentences. They hold names of torch operations, but no other text of the script."""
    sentences = []
    if trace.pairs:
        sentences.append(
            f"{_count(trace.pairs, 'operation')} ran on the CPU and on the GPU; {_result_of_pairs(trace)}."
        )
    elif trace.asked:
        sentences.append(f"Compared with float64: {trace.answered} of {_count(trace.asked, 'operation')}.")
    first = first_difference(trace)
    if first is not None:
        sentences.append(f"{_name(first)}: {_sides(first)}.")
    amplifying = amplifier(trace)
    if amplifying is not None:
        sentences.append(
            f"{_name(amplifying)} amplified a small difference: "
            f"inputs {_apart(amplifying.input_gap)}, results {_apart(amplifying.relative_gap)}."
        )
    if trace.unjudged or not trace.whole or trace.answered < trace.asked:
        sentences.append(
            "Some operations could not be compared with float64, so there may be more differences."
        )
    return sentences


def _result_of_pairs(trace: Trace) -> str:
    differing = sum(len(operation.sides) == 2 for operation in trace.operations)
    return "some gave different numbers" if differing else "all gave the same bits"


def _name(operation: TracedOperation) -> str:
    shape = "×".join(map(str, operation.shape)) or "one number"
    agree = {True: " on equal inputs", False: " on inputs that already differ", None: ""}[
        operation.inputs_agree
    ]
    dtype = operation.dtype.removeprefix("torch.")
    return f"Operation {operation.number}, {operation.name} ({dtype}, {shape}){agree}"


def _sides(operation: TracedOperation) -> str:
    parts = (
        [f"{_number(operation.gap)} apart"] if len(operation.sides) == 2 and operation.gap is not None else []
    )
    return "; ".join(parts + [_side(side) for side in operation.sides])


def _side(side: TracedSide) -> str:
    name = "the GPU" if side.side == "cuda" else "the CPU"
    if side.explained is None:
        return f"{name} can't be compared with float64"
    if side.explained:
        reduced = " of TF32 factors" if side.reduced else ""
        error = f"{_number(side.error)} ({_number(side.ulps)} ULP)"
        return f"{name} is within {error} of float64, as rounding{reduced} allows"
    gave = (
        ""
        if side.worst is None
        else f" gave {_exactly(side.worst[0])} where float64 gives {_exactly(side.worst[1])}, and"
    )
    return f"{name}{gave} is further off than rounding of its inputs allows ({_number(side.span)})"


def _apart(gap: float | None) -> str:
    return "with one not finite" if gap is None else f"{_number(gap)} apart (relative)" if gap else "the same"


def _number(value: float | str | None) -> str:
    return "no number" if value is None else value[:8] if isinstance(value, str) else f"{value:.3g}"


def _exactly(value: float | str) -> str:
    return value[:8] if isinstance(value, str) else f"{value:.9g}"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
