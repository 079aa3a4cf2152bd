"""What the pages say of matrices: which cells could run again, and the cell that is missing between two that differ in too much."""

from __future__ import annotations

import shlex
from collections import Counter
from dataclasses import dataclass

from app.judging.verdict.rerunnable import Which, is_rerunnable
from app.runs.lookup.reports import RunSummary
from app.runs.run_object.document import ComparisonPart, RunDocument
from app.targets.planning.presets import BISECTION
from app.targets.target import Target
from app.targets.versions.confounding import axes_between, missing_cells


@dataclass(frozen=True, slots=True, kw_only=True)
class Missing:
    """Two targets that differ in more than one axis, and the first cell between them that the run lacks."""

    axes: tuple[str, ...]
    label: str
    command: str


def again_of(run: RunDocument) -> list[tuple[Which, int]]:
    """How many cells could run again, of each kind that has some; `undecided` only where that is more."""
    if run.contributed is not None or run.withdrawn_at is not None or run.preset == BISECTION:
        return []
    counts = Counter(
        which
        for job in run.jobs
        for which in Which
        if is_rerunnable(which, state=job.state, verdict=job.verdict, reason=job.reason)
    )
    kinds = [Which.FAILED, *([Which.UNDECIDED] if counts[Which.UNDECIDED] > counts[Which.FAILED] else [])]
    return [(which, counts[which]) for which in kinds if counts[which]]


def missing_of(run: RunDocument, comparison: ComparisonPart) -> Missing | None:
    """The cell that would tell apart what a comparison mixes; none where one axis differs, or where the run has them all."""
    if run.contributed is not None or run.withdrawn_at is not None or run.preset == BISECTION:
        return None
    baseline, candidate = _target_of(run, comparison.baseline), _target_of(run, comparison.candidate)
    if baseline is None or candidate is None:
        return None
    there = {job.target.label for job in run.jobs}
    lacking = [target.label() for target in missing_cells(baseline, candidate) if target.label() not in there]
    if not lacking:
        return None
    command = f"samehere add-cell {run.id} {shlex.quote(lacking[0])}"
    return Missing(axes=axes_between(baseline, candidate), label=lacking[0], command=command)


def _target_of(run: RunDocument, attempt_id: str) -> Target | None:
    found = next(
        (job.target for job in run.jobs for attempt in job.attempts if attempt.id == attempt_id), None
    )
    return None if found is None else Target.model_validate(found.model_dump())


def run_to_add_to(runs: list[RunSummary]) -> str | None:
    """The latest run of our own that has cells."""
    return next(
        (
            run.id
            for run in runs
            if run.contributed_by is None and run.preset != BISECTION and run.verdict != "needs_info"
        ),
        None,
    )
