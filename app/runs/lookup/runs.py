"""One run, or one attempt with all its details."""

from __future__ import annotations

from datetime import datetime

from pydantic import BaseModel, ConfigDict, Field
from sqlalchemy.orm import Session

from app.errors import NotFoundError
from app.ids import is_id
from app.runs.estimates.progress import with_progress
from app.runs.estimates.waiting import with_waiting
from app.runs.rows.by_id import get_run
from app.runs.rows.cells import Cells
from app.runs.rows.document_cache import cache_document, cached_document, cached_json, json_of
from app.runs.rows.facts import document_of, results_by_attempt
from app.runs.run_object.assemble import target_part
from app.runs.run_object.document import RunDocument, TargetPart
from app.settings import ServiceSettings
from app.states import AttemptState
from app.storage.models import AttemptRow, JobRow, RunRow
from worker.contract import AttemptKind, Environment, Level, Observation, Outcome, Reason, Start


class AttemptDetails(BaseModel):
    """One attempt with everything that is stored of it. Streams have their stored length."""

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
    # None for an attempt on our own nodes.
    contributed_by: str | None = None
    # True if the report was withdrawn. Then the results of the attempt are erased.
    withdrawn: bool = False
    created_at: datetime
    leased_at: datetime | None = None
    started_at: datetime | None = None
    recorded_at: datetime | None = None


def run_document(session: Session, run_id: str, *, settings: ServiceSettings | None = None) -> RunDocument:
    """The run object. With settings, its open cells have their stage and queue position.

    Raises NotFoundError.
    """
    run = get_run(session, run_id)
    return cached_document(session, run) or _assemble_and_cache(session, run, settings=settings)


def run_json(session: Session, run_id: str, *, settings: ServiceSettings | None = None) -> bytes:
    """The run object as JSON. Raises NotFoundError."""
    run = get_run(session, run_id)
    return cached_json(session, run) or json_of(_assemble_and_cache(session, run, settings=settings))


def _assemble_and_cache(session: Session, run: RunRow, *, settings: ServiceSettings | None) -> RunDocument:
    """Assemble the run object. It is cached only if the run has ended, so it has no queue positions then."""
    document = document_of(session, run)
    cache_document(session, run, document)
    if settings is None:
        return document
    return with_waiting(session, with_progress(session, document, settings=settings), settings=settings)


def attempt_details(session: Session, attempt_id: str) -> AttemptDetails:
    """An attempt with all its details. Raises NotFoundError."""
    attempt = session.get(AttemptRow, attempt_id) if is_id(attempt_id) else None
    job = None if attempt is None else session.get(JobRow, attempt.job_id)
    run = None if attempt is None else session.get(RunRow, attempt.run_id)
    if attempt is None or job is None or run is None:
        raise NotFoundError("There is no attempt with this id.")
    result = results_by_attempt(session, [attempt]).get(attempt.id)
    reason = None if result is None or result.reason is None else result.reason.model_dump(mode="json")
    cells = Cells(session, [run.id])
    return AttemptDetails(
        id=attempt.id,
        run=attempt.run_id,
        job=job.id,
        script=job.script_digest,
        target=target_part(cells.target(run.id, job.target)),
        kind=attempt.kind,
        start=attempt.start,
        state=attempt.state,
        counted=attempt.counted,
        lease_no=attempt.lease_no,
        node=attempt.node,
        level=None if result is None else result.level,
        outcome=None if result is None else result.outcome,
        reason=cells.reason(run.id, reason),
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
