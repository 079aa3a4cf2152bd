"""The cause of what was seen. A cause is named only if its test ran; otherwise it is `not_analysed`."""

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
from app.judging.output.failure_signature import mask
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
    "error_asymmetry": "One side raises an error, and the other returns a value or raises another error.",
    "random_streams": "The CPU and the GPU use different random number generators, "
    "so one seed gives different numbers.",
    "unseeded": "The script uses random numbers without a seed.",
    "nondeterministic_kernel": "Repeats differ, but agree with deterministic algorithms.",
    "sign_or_order": "The two sides differ only in signs or in the order of the numbers.",
    "uninitialised_memory": "The result depends on uninitialised memory: "
    "if such memory is filled with NaN, new NaN appear in the output.",
    "undefined_conversion": "A value is converted to an integer type that cannot hold it. "
    "The result of that is undefined on every device.",
    "reduced_precision": "Reduced precision (such as TF32) was in use, which keeps fewer digits.",
    "rounding": "Every operation is as exact as its type allows. The difference is rounding.",
    "ill_conditioned": "The inputs amplify a difference that is only rounding. "
    "Neither side is more correct than the other.",
    "unexplained": "One operation is further from the exact result than rounding explains.",
}
# TF32 makes a gap of about a thousand roundings. Without it only a few are left.
_SHRINKS = 10
_VALUE_KINDS = {CheckKind.OUTPUT, CheckKind.VALUE, CheckKind.DIFFERS, CheckKind.VARIES}


def sentence(cause: str | None) -> str:
    """The sentence for a cause; empty without a cause."""
    return _SENTENCES.get(cause or "", "")


def cause_of(
    claim: Claim, scripts: Sequence[Script], cells: Sequence[JudgedCell]
) -> tuple[str | None, Defect]:
    """The first cause that explains what was seen, and whether it is a defect.

    (None, UNDECIDED) if there is nothing to explain.
    """
    seen = [cell for cell in cells if cell.verdict in DEVIATIONS]
    by_digest = {script.digest: script for script in scripts}
    for cell in cells:
        # This has a test of its own, so it is known whatever the verdict is.
        if _reads_uninitialised_memory(cell, cells):
            return "uninitialised_memory", _DEFECT["uninitialised_memory"]
    for cell in seen:
        script = by_digest.get(cell.script)
        cause = (
            None
            if script is None
            else _cause_of_sides(claim, script, cell, cells) or _cause_of_repeats(claim, script, cell, cells)
        )
        if cause is not None:
            return cause, _DEFECT[cause]
    for cell in cells:
        cause = _cause_by_trace(claim, cell, cells)
        if cause is not None:
            return cause, _DEFECT[cause]
    explainable = any(check.kind in _VALUE_KINDS for check in claim.having(Role.BUG))
    return (NOT_ANALYSED if seen and explainable else None), Defect.UNDECIDED


def _reads_uninitialised_memory(cell: JudgedCell, cells: Sequence[JudgedCell]) -> bool:
    """Whether NaN appear in the output only if uninitialised memory is filled with NaN."""
    filled = _twin(cell, cells, fill="nan")
    if filled is None or "fill" in cell.target.settings:
        return False
    plain, with_fill = (
        [has_nan(seen.stdout) for seen in _completed_observations(each)] for each in (cell, filled)
    )
    return bool(plain and with_fill) and not any(plain) and all(with_fill)


def _twin(cell: JudgedCell, cells: Sequence[JudgedCell], **settings: str) -> JudgedCell | None:
    """The cell with the same script on the same target, plus these settings; None if there is none."""
    twin_target = cell.target.model_copy(update={"settings": {**cell.target.settings, **settings}})
    return next(
        (
            other
            for other in cells
            if other is not cell and other.script == cell.script and other.target == twin_target
        ),
        None,
    )


def _completed_observations(cell: JudgedCell) -> list[Observation]:
    return [result.observation for result in cell.results if result.outcome is Outcome.COMPLETED]


def _cause_of_sides(
    claim: Claim, script: Script, cell: JudgedCell, cells: Sequence[JudgedCell]
) -> str | None:
    """The cause of a difference between two sides within one attempt; None if no test explains it."""
    differs = next((check for check in claim.checks if check.kind is CheckKind.DIFFERS and check.sides), None)
    if differs is None or not cell.results:
        return None
    observation = cell.results[0].observation
    lines = lines_of_sides(observation.stdout, differs.sides)
    if len(lines) != 2 or not all(lines.values()) or sides_agree(lines):
        return None
    cause = _explanation(script, observation, lines, devices=set(differs.sides) == {"cpu", "cuda"})
    return cause or ("reduced_precision" if _shrinks_without_tf32(differs, lines, cell, cells) else None)


def _shrinks_without_tf32(
    differs: Check, lines: Mapping[str, Sequence[str]], cell: JudgedCell, cells: Sequence[JudgedCell]
) -> bool:
    """Whether the gap nearly disappears without TF32, which convolutions on a GPU use by default."""
    twin = _twin(cell, cells, tf32="off")
    if twin is None or not _completed_observations(twin):
        return False
    with_it, without = (
        largest_gap(lines),
        largest_gap(lines_of_sides(_completed_observations(twin)[0].stdout, differs.sides)),
    )
    return with_it is not None and without is not None and without * _SHRINKS <= with_it


def _cause_by_trace(claim: Claim, cell: JudgedCell, cells: Sequence[JudgedCell]) -> str | None:
    """The cause by traces of the same target.

    None if tracing changed the verdict, or if the traces of several attempts give different causes.
    """
    traced = _twin(cell, cells, trace="on")
    if traced is None or "trace" in cell.target.settings or not _shows_the_same(traced, cell):
        return None
    drifts = any(check.kind is CheckKind.DIFFERS and check.sides for check in claim.checks)
    if cell.verdict not in DEVIATIONS and not (cell.verdict is Verdict.OBSERVED and drifts):
        return None
    traces = [result.observation.trace for result in traced.results if result.observation.trace is not None]
    causes = {cause_by_trace(trace) for trace in traces}
    return causes.pop() if len(causes) == 1 else None


def _shows_the_same(traced: JudgedCell, cell: JudgedCell) -> bool:
    """Whether both have the same verdict. One traced attempt that shows the claim fits a flaky cell."""
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
    """The signature of a failure: type and masked message, or the signal. None without a failure."""
    seen = result.observation
    if seen.exception is not None:
        return seen.exception.type, mask(seen.exception.message)
    return None if seen.signal is None else (seen.signal, "")


def cause_of_pair(script: Script, baseline: tuple[Target, Result], candidate: tuple[Target, Result]) -> str:
    """The cause of a difference between two attempts of one script; NOT_ANALYSED if no test explains it."""
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


def _cause_of_repeats(
    claim: Claim, script: Script, cell: JudgedCell, cells: Sequence[JudgedCell]
) -> str | None:
    """The cause of repeats that differ; None if no test explains it."""
    varies = cell.verdict is Verdict.FLAKY or any(check.over_repeats for check in claim.checks)
    if not varies:
        return None
    if script.unseeded:
        # If the script reads uninitialised memory, that may be the cause, not the missing seed.
        return None if uses_uninitialised_memory(script.script) else "unseeded"
    twin = _twin(cell, cells, deterministic="on")
    if twin is not None and twin.verdict is Verdict.NOT_REPRODUCED:
        return "nondeterministic_kernel"
    return None
