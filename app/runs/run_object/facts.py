"""The facts of a run, its cells and its attempts, from which the run object is made."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from app.runs.run_object.digests import PlanRecord
from app.runs.run_object.document import ContributedPart
from app.states import AttemptState, JobState, RunState
from app.targets.planning.plan import RepeatPlan
from app.targets.target import Target
from worker.contract import AttemptKind, Reason, Result, Start


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptFacts:
    """One attempt. `result` is None until it is recorded. A preview has `counted` False."""

    id: str
    kind: AttemptKind
    start: Start
    state: AttemptState
    counted: bool = True
    result: Result | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class JobFacts:
    """One cell with its attempts. `script` is a digest. `reason` is set if no node can serve the target.

    `is_contrast` says that it was added after the run has ended, to look for a contrast.
    """

    id: str
    script: str
    target: Target
    state: JobState
    reason: Reason | None = None
    is_contrast: bool = False
    attempts: tuple[AttemptFacts, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFacts:
    """A run without its cells. `repeats` is None if the plan is not known."""

    id: str
    state: RunState
    created_at: datetime
    finished_at: datetime | None = None
    preset: str | None = None
    report_id: str | None = None
    title: str = ""
    source_url: str | None = None
    repeats: RepeatPlan | None = None
    contributed: ContributedPart | None = None
    plan_record: PlanRecord | None = None
