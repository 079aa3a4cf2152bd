"""The five questions of a dossier, A to E, each with its own test."""

from __future__ import annotations

from collections.abc import Sequence

from app.judging.cause.trace_verdict import amplifier, first_difference, trace_sentences
from app.judging.dossier.alignment import divergence_sentence, divergences, growth_sentence
from app.judging.dossier.document import DossierCell, NumberInQuestion, Question, Right, cells_with_trace
from worker.contract.trace import Shadow, Trace


def questions(
    cells: Sequence[DossierCell], numbers: Sequence[NumberInQuestion], layers: Question
) -> list[Question]:
    """All five, in their order. `layers` is the answer to D."""
    with_trace = cells_with_trace(cells)
    return [
        _varies(cells),
        _right_side(with_trace, numbers),
        _operation(with_trace),
        layers,
        _own(with_trace),
    ]


def _varies(cells: Sequence[DossierCell]) -> Question:
    """A: repeats of one target, in processes of their own."""
    repeated = [cell for cell in cells if cell.attempts > 1]
    varying = [cell for cell in repeated if cell.outputs > 1]
    facts = [
        f"{cell.label}: {cell.attempts} attempts printed "
        + (f"{cell.outputs} different outputs." if cell.outputs > 1 else "the same.")
        for cell in varying or repeated[:3]
    ]
    return Question(
        letter="A",
        asks="Does it vary by itself?",
        answer=None if not repeated else "yes" if varying else "no",
        test="Outputs of repeats on one target, each in a process of its own."
        if repeated
        else "No target was run twice.",
        facts=facts,
    )


def _right_side(cells: Sequence[DossierCell], numbers: Sequence[NumberInQuestion]) -> Question:
    """B: what is shown, against the float64 shadow."""
    shadows = [
        cell.trace.shadow for cell in cells if cell.trace is not None and cell.trace.shadow is not None
    ]
    test = (
        "Each value that the script shows, against float64 values computed beside the script from the same "
        "inputs. The uncertainty of these: the same with inputs moved by one ULP and with each step rounded."
    )
    if not shadows:
        return Question(letter="B", asks="Which side is right?", test="No reference was computed.")
    rights = [number.right for number in numbers]
    count = sum(len(shadow.values) + len(shadow.compared) for shadow in shadows)
    if not count:
        return Question(
            letter="B",
            asks="Which side is right?",
            test=test,
            facts=["The script shows no numbers of torch."],
        )
    answer = (
        "one"
        if Right.SOME in rights
        else "neither"
        if Right.NONE in rights
        else None
        if Right.UNKNOWN in rights
        else "all within rounding"
    )
    facts = [f"{number.name}: {number.sentence}" for number in numbers[:3]]
    facts += [fact for shadow in shadows for fact in _decisions(shadow)]
    return Question(letter="B", asks="Which side is right?", answer=answer, test=test, facts=facts[:8])


def _decisions(shadow: Shadow) -> list[str]:
    return [
        f"Operation {decision.number}, {decision.name}, decides differently in float64, or if its "
        f"inputs are rounded otherwise, for {_count(decision.elements, 'element')}."
        for decision in shadow.decisions[:2]
    ]


def _operation(cells: Sequence[DossierCell]) -> Question:
    """C: every operation, or those whose outputs differ, against float64 in a clean process."""
    asks = "Which operation?"
    traces = [cell.trace for cell in cells if cell.trace is not None]
    if not traces:
        return Question(letter="C", asks=asks, test="No operation was traced.")
    parts = divergences(cells)
    facts = [divergence_sentence(each) for each in parts]
    facts += [sentence for each in parts if (sentence := growth_sentence(each))]
    facts += [
        f"{cell.label}: {sentence}"
        for cell in cells
        if cell.trace is not None
        for sentence in trace_sentences(cell.trace)
    ]
    return Question(
        letter="C",
        asks=asks,
        answer=_operation_named(traces),
        test="Operations against float64 on their own inputs and on sixteen neighbours of these, "
        "in a process in which the script has replaced nothing.",
        facts=facts[:12],
    )


def _operation_named(traces: Sequence[Trace]) -> str | None:
    """The operation that explains what was seen: the wrong one, else the amplifying one, else the first."""
    for trace in traces:
        if trace.unexplained and (wrong := first_difference(trace)) is not None:
            return wrong.name
    for trace in traces:
        if (grows := amplifier(trace)) is not None:
            return grows.name
    for trace in traces:
        if (first := first_difference(trace)) is not None:
            return first.name
    for trace in traces:
        if trace.shadow is not None and trace.shadow.decisions:
            return trace.shadow.decisions[0].name
    return None


def _own(cells: Sequence[DossierCell]) -> Question:
    """E: kernels that the script registers."""
    asks = "Is it the script's own implementation?"
    if not cells:
        return Question(letter="E", asks=asks, test="No operation was traced.")
    own, unknown = own_operations(cells), operations_of_unknown_origin(cells)
    foreign = sorted(
        {
            restart.name
            for cell in cells
            if cell.trace is not None and cell.trace.shadow is not None
            for restart in cell.trace.shadow.restarts
            if restart.why == "not an operation of torch"
        }
    )
    facts = [f"The script registers an implementation of its own for {name}." for name in own]
    replaced = sorted({name for cell in cells if cell.trace is not None for name in cell.trace.replaced})
    facts += [_own_fact(name) for name in replaced]
    facts += [f"The script calls {name}, which is not an operation of torch." for name in foreign]
    facts += [f"Torch does not tell who registered {name}." for name in unknown]
    return Question(
        letter="E",
        asks=asks,
        answer="yes" if own or replaced else "partly" if foreign else None if unknown else "no",
        test="The kernels that Python code registered with torch while the script ran, operations that torch "
        "does not have, functions of torch that the script replaced, and its own derivatives.",
        facts=facts,
    )


def _own_fact(name: str) -> str:
    script, _, function = name.partition("__main__.")
    if name.endswith((".register_hook", "_hooks")):
        return f"The script changes numbers by hooks ({name})."
    if not script and function.endswith(("__torch_function__", "__torch_dispatch__")):
        return f"The script's class {function.split('.')[0]} decides what operations of torch give."
    if not script:
        return f"The script defines the operation {function} with its own derivative."
    return f"The script replaces {name} by an implementation of its own."


def own_operations(cells: Sequence[DossierCell]) -> list[str]:
    """The operations for which the script registers a kernel."""
    return sorted({name for cell in cells if cell.trace is not None for name in cell.trace.own})


def operations_of_unknown_origin(cells: Sequence[DossierCell]) -> list[str]:
    """The operations of which torch does not tell who registered their kernels."""
    return sorted({name for cell in cells if cell.trace is not None for name in cell.trace.origin_unknown})


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
