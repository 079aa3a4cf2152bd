"""Builds the dossier of a run from its cells: the numbers in question, the questions, the cause, the gaps."""

from __future__ import annotations

from collections.abc import Sequence

from app.judging.cause.defect import NOT_ANALYSED, OF_THE_SCRIPT, defect_of, order_of
from app.judging.cause.own_parts import OwnParts
from app.judging.cause.trace_verdict import FAR_APART, cause_by_trace, is_amplified
from app.judging.dossier.alignment import divergences
from app.judging.dossier.document import Dossier, DossierCell, NumberInQuestion, Right, cells_with_trace
from app.judging.dossier.float64_values import DOUBLE
from app.judging.dossier.gaps import gaps_of, of_failures, of_memory, of_own_parts
from app.judging.dossier.layers import layers_finding
from app.judging.dossier.questions import questions
from app.judging.dossier.sentences import cause_sentence, defect_sentence, summary_of
from app.judging.dossier.shown_numbers import (
    HALF_OF_DOUBLE,
    HALF_OF_SINGLE,
    is_residual,
    is_zero_of,
    numbers_in_question,
)
from app.judging.judgement import Defect
from worker.contract.trace import Shadow, Trace

# These say why repeats differ.
_OF_VARIATION = OF_THE_SCRIPT | {"nondeterministic_kernel", "thread_order", "uninitialised_memory"}
# Their truth values may differ where no number does. A step, an index or an integer is another number.
_MASKS = {f"aten::{name}" for name in ("gt", "ge", "lt", "le", "isfinite", "isinf", "isnan", "logical_not")}
# They choose one of several equal elements.
_CHOICES = {"aten::argmax", "aten::argmin"}
# The relative distance between numbers of the types with few digits, as the kinds of operations name them.
_EPSILONS = {"bfloat16": 2.0**-7, "float16": 2.0**-10}
# So many units in the last place are a loss of digits.
MANY_UNITS = 32
# A number has lost half of its digits if it moves by the root of its type's rounding.
_HALF_OF_THE_DIGITS = dict.fromkeys(DOUBLE, HALF_OF_DOUBLE)
_DIFFERENCES = {"aten::sub", "aten::rsub", "aten::add", "aten::max", "aten::abs"}
_TESTS = {
    "unexplained": "An operation was evaluated in float64 on its own inputs and on neighbours of these.",
    "rounding": "Every operation and every shown value lies within what rounding allows, or each step gave "
    "the nearest number of its type.",
    "ill_conditioned": "Moving the inputs by one ULP, or rounding each step, moves the reference as far.",
    "reduced_precision": "The results are as exact as reduced factors allow, and not as exact as full ones.",
    "compiler_frontend": "Its output lies outside what rounding allows, and the uncompiled one inside.",
    "decomposition": "Its output lies outside what rounding allows, and that of the layers before it inside.",
    "code_generation": "Its output lies outside what rounding allows, and that of the layers before it "
    "inside.",
    "sign_or_order": "The factors give their matrix back and are orthogonal as far as rounding allows, and "
    "an index chooses an element that is as large as any.",
    "undefined_conversion": "A cast was seen whose integer type can't hold the number.",
    "rounding_before_a_decision": "A comparison, a step or an index is different in float64, "
    "and a shown value with it.",
}


def build_dossier(
    cells: Sequence[DossierCell],
    *,
    cause: str | None = None,
    source: str = "",
    defect: Defect = Defect.UNDECIDED,
    compiles: bool = False,
    takes_memory: bool = False,
    leaves_sight: Sequence[str] = (),
    own_parts: OwnParts | None = None,
    report: str | None = None,
    run: str | None = None,
    title: str = "",
) -> Dossier:
    """The dossier. A trace may show a cause before the run's own `cause` (with its `source` and `defect`).

    `compiles`: the script asks for compilation. `takes_memory`: it takes memory that nobody has written.
    `leaves_sight`: by what else it computes, as "numpy". `own_parts`: what it puts into torch, by its text.
    """
    with_trace = cells_with_trace(cells)
    numbers, omitted = numbers_in_question(cells)
    layers = layers_finding(cells, compiles=compiles)
    best_cause = _cause(with_trace, numbers, [cause, layers.cause])
    unknown = gaps_of(with_trace, are_layers_known=layers.answered)
    # Torch has no deterministic form of the operation that `source` names, so that no test could cure it.
    is_refused = best_cause == cause == "nondeterministic_kernel" and bool(source)
    unknown += _of_repeats(cells, numbers, best_cause, is_refused=is_refused)
    unknown += of_memory(cells, takes_memory=takes_memory)
    unknown += of_own_parts(with_trace, own_parts or OwnParts())
    if best_cause in _TESTS:
        unknown += of_failures(with_trace)
    if with_trace:
        unknown += [f"The script also computes with {name}, which is not followed." for name in leaves_sight]
    unknown += _of_formulas(numbers)
    if best_cause != cause:
        source = ""
        defect = Defect.UNDECIDED if best_cause is None else defect_of(best_cause)
    if defect is Defect.NO and unknown and (best_cause in _TESTS or is_refused):
        # It is never "no" because something was not looked at.
        defect = Defect.UNDECIDED
    return Dossier(
        report=report,
        run=run,
        title=title,
        summary=summary_of(
            with_trace, numbers, best_cause, is_tested=best_cause in _TESTS, is_open=bool(unknown)
        ),
        cells=[cell.label for cell in with_trace],
        numbers=numbers,
        numbers_omitted=omitted,
        cause=best_cause,
        cause_sentence=cause_sentence(best_cause, with_trace, numbers, source=source, is_open=bool(unknown)),
        cause_test=_TESTS.get(best_cause or "", ""),
        defect=defect,
        defect_sentence=defect_sentence(best_cause, defect, unknown, with_trace),
        divergences=divergences(with_trace),
        questions=questions(cells, numbers, layers.question),
        unknown=unknown,
    )


def _of_repeats(
    cells: Sequence[DossierCell],
    numbers: Sequence[NumberInQuestion],
    cause: str | None,
    *,
    is_refused: bool,
) -> list[str]:
    if cause not in _OF_VARIATION and any(cell.outputs > 1 for cell in cells):
        return ["The repeats differ, and no test showed why."]
    if is_refused and any(number.right is not Right.ALL for number in numbers):
        return ["The repeats differ, and nothing shows that they do by rounding alone."]
    return []


def _of_formulas(numbers: Sequence[NumberInQuestion]) -> list[str]:
    return [
        f"{number.name}: the two sides differ in float64, too. Nothing shows which formula is meant."
        for number in numbers
        if number.formulas_differ
    ]


def _cause(
    cells: Sequence[DossierCell], numbers: Sequence[NumberInQuestion], known: Sequence[str | None]
) -> str | None:
    """The first cause, in the order of the table, of those that a test showed."""
    causes = {cause for cell in cells if cell.trace is not None and (cause := cause_by_trace(cell.trace))}
    shadow_cause = _cause_by_shadow(cells, numbers)
    amplified = {
        operation.name.rstrip("_")
        for cell in cells
        if cell.trace is not None
        for operation in cell.trace.operations
        if is_amplified(operation)
    }
    if shadow_cause in ("rounding", "sign_or_order") and amplified <= _DIFFERENCES:
        # The rest of two equal numbers is only rounding, and no shown number has lost digits by it.
        causes.discard("ill_conditioned")
    causes |= {cause for cause in (*known, shadow_cause) if cause not in (None, NOT_ANALYSED)}
    return min(causes, key=order_of, default=None)


def _cause_by_shadow(cells: Sequence[DossierCell], numbers: Sequence[NumberInQuestion]) -> str | None:
    """The cause by what is shown: None unless all was looked at, and each number lies within its bounds."""
    traces = [cell.trace for cell in cells if cell.trace is not None]
    shadows = [trace.shadow for trace in traces if trace.shadow is not None]
    epsilon = max((_coarsest(trace) for trace in traces), default=0.0)
    if any(shadow.undefined for shadow in shadows):
        return "undefined_conversion"
    # A factorisation within the script's steps makes no number free.
    chooses = any(value.free for shadow in shadows for value in shadow.values)
    decides = any(shadow.decisions for shadow in shadows)
    is_open = any(trace.unexplained for trace in traces) or any(
        shadow.overflowed or shadow.of_itself for shadow in shadows
    )
    if is_open or not (numbers or chooses or decides):
        return "sign_or_order" if not is_open and _is_tied(traces) else None
    steps = any(each.name not in _MASKS or each.single for shadow in shadows for each in shadow.decisions)
    sensitive = [
        number
        for number in numbers
        if _is_sensitive(number, epsilon)
        and not any(is_residual(number, other) for other in numbers)
        and not any(is_zero_of(number, compared) for shadow in shadows for compared in shadow.compared)
    ]
    follow = bool(sensitive) or any(number.right in (Right.NONE, Right.SOME) for number in numbers)
    # Without a number in question, all that is shown is exact, once the decisions are as they are.
    if decides and (steps or follow or not numbers):
        return "rounding_before_a_decision"
    if not all(is_whole(trace) for trace in traces) or not _are_explained(numbers, shadows):
        return None
    is_reduced = any(trace.reduced for trace in traces)
    if is_reduced or sensitive:
        return "reduced_precision" if is_reduced else "ill_conditioned"
    # A NaN that float64 gives, too, is no rounding.
    rounded = "rounding" if any(map(_is_rounded, numbers)) else None
    return "sign_or_order" if chooses else rounded


def _are_explained(numbers: Sequence[NumberInQuestion], shadows: Sequence[Shadow]) -> bool:
    """Whether each number lies within its bounds, or roundings to one side have added up.

    They have where each step gave the nearest number of its type, as IEEE 754 has it.
    """
    if any(number.right is Right.UNKNOWN or number.formulas_differ for number in numbers):
        return False
    outside = [number for number in numbers if number.right is not Right.ALL]
    is_slight = all((side.relative or 1.0) < FAR_APART for number in outside for side in number.sides)
    return not outside or (is_slight and all(shadow.nearest for shadow in shadows))


def _is_tied(traces: Sequence[Trace]) -> bool:
    """Whether all that is shown is exact, and an index chose one of several equal elements."""
    ties = (
        restart.name in _CHOICES and restart.why == "several right answers"
        for trace in traces
        if trace.shadow is not None
        for restart in trace.shadow.restarts
    )
    return any(ties) and all(is_whole(trace) and not trace.own for trace in traces)


def is_whole(trace: Trace) -> bool:
    """Whether every operation is torch's, was seen and held against float64, and the shadow never restarted.

    Except where several answers are right: these are judged by what they have to be.
    """
    shadow = trace.shadow
    return (
        trace.whole
        and trace.answered == trace.asked
        and not trace.unjudged
        and shadow is not None
        and shadow.restart_count == shadow.free_choices
        and not trace.replaced
        and shadow.stopped_at is None
    )


def _is_rounded(number: NumberInQuestion) -> bool:
    """Whether a side has an error, also one beyond the range of its type."""
    return any(side.error or side.value != side.reference for side in number.sides)


def _coarsest(trace: Trace) -> float:
    """The largest relative distance between numbers of the types with few digits that the script uses."""
    used = [size for name, size in _EPSILONS.items() if any(name in kind for kind in trace.kinds)]
    return max(used, default=0.0)


def _is_sensitive(number: NumberInQuestion, epsilon: float) -> bool:
    """Whether inputs moved by one ULP, or rounded steps, change the number itself visibly.

    `epsilon` is that of the coarsest type in which the script computes: a few of its units are no loss.
    """
    for side in number.sides:
        half = _HALF_OF_THE_DIGITS.get(side.dtype, HALF_OF_SINGLE)
        visible = max(min(FAR_APART, half), MANY_UNITS * epsilon)
        if number.shape and (side.relative is None or side.relative < visible):
            # A single element that is small beside the others has lost its digits by cancellation.
            continue
        spread = max(side.uncertainty or 0.0, side.rounding or 0.0)
        unit = side.error / side.ulps if side.error and side.ulps else 0.0
        if spread < MANY_UNITS * unit:
            # Such as a number below the least one of its type.
            continue
        if isinstance(side.reference, float) and spread and spread >= visible * abs(side.reference):
            # A difference that is nothing but rounding has no digits to lose.
            return (
                abs(side.reference) > 0 and side.error is not None and abs(side.reference) > side.error / 1e3
            )
    return False
