"""Queue attempts, and take those back that are not needed."""

from __future__ import annotations

from sqlalchemy.orm import Session

from app.clock import now
from app.ids import new_id
from app.storage.models import AttemptRow, JobRow
from worker.contract import AttemptKind, Start


def new_attempts(
    session: Session,
    job: JobRow,
    *,
    count: int,
    kind: AttemptKind = AttemptKind.REPEAT,
    start: Start = Start.COLD,
) -> list[AttemptRow]:
    """Queue attempts of a job. A preview starts warm or not at all, and never counts; a repeat that may start warm may also start cold."""
    moment = now()
    preview = kind is AttemptKind.PREVIEW
    rows = [
        AttemptRow(
            id=new_id(),
            run_id=job.run_id,
            job_id=job.id,
            generation=job.generation,
            kind=kind,
            start=Start.WARM if preview else start,
            state="queued",
            counted=not preview,
            lease_no=0,
            leases_spent=0,
            created_at=moment,
            queued_at=moment,
        )
        for _ in range(count)
    ]
    session.add_all(rows)
    return rows


def withdraw(session: Session, attempt: AttemptRow) -> None:
    """Take an attempt back that is not needed: one that no node ever held has not happened."""
    if attempt.lease_no == 0:
        session.delete(attempt)
    else:
        attempt.state = "cancelled"
