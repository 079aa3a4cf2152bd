"""The choices that pages offer for a matrix: cells to rerun, and a cell missing between two others."""

from __future__ import annotations

import shlex
from collections import Counter
from dataclasses import dataclass

from app.judging.judgement import Verdict
from app.judging.verdict.rerunnable import Which, is_lack_of_target, is_rerunnable
from app.runs.lookup.reports import RunSummary
from app.runs.run_object.document import ComparisonPart, RunDocument
from app.targets.planning.presets import BISECTION
from app.targets.target import Target
from app.targets.versions.confounding import axes_between, missing_cells


@dataclass(frozen=True, slots=True, kw_only=True)
class MissingCell:
    """The first cell that the run lacks between two targets that differ in more than one axis."""

    axes: tuple[str, ...]
    label: str
    command: str


def rerun_choices(run: RunDocument) -> list[tuple[Which, int]]:
    """How many cells can be rerun, by kind.

    `undecided` is left out unless it has a cell more than `failed` that a rerun may decide.
    """
    if run.contributed is not None or run.withdrawn_at is not None or run.preset == BISECTION:
        return []
    counts = Counter(
        which
        for job in run.jobs
        for which in Which
        if is_rerunnable(which, state=job.state, verdict=job.verdict, reason=job.reason)
    )
    hopeless = sum(job.verdict is Verdict.CANNOT_SHOW and is_lack_of_target(job.reason) for job in run.jobs)
    further = counts[Which.UNDECIDED] - hopeless > counts[Which.FAILED]
    kinds = [Which.FAILED, *([Which.UNDECIDED] if further else [])]
    return [(which, counts[which]) for which in kinds if counts[which]]


def missing_cell(run: RunDocument, comparison: ComparisonPart) -> MissingCell | None:
    """The cell that would separate the axes of a comparison.

    None if the two sides differ in one axis only, or if the run has all cells between them.
    """
    if run.contributed is not None or run.withdrawn_at is not None or run.preset == BISECTION:
        return None
    baseline, candidate = _target_of(run, comparison.baseline), _target_of(run, comparison.candidate)
    if baseline is None or candidate is None:
        return None
    present = {job.target.label for job in run.jobs}
    labels = [target.label() for target in missing_cells(baseline, candidate)]
    lacking = [label for label in labels if label not in present]
    if not lacking:
        return None
    command = f"samehere add-cell {run.id} {shlex.quote(lacking[0])}"
    return MissingCell(axes=axes_between(baseline, candidate), label=lacking[0], command=command)


def _target_of(run: RunDocument, attempt_id: str) -> Target | None:
    target = next(
        (job.target for job in run.jobs for attempt in job.attempts if attempt.id == attempt_id), None
    )
    return None if target is None else Target.model_validate(target.model_dump())


def run_to_add_to(runs: list[RunSummary]) -> str | None:
    """The id of the latest run on our own nodes that has cells."""
    return next(
        (
            run.id
            for run in runs
            if run.contributed_by is None and run.preset != BISECTION and run.verdict != "needs_info"
        ),
        None,
    )
