"""Causes, each given only where its test really ran; the rest stays `not_analysed`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from app.intake.claim.claims import Check, CheckKind, Claim, Role
from app.intake.code.uninitialised_memory import uses_uninitialised_memory
from app.intake.reading import Script
from app.judging.cause.explanations import (
    all_finite,
    converts_undefined,
    differs_in_precision,
    has_nan,
    is_an_error,
    largest_gap,
    signs_or_order,
    switched_to_reduced,
)
from app.judging.cause.random_draws import draws_on_device
from app.judging.cause.trace_verdict import cause_by_trace
from app.judging.judgement import DEVIATIONS, Defect, JudgedCell, Verdict
from app.judging.output.failure_signature import masked
from app.judging.output.sides import lines_of_sides, sides_agree
from app.targets.target import Target
from worker.contract import Device, Observation, Outcome, Result

NOT_ANALYSED = "not_analysed"
_DEFECT = {
    "error_asymmetry": Defect.UNDECIDED,
    "random_streams": Defect.NO,
    "unseeded": Defect.UNDECIDED,
    "nondeterministic_kernel": Defect.NO,
    "sign_or_order": Defect.NO,
    "reduced_precision": Defect.NO,
    "uninitialised_memory": Defect.YES,
    "undefined_conversion": Defect.NO,
    "rounding": Defect.NO,
    "ill_conditioned": Defect.NO,
    "unexplained": Defect.YES,
}
_SENTENCES = {
    "error_asymmetry": "One side raises an error where the other returns a value or another error.",
    "random_streams": "The CPU and the GPU draw random numbers by different algorithms, so one seed gives two streams.",
    "unseeded": "The script draws random numbers without a seed.",
    "nondeterministic_kernel": "Repeats differ, and agree once deterministic algorithms are switched on.",
    "sign_or_order": "The two sides differ only in signs or in the order of the numbers.",
    "uninitialised_memory": "The result rests on memory that nobody wrote: filling such memory with NaN brings new NaN.",
    "undefined_conversion": "A value that an integer cannot hold is converted to one, and every device may give what it likes.",
    "reduced_precision": "Reduced precision (such as TF32) was in force, in which fewer digits are kept.",
    "rounding": "Every operation is within the rounding of its type; what differs is the rounding.",
    "ill_conditioned": "The inputs make much of a difference that rounding alone makes: no side is more right than the other.",
    "unexplained": "One operation is further from the exact result than rounding can bring it.",
}
# A gap that TF32 makes is a thousand roundings wide; without it a few remain.
_SHRINKS = 10
_OF_VALUES = {CheckKind.OUTPUT, CheckKind.VALUE, CheckKind.DIFFERS, CheckKind.VARIES}


def sentence(cause: str | None) -> str:
    """The cause in one plain sentence; empty when there is none."""
    return _SENTENCES.get(cause or "", "")


def cause_of(
    claim: Claim, scripts: Sequence[Script], cells: Sequence[JudgedCell]
) -> tuple[str | None, Defect]:
    """The first cause that explains what was seen, and whether it is a defect. (None, UNDECIDED): nothing to explain."""
    seen = [cell for cell in cells if cell.verdict in DEVIATIONS]
    by_digest = {script.digest: script for script in scripts}
    for cell in cells:
        # Told by a test of its own, whatever became of the claim.
        if _reads_unwritten_memory(cell, cells):
            return "uninitialised_memory", _DEFECT["uninitialised_memory"]
    for cell in seen:
        script = by_digest.get(cell.script)
        found = (
            None
            if script is None
            else _of_sides(claim, script, cell, cells) or _of_repeats(claim, script, cell, cells)
        )
        if found is not None:
            return found, _DEFECT[found]
    for cell in cells:
        found = _of_operations(claim, cell, cells)
        if found is not None:
            return found, _DEFECT[found]
    explainable = any(check.kind in _OF_VALUES for check in claim.having(Role.BUG))
    return (NOT_ANALYSED if seen and explainable else None), Defect.UNDECIDED


def _reads_unwritten_memory(cell: JudgedCell, cells: Sequence[JudgedCell]) -> bool:
    """Whether filling unwritten memory with NaN brings NaN that is not there without."""
    filled = _twin(cell, cells, fill="nan")
    if filled is None or "fill" in cell.target.settings:
        return False
    plain, with_fill = ([has_nan(seen.stdout) for seen in _completed(each)] for each in (cell, filled))
    return bool(plain and with_fill) and not any(plain) and all(with_fill)


def _twin(cell: JudgedCell, cells: Sequence[JudgedCell], **settings: str) -> JudgedCell | None:
    """The cell of the same script on the same target but for these settings."""
    wanted = cell.target.model_copy(update={"settings": {**cell.target.settings, **settings}})
    return next(
        (
            other
            for other in cells
            if other is not cell and other.script == cell.script and other.target == wanted
        ),
        None,
    )


def _completed(cell: JudgedCell) -> list[Observation]:
    return [result.observation for result in cell.results if result.outcome is Outcome.COMPLETED]


def _of_sides(claim: Claim, script: Script, cell: JudgedCell, cells: Sequence[JudgedCell]) -> str | None:
    """Causes of a difference between two sides within one attempt."""
    differs = next((check for check in claim.checks if check.kind is CheckKind.DIFFERS and check.sides), None)
    if differs is None or not cell.results:
        return None
    observation = cell.results[0].observation
    lines = lines_of_sides(observation.stdout, differs.sides)
    if len(lines) != 2 or not all(lines.values()) or sides_agree(lines):
        return None
    found = _explanation(script, observation, lines, devices=set(differs.sides) == {"cpu", "cuda"})
    return found or ("reduced_precision" if _shrinks_without_tf32(differs, lines, cell, cells) else None)


def _shrinks_without_tf32(
    differs: Check, lines: Mapping[str, Sequence[str]], cell: JudgedCell, cells: Sequence[JudgedCell]
) -> bool:
    """Whether the gap between the sides all but goes once TF32, which convolutions on a card use by default, is switched off."""
    twin = _twin(cell, cells, tf32="off")
    if twin is None or not _completed(twin):
        return False
    with_it, without = (
        largest_gap(lines),
        largest_gap(lines_of_sides(_completed(twin)[0].stdout, differs.sides)),
    )
    return with_it is not None and without is not None and without * _SHRINKS <= with_it


def _of_operations(claim: Claim, cell: JudgedCell, cells: Sequence[JudgedCell]) -> str | None:
    """By a trace of the same target, as long as tracing changed nothing of what is judged."""
    traced = _twin(cell, cells, trace="on")
    if traced is None or "trace" in cell.target.settings or not _shows_the_same(traced, cell):
        return None
    drifts = any(check.kind is CheckKind.DIFFERS and check.sides for check in claim.checks)
    if cell.verdict not in DEVIATIONS and not (cell.verdict is Verdict.OBSERVED and drifts):
        return None
    traces = [result.observation.trace for result in traced.results if result.observation.trace is not None]
    found = {cause_by_trace(trace) for trace in traces}
    return found.pop() if len(found) == 1 else None


def _shows_the_same(traced: JudgedCell, cell: JudgedCell) -> bool:
    """One attempt that showed it is one of those that make a cell flaky."""
    return traced.verdict is cell.verdict or (
        cell.verdict is Verdict.FLAKY and traced.verdict is Verdict.REPRODUCED
    )


def _explanation(
    script: Script, observation: Observation, sides: Mapping[str, Sequence[str]], *, devices: bool
) -> str | None:
    both = "\n".join(line for lines in sides.values() for line in lines)
    finite = all_finite(both)
    tests = (
        ("error_asymmetry", is_an_error(both)),
        ("random_streams", devices and draws_on_device(script.script)),
        ("reduced_precision", devices and finite and switched_to_reduced(observation)),
        ("undefined_conversion", converts_undefined(script, both)),
        ("sign_or_order", signs_or_order(script, sides)),
    )
    return next((cause for cause, holds in tests if holds), None)


def _failure(result: Result) -> tuple[str, str] | None:
    """How an attempt failed, by its signature; None where it did not."""
    seen = result.observation
    if seen.exception is not None:
        return seen.exception.type, masked(seen.exception.message)
    return None if seen.signal is None else (seen.signal, "")


def cause_of_pair(script: Script, baseline: tuple[Target, Result], candidate: tuple[Target, Result]) -> str:
    """What explains that two attempts of one script show something else; NOT_ANALYSED where no test here does."""
    (one_target, one), (other_target, other) = baseline, candidate
    if _failure(one) != _failure(other):
        return "error_asymmetry"
    devices = {one_target.device, other_target.device} == {Device.CPU, Device.CUDA}
    sides = {str(at): result.observation.stdout.splitlines() for at, result in enumerate((one, other))}
    both = f"{one.observation.stdout}\n{other.observation.stdout}"
    tests = (
        ("unseeded", script.unseeded and not uses_uninitialised_memory(script.script)),
        ("uninitialised_memory", _new_nan(baseline, candidate) or _new_nan(candidate, baseline)),
        ("random_streams", devices and draws_on_device(script.script)),
        ("reduced_precision", all_finite(both) and differs_in_precision(one.observation, other.observation)),
        ("undefined_conversion", converts_undefined(script, both)),
        ("sign_or_order", signs_or_order(script, sides)),
    )
    return next((cause for cause, holds in tests if holds), NOT_ANALYSED)


def _new_nan(plain: tuple[Target, Result], filled: tuple[Target, Result]) -> bool:
    settings = {**plain[0].settings, "fill": "nan"}
    is_test = "fill" not in plain[0].settings and filled[0].settings == settings
    return is_test and has_nan(filled[1].observation.stdout) and not has_nan(plain[1].observation.stdout)


def _of_repeats(claim: Claim, script: Script, cell: JudgedCell, cells: Sequence[JudgedCell]) -> str | None:
    """Causes of repeats that differ."""
    varies = cell.verdict is Verdict.FLAKY or any(check.over_repeats for check in claim.checks)
    if not varies:
        return None
    if script.unseeded:
        # Where memory is read that nobody wrote, the missing seed may be innocent.
        return None if uses_uninitialised_memory(script.script) else "unseeded"
    twin = _twin(cell, cells, deterministic="on")
    if twin is not None and twin.verdict is Verdict.NOT_REPRODUCED:
        return "nondeterministic_kernel"
    return None
