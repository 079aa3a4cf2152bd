"""Look at what is kept: a run, an attempt, a comparison."""

from __future__ import annotations

from datetime import datetime

from pydantic import BaseModel, ConfigDict, Field
from sqlalchemy.orm import Session

from app.runs.document import AttemptState, ComparisonPart, RunDocument, TargetPart
from worker.contract import AttemptKind, Environment, Level, Observation, Outcome, Reason, Start


class AttemptDetails(BaseModel):
    """One attempt with everything that was kept of it; streams are as long as they were kept."""

    model_config = ConfigDict(frozen=True)

    id: str
    run: str
    job: str
    script: str
    target: TargetPart
    kind: AttemptKind
    start: Start
    state: AttemptState
    counted: bool
    lease_no: int
    node: str | None = None
    level: Level | None = None
    outcome: Outcome | None = None
    reason: Reason | None = None
    observation: Observation | None = None
    environment_digest: str | None = None
    environment: Environment = Field(default_factory=dict)
    created_at: datetime
    leased_at: datetime | None = None
    started_at: datetime | None = None
    recorded_at: datetime | None = None


class ComparisonDetails(BaseModel):
    """A comparison with both of its attempts."""

    model_config = ConfigDict(frozen=True)

    run: str
    comparison: ComparisonPart
    baseline: AttemptDetails
    candidate: AttemptDetails


def run_document(session: Session, run_id: str) -> RunDocument:
    """The run object. Raises NotFoundError."""
    raise NotImplementedError


def attempt_details(session: Session, attempt_id: str) -> AttemptDetails:
    """An attempt, in full. Raises NotFoundError."""
    raise NotImplementedError


def comparison(session: Session, comparison_id: str) -> ComparisonDetails:
    """A comparison of two attempts of one run. Raises NotFoundError."""
    raise NotImplementedError
