"""Decides which cells with `trace=on` a run gets by itself, within the budget of the setting."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence

from app.intake.reading import Reading
from app.judging.cause.numbers_at_issue import TargetResults, targets_to_trace
from app.runs.run_object.facts import JobFacts
from app.targets.planning.plan import RepeatPlan
from app.targets.planning.presets import Preset
from app.targets.target import Target
from worker.contract import AttemptKind, Result

# A traced attempt takes about so many times as long as a plain one.
TRACED_COSTS = 6.0


def automatic_traces(
    reading: Reading,
    jobs: Sequence[JobFacts],
    *,
    preset: Preset | None,
    repeats: RepeatPlan,
    budget_seconds: float,
    wall_seconds: float,
) -> list[tuple[str, Target]]:
    """The cells to add, by script and target: none where it names its cells itself, or beyond the budget.

    Targets of a request, presets over all toolchains and those of the operator name their cells. `jobs` have
    all ended. `wall_seconds` is the limit of an attempt: a trace that would exceed it is not worth a start.
    """
    if preset is None or preset.versions or preset.own or not budget_seconds:
        return []
    attempts = repeats.at_most if repeats.exact else 1
    cells: list[tuple[str, Target]] = []
    for script, results in _results_by_script(jobs).items():
        for target in targets_to_trace(reading.claim, reading.script_of(script), results):
            seconds = _seconds_of_trace(target, results)
            if seconds is None or seconds > wall_seconds or seconds * attempts > budget_seconds:
                continue
            budget_seconds -= seconds * attempts
            cells.append((script, target))
    return cells


def _results_by_script(jobs: Sequence[JobFacts]) -> Mapping[str, list[TargetResults]]:
    by_script: dict[str, list[TargetResults]] = {}
    for job in jobs:
        by_script.setdefault(job.script, []).append(TargetResults(job.target, _evidence_of(job)))
    return by_script


def _evidence_of(job: JobFacts) -> list[Result]:
    return [
        attempt.result
        for attempt in job.attempts
        if attempt.result is not None and attempt.counted and attempt.kind is AttemptKind.REPEAT
    ]


def _seconds_of_trace(target: Target, cells: Sequence[TargetResults]) -> float | None:
    """How long a traced attempt takes, by the plain ones of the same target; None without any."""
    settings = {name: value for name, value in target.settings.items() if name != "trace"}
    plain = target.model_copy(update={"settings": settings})
    seconds = [
        result.observation.wall_seconds
        for cell in cells
        if cell.target == plain
        for result in cell.results
        if result.observation.wall_seconds > 0
    ]
    return TRACED_COSTS * statistics.median(seconds) if seconds else None
