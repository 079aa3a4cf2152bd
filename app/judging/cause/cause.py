"""The cause of what was seen. A cause is named only if its test ran; otherwise it is `not_analysed`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from app.intake.claim.claims import Check, CheckKind, Claim, Role
from app.intake.code.randomness import ENTROPY, is_documented_as_nondeterministic, sources_of
from app.intake.code.uninitialised_memory import uses_uninitialised_memory
from app.intake.reading import Script
from app.judging.cause.cures import cure_of, refusal_of, tests_of, varies
from app.judging.cause.defect import NOT_ANALYSED, defect_of, missing_for, order_of
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
from app.judging.cause.own_kernels import own_kernel_of
from app.judging.cause.random_draws import compares_draws_of_devices, draws_on_device
from app.judging.cause.removals import Removal, removal_of
from app.judging.cause.trace_verdict import cause_by_trace
from app.judging.judgement import DEVIATIONS, Defect, JudgedCell, Verdict
from app.judging.output.failure_signature import mask
from app.judging.output.sides import lines_of_sides, sides_agree
from app.targets.packages import packages_of
from app.targets.target import Target
from worker.contract import Device, Observation, Outcome, Result

_SENTENCES = {
    "error_asymmetry": "One side raises an error, and the other returns a value or raises another error.",
    "random_streams": "The CPU and the GPU use different random number generators, "
    "so one seed gives different numbers.",
    "unseeded": "The script uses random numbers without a seed.",
    "nondeterministic_kernel": "Repeats differ, but agree with deterministic algorithms.",
    "hash_order": "Repeats differ, but agree if the hashes of text are the same: the script shows the order "
    "of a set.",
    "clock": "Repeats differ, but agree if every clock shows the same time.",
    "file_order": "Repeats differ, but agree if folders are listed in the order of names.",
    "thread_order": "Repeats differ, but agree with one thread.",
    "system_entropy": "The script uses random numbers of the system, which nothing can repeat.",
    "announced": "An older version warned that it will go.",
    "api_removed": "An older version has what the script uses, and a newer one lacks it. "
    "No warning was seen.",
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
    "compiler_frontend": "Capturing the graph for the compiler changes a number beyond rounding.",
    "decomposition": "A decomposition, by which the compiler replaces an operation, changes a number "
    "beyond rounding.",
    "code_generation": "The code that the compiler generates changes a number beyond rounding.",
    "rounding_before_a_decision": "Rounding decides a comparison, an index or a step, "
    "and numbers may follow the decision.",
}
_CAUSE_TESTS = frozenset({"trace", "fill", "fix", "seed", "compile"})
# TF32 makes a gap of about a thousand roundings. Without it only a few are left.
_SHRINKS = 10
_VALUE_KINDS = {CheckKind.OUTPUT, CheckKind.VALUE, CheckKind.DIFFERS, CheckKind.VARIES}


def sentence(cause: str | None, source: str = "") -> str:
    """The sentence for a cause; empty without a cause. `source` is that of its finding."""
    if cause == "unexplained" and source:
        return (
            f"{_SENTENCES[cause]} It is an implementation that the script registers for {source}, not torch's"
            " own."
        )
    if cause == "unseeded" and source:
        return f"Repeats differ, but agree if {source} has a seed."
    if cause == "nondeterministic_kernel" and source:
        return f"Repeats differ on this device only, where torch has no deterministic form of {source}."
    return _SENTENCES.get(cause or "", "")


@dataclass(frozen=True, slots=True, kw_only=True)
class CauseFinding:
    """The cause of what was seen, and whether it is a defect.

    `cause` is None if there is nothing to explain. `source` names the source of variation, or the operation
    whose wrong kernel is the script's own, and `test` is the label of the target that showed the cause, both
    empty if there is none. `missing` says what is missing to decide whether it is a defect.
    """

    cause: str | None = None
    defect: Defect = Defect.UNDECIDED
    source: str = ""
    test: str = ""
    removal: Removal | None = None
    missing: tuple[str, ...] = ()


def cause_of(claim: Claim, scripts: Sequence[Script], cells: Sequence[JudgedCell]) -> CauseFinding:
    """The first cause, in the order of the table, that a test shows for what was seen."""
    findings = list(_findings(claim, {script.digest: script for script in scripts}, cells))
    if findings:
        return min(findings, key=lambda finding: order_of(finding.cause or NOT_ANALYSED))
    seen = any(cell.verdict in DEVIATIONS for cell in cells)
    if seen and any(check.kind in _VALUE_KINDS for check in claim.having(Role.BUG)):
        return CauseFinding(cause=NOT_ANALYSED, missing=tuple(_tests_missing(claim, scripts, cells)))
    return CauseFinding()


def _findings(
    claim: Claim, scripts: Mapping[str, Script], cells: Sequence[JudgedCell]
) -> Iterator[CauseFinding]:
    about_repeats = any(check.over_repeats for check in claim.checks)
    for cell in cells:
        script = scripts.get(cell.script)
        # This has a test of its own, so it is known whatever the verdict is.
        if _reads_uninitialised_memory(cell, cells):
            yield _finding("uninitialised_memory")
        if cell.verdict in DEVIATIONS and script is not None:
            yield from _finding_of(_cause_of_sides(claim, script, cell, cells))
            yield from _removal_in(script, cell, cells)
        if script is not None:
            yield from _findings_of_repeats(script, cell, cells, about_repeats=about_repeats)
        yield from _finding_by_trace(claim, script, cell, cells)


def _finding(cause: str, *, source: str = "", test: str = "", **how: bool) -> CauseFinding:
    return CauseFinding(
        cause=cause,
        defect=(defect := defect_of(cause, **how)),
        source=source,
        test=test,
        missing=missing_for(cause, cured=how.get("cured", True)) if defect is Defect.UNDECIDED else (),
    )


def _finding_of(cause: str | None) -> Iterator[CauseFinding]:
    if cause is not None:
        yield _finding(cause)


def _removal_in(script: Script, cell: JudgedCell, cells: Sequence[JudgedCell]) -> Iterator[CauseFinding]:
    """The removal in the cell's version, against older ones of the same run."""
    failed = next((result for result in cell.results if result.observation.exception is not None), None)
    if failed is None:
        return
    older = [
        other.results[0]
        for other in cells
        if other is not cell and other.script == cell.script and other.results
    ]
    removal = removal_of(script, older, failed, imported=packages_of(script))
    if removal is not None:
        yield replace(_finding(removal.cause), removal=removal)


def _tests_missing(claim: Claim, scripts: Sequence[Script], cells: Sequence[JudgedCell]) -> Iterator[str]:
    """Why no cause is known: the tests that did not run, or that settled nothing."""
    if any(check.over_repeats for check in claim.checks):
        tested = [cell for cell in cells if tests_of(cell, cells)]
        yield (
            "No setting that fixes one source of variation made the repeats agree."
            if tested
            else "No cell fixed a source of variation, such as a seed."
        )
        return
    traced = [cell for cell in cells if "trace" in cell.target.settings]
    traces = [result.observation.trace for cell in traced for result in cell.results]
    if not traced:
        # Only operations of torch can be recorded.
        if any("torch" in packages_of(script) for script in scripts):
            yield "No operation was compared with float64. A cell with the setting trace=on does that."
    elif not any(traces):
        yield "No operation was compared with float64: the cell with trace=on recorded none."
    elif any(trace.unjudged or not trace.whole or trace.answered < trace.asked for trace in traces if trace):
        yield "Some operations could not be compared with float64."
    else:
        yield "The trace shows no cause, or what was seen changed under it."


def _reads_uninitialised_memory(cell: JudgedCell, cells: Sequence[JudgedCell]) -> bool:
    """Whether NaN appear in the output only if uninitialised memory is filled with NaN.

    The memory may hold NaN before, too: then the repeats differ, and agree once it is filled.
    """
    filled = _twin(cell, cells, fill="nan")
    if filled is None or "fill" in cell.target.settings:
        return False
    plain, with_fill = (
        [has_nan(seen.stdout) for seen in _completed_observations(each)] for each in (cell, filled)
    )
    if not plain or not with_fill or not all(with_fill):
        return False
    return not any(plain) or (not all(plain) and len(with_fill) > 1 and not varies(filled.results))


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
    if len(lines) != 2 or not all(lines.values()):
        # The script shows the difference itself, such as a count of differing elements.
        between_devices = set(differs.sides) == {"cpu", "cuda"}
        return "random_streams" if between_devices and compares_draws_of_devices(script.script) else None
    if sides_agree(lines):
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


def _finding_by_trace(
    claim: Claim, script: Script | None, cell: JudgedCell, cells: Sequence[JudgedCell]
) -> Iterator[CauseFinding]:
    """The cause by traces of the same target.

    None if tracing changed the verdict, or if the traces of several attempts give different causes.
    """
    traced = _twin(cell, cells, trace="on")
    if traced is None or "trace" in cell.target.settings or not _shows_the_same(traced, cell):
        return
    drifts = any(check.kind is CheckKind.DIFFERS and check.sides for check in claim.checks)
    if cell.verdict not in DEVIATIONS and not (cell.verdict is Verdict.OBSERVED and drifts):
        return
    traces = [result.observation.trace for result in traced.results if result.observation.trace is not None]
    causes = {cause_by_trace(trace) for trace in traces}
    cause = causes.pop() if len(causes) == 1 else None
    if cause is None:
        return
    source = "" if script is None else script.script
    own = {own_kernel_of(trace, source) for trace in traces} if cause == "unexplained" else set()
    yield _finding(cause, source=own.pop() if len(own) == 1 else "")


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
        imported = packages_of(script)
        removal = removal_of(script, [one], other, imported=imported) or removal_of(
            script, [other], one, imported=imported
        )
        return "error_asymmetry" if removal is None else removal.cause
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


def _findings_of_repeats(
    script: Script, cell: JudgedCell, cells: Sequence[JudgedCell], *, about_repeats: bool
) -> Iterator[CauseFinding]:
    """The cause of repeats that differ: by a cell that cures it, else by the text of the script."""
    if not (cell.verdict is Verdict.FLAKY or cell.verdict is Verdict.OBSERVED or about_repeats):
        return
    if _CAUSE_TESTS.intersection(cell.target.settings):
        return
    documented = is_documented_as_nondeterministic(script.script)
    cure = cure_of(cell, cells, is_documented=documented)
    if cure is None and not (script.unseeded or uses_uninitialised_memory(script.script)):
        cure = refusal_of(cell, cells)
        # Torch says it itself.
        documented = documented or cure is not None
    if cure is not None:
        yield _finding(
            cure.cause,
            source=cure.source,
            test=cure.test,
            documented=documented,
            about_repeats=about_repeats,
        )
        return
    tested = {setting[0] for setting, _ in tests_of(cell, cells)}
    if cell.verdict in DEVIATIONS and not {"fix", "seed"} & tested:
        # If the script reads uninitialised memory, that may be the cause, not the missing seed.
        if script.unseeded and not uses_uninitialised_memory(script.script):
            yield _finding("unseeded", cured=False)
    elif (cell.verdict in DEVIATIONS or varies(cell.results)) and ENTROPY in sources_of(script.script):
        yield _finding("system_entropy")
