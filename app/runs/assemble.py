"""The run object from its facts: pure, so the service (from rows) and the command line (from memory) say the same."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from app.intake.reading import Reading
from app.runs.document import RunDocument
from app.states import AttemptState, JobState, RunState
from app.targets.target import Target
from worker.contract import AttemptKind, Reason, Result, Start


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptFacts:
    """One attempt as kept; `result` is None until one was recorded. A preview has `counted` False."""

    id: str
    kind: AttemptKind
    start: Start
    state: AttemptState
    counted: bool = True
    result: Result | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class JobFacts:
    """One cell as kept. `script` is a digest; `reason` is given where the plan found that no node serves the target."""

    id: str
    script: str
    target: Target
    state: JobState
    reason: Reason | None = None
    attempts: tuple[AttemptFacts, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFacts:
    """A launch as kept."""

    id: str
    state: RunState
    created_at: datetime
    finished_at: datetime | None = None
    preset: str | None = None
    report_id: str | None = None
    title: str = ""
    source_url: str | None = None


def assemble(run: RunFacts, reading: Reading, jobs: Sequence[JobFacts]) -> RunDocument:
    """The document of a run in any state; verdicts are judged anew from the attempts each time."""
    raise NotImplementedError
