"""The gaps of a dossier: things that were not looked at, or can't be known."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from app.judging.cause.own_parts import OwnParts
from app.judging.dossier.document import DossierCell
from app.judging.dossier.float64_values import DOUBLE, is_checked_by_narrower_types
from worker.contract.trace import ShownValue, Trace

# By the first one a script says that numbers are not close enough; the others are slips in its text.
_OF_THE_TEXT = {
    "",
    "AssertionError",
    "AttributeError",
    "NameError",
    "TypeError",
    "ImportError",
    "SyntaxError",
}
_BY_PYTHON = {
    "near": "In line {line} Python decides by numbers that lie as near to each other as rounding moves them. "
    "So rounding may decide.",
    "whole": "In line {line} Python makes a whole number of one that lies as near to a step as rounding "
    "moves it. So rounding may decide.",
    "unknown": "In line {line} Python decides by numbers that it has computed itself, which is not followed.",
}
# A threshold is near if rounding may move the number across it.
_SPREADS = 8


def gaps_of(cells: Sequence[DossierCell], *, are_layers_known: bool) -> list[str]:
    """The gaps: things that were not looked at, or can't be known."""
    rows: list[str] = []
    for cell in cells:
        if cell.trace is not None:
            rows += [f"{cell.label}: {gap}" for gap in _gaps(cell.trace)]
    if not are_layers_known:
        rows.append("The script asks for compilation, and what it compiles could not be compared.")
    return rows


def of_failures(cells: Sequence[DossierCell]) -> list[str]:
    """The gaps of scripts that end with an error of what they compute."""
    failures = {cell.label: cell.failure for cell in cells if cell.failure not in _OF_THE_TEXT}
    return [
        f"{label}: the script ends with {name}, so its numbers may not be all."
        for label, name in failures.items()
    ]


def of_own_parts(cells: Sequence[DossierCell], own: OwnParts) -> list[str]:
    """The gaps about what the script puts into torch for a while, and about thresholds that it has itself."""
    if not cells:
        return []
    rows = [f"The script replaces {name} of torch, at least for a while." for name in own.replaces]
    if own.hooks:
        rows.append(f"The script has hooks ({own.hooks[0]}), which may change numbers.")
    if own.runs_text:
        rows.append("The script runs text as code, which was not read.")
    if own.adds_up:
        rows.append("Python adds up numbers that the script has taken out of tensors, which is not followed.")
    for cell in cells:
        rows += [
            f"{cell.label}: {value.name} is as near to {threshold:g}, with which the script compares, as "
            "rounding moves it. So rounding may decide."
            for value, threshold in _near_thresholds(cell, own.thresholds)
        ][:2]
    return rows


def _near_thresholds(cell: DossierCell, thresholds: Sequence[float]) -> Iterator[tuple[ShownValue, float]]:
    """Numbers that the script took out of tensors, and thresholds that rounding may carry them across."""
    shadow = None if cell.trace is None else cell.trace.shadow
    for value in () if shadow is None else shadow.values:
        if not value.name.startswith("read[") or value.shape or not isinstance(value.value, float):
            continue
        spread = max(value.uncertainty or 0.0, value.rounding or 0.0)
        reach = (value.error or 0.0) + _SPREADS * spread
        near = (each for each in thresholds if reach and abs(value.value - each) <= reach)
        if (threshold := next(near, None)) is not None:
            yield value, threshold


def of_memory(cells: Sequence[DossierCell], *, takes_memory: bool) -> list[str]:
    """The gaps about memory that nobody wrote: none if a cell filled it with NaN."""
    if any("fill" in cell.settings and cell.attempts for cell in cells):
        return []
    reads = [
        (cell.label, read)
        for cell in cells
        if cell.trace is not None and cell.trace.shadow is not None
        for read in cell.trace.shadow.unwritten[:1]
    ]
    if reads:
        return [
            f"{label}: operation {read.number}, {read.name}, reads memory that nobody wrote. No cell with "
            "fill=nan shows whether a number depends on it."
            for label, read in reads
        ]
    if takes_memory and any(cell.trace is not None for cell in cells):
        return ["The script takes memory that nobody wrote, and no cell with fill=nan shows what it gives."]
    return []


def _gaps(trace: Trace) -> list[str]:
    """The gaps of one trace, in sentences."""
    rows: list[str] = []
    if not trace.whole:
        rows.append("Some operations were not recorded: too many or too large, or in a child process.")
    if trace.answered < trace.asked:
        rows.append(f"{trace.asked - trace.answered} operations were not held against float64: time was up.")
    if trace.unjudged:
        rows.append(
            f"{trace.unjudged} results have no single right answer, or can't be evaluated in float64."
        )
    if trace.replaced:
        names = ", ".join(trace.replaced[:3])
        rows.append(f"Nothing shows what the script's own implementation should give: {names}.")
    shadow = trace.shadow
    if shadow is None:
        return [*rows, "No reference was computed for what the script shows."]
    if shadow.stopped_at is not None:
        rows.append(
            f"The reference stopped at operation {shadow.stopped_at}: no {shadow.stopped_by} were left."
        )
    rows += [
        f"The reference restarted at operation {restart.number}, {restart.name}: {restart.why}."
        for restart in [each for each in shadow.restarts if each.why != "several right answers"][:3]
    ]
    if shadow.restart_count - shadow.free_choices > 3:
        rows.append(f"The reference restarted {shadow.restart_count} times in all.")
    if any(value.dtype in DOUBLE for value in shadow.values) and not is_checked_by_narrower_types(trace):
        rows.append("Some shown values are float64 themselves: only their uncertainty is known.")
    rows += [
        f"Operation {each.number}, {each.name}, goes beyond what its integers hold ({each.elements} times)."
        for each in shadow.overflowed[:2]
    ]
    rows += [
        f"Operation {each.number}, {each.name}, takes the difference of a tensor with itself. Nothing shows "
        "what the script means to compare."
        for each in shadow.of_itself[:2]
    ]
    rows += [
        f"{one} and {other} are nearly the same, and float64 tells them apart, too. "
        "Nothing shows whether they are meant to be the same number."
        for one, other in shadow.alike[:2]
    ]
    rows += [_BY_PYTHON[each.why].format(line=each.line) for each in shadow.by_python[:2]]
    if shadow.omitted:
        rows.append(f"{shadow.omitted} further shown values were left out.")
    return rows
