"""The jobs of a run on this machine, and their attempts."""

from __future__ import annotations

from dataclasses import dataclass, field

from app.ids import new_id
from app.intake.reading import Script
from app.judging.verdict.passage import lost_passage
from app.runs.run_object.facts import AttemptFacts, JobFacts
from app.states import OPEN_ATTEMPT_STATES, AttemptState, JobState
from app.targets.planning.plan import Cell
from worker.contract import AttemptKind, Outcome, Result, Start


@dataclass(slots=True)
class LocalAttempt:
    """One attempt and its state."""

    id: str = field(default_factory=new_id)
    kind: AttemptKind = AttemptKind.REPEAT
    lease_no: int = 1
    started: bool = False
    state: AttemptState = "queued"
    result: Result | None = None


@dataclass(slots=True)
class LocalJob:
    """One cell and its attempts."""

    cell: Cell
    script: Script
    id: str = field(default_factory=new_id)
    attempts: list[LocalAttempt] = field(default_factory=list)
    state: JobState = "queued"

    def repeats(self) -> list[LocalAttempt]:
        """The attempts that count."""
        return [attempt for attempt in self.attempts if attempt.kind is AttemptKind.REPEAT]

    def open_attempts(self) -> list[LocalAttempt]:
        """The attempts that have not ended."""
        return [attempt for attempt in self.attempts if attempt.state in OPEN_ATTEMPT_STATES]

    def results(self) -> list[Result]:
        """The results of the recorded attempts, passage checks included."""
        return [
            attempt.result.model_copy(update={"kind": attempt.kind})
            for attempt in self.attempts
            if attempt.result is not None and attempt.state == "recorded"
        ] + [
            lost_passage(attempt.id)
            for attempt in self.attempts
            if attempt.kind is AttemptKind.PASSAGE and attempt.state == "lost"
        ]

    def count_failed(self) -> int:
        """The number of repeats that were lost or could not be set up."""
        return sum(
            attempt.state == "lost"
            or (attempt.result is not None and attempt.result.outcome is Outcome.SETUP_FAILED)
            for attempt in self.repeats()
        )

    def facts(self) -> JobFacts:
        """The facts from which a run object is assembled."""
        attempts = tuple(
            AttemptFacts(
                id=attempt.id,
                kind=attempt.kind,
                counted=attempt.kind is AttemptKind.REPEAT,
                start=Start.COLD,
                state=attempt.state,
                result=attempt.result,
            )
            for attempt in self.attempts
        )
        return JobFacts(
            id=self.id,
            script=self.script.digest,
            target=self.cell.target,
            state=self.state,
            reason=self.cell.reason,
            attempts=attempts,
        )
