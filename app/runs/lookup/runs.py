"""Look at what is kept: a run, an attempt."""

from __future__ import annotations

from datetime import datetime

from pydantic import BaseModel, ConfigDict, Field
from sqlalchemy.orm import Session

from app.errors import NotFoundError
from app.ids import is_id
from app.runs.estimates.waiting import with_waiting
from app.runs.rows.by_id import get_run
from app.runs.rows.document_cache import cache_document, cached_document, cached_json, json_of
from app.runs.rows.facts import document_of, results_by_attempt
from app.runs.run_object.document import RunDocument, TargetPart
from app.settings import ServiceSettings
from app.states import AttemptState
from app.storage.models import AttemptRow, JobRow, RunRow
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
    # Null for one of our own nodes.
    contributed_by: str | None = None
    # Of a withdrawn report: what the attempt showed is erased.
    withdrawn: bool = False
    created_at: datetime
    leased_at: datetime | None = None
    started_at: datetime | None = None
    recorded_at: datetime | None = None


def run_document(session: Session, run_id: str, *, settings: ServiceSettings | None = None) -> RunDocument:
    """The run object; with settings, where its waiting cells stand in line. Raises NotFoundError."""
    run = get_run(session, run_id)
    return cached_document(session, run) or _shown(session, run, settings=settings)


def run_json(session: Session, run_id: str, *, settings: ServiceSettings | None = None) -> bytes:
    """The run object as it is answered. Raises NotFoundError."""
    run = get_run(session, run_id)
    return cached_json(session, run) or json_of(_shown(session, run, settings=settings))


def _shown(session: Session, run: RunRow, *, settings: ServiceSettings | None) -> RunDocument:
    """Made anew, and kept if the run is over: nothing of it waits then."""
    document = document_of(session, run)
    cache_document(session, run, document)
    return document if settings is None else with_waiting(session, document, settings=settings)


def attempt_details(session: Session, attempt_id: str) -> AttemptDetails:
    """An attempt, in full. Raises NotFoundError."""
    attempt = session.get(AttemptRow, attempt_id) if is_id(attempt_id) else None
    job = None if attempt is None else session.get(JobRow, attempt.job_id)
    run = None if attempt is None else session.get(RunRow, attempt.run_id)
    if attempt is None or job is None or run is None:
        raise NotFoundError("There is no attempt with this id.")
    result = results_by_attempt(session, [attempt]).get(attempt.id)
    return AttemptDetails(
        id=attempt.id,
        run=attempt.run_id,
        job=job.id,
        script=job.script_digest,
        target=TargetPart.model_validate(job.target),
        kind=attempt.kind,
        start=attempt.start,
        state=attempt.state,
        counted=attempt.counted,
        lease_no=attempt.lease_no,
        node=attempt.node,
        level=None if result is None else result.level,
        outcome=None if result is None else result.outcome,
        reason=None if result is None else result.reason,
        observation=None if result is None else result.observation,
        environment_digest=attempt.environment_digest,
        environment={} if result is None else result.environment,
        contributed_by=run.contributed_by,
        withdrawn=run.is_withdrawn,
        created_at=attempt.created_at,
        leased_at=attempt.leased_at,
        started_at=attempt.started_at,
        recorded_at=attempt.recorded_at,
    )
