"""Queues attempts, and removes those that are no longer needed."""

from __future__ import annotations

from sqlalchemy.orm import Session

from app.clock import now
from app.ids import new_id
from app.states import HELD_ATTEMPT_STATES, OPEN_STATES, UNSTARTED_ATTEMPT_STATES
from app.storage.models import AttemptRow, JobRow, RunRow
from app.storage.outbox import outbox
from app.storage.tallies import Tally
from app.storage.tallies import count as count_up
from worker.contract import AttemptKind, Start


def takes_attempts(run: RunRow, job: JobRow) -> bool:
    """Whether attempts of a job may still start and count.

    A cell that looks for a contrast goes on after its run has ended.
    """
    is_open = run.state in OPEN_STATES or (run.state == "finished" and bool(job.is_contrast))
    return is_open and job.state in OPEN_STATES


def new_attempts(
    session: Session,
    job: JobRow,
    *,
    count: int,
    kind: AttemptKind = AttemptKind.REPEAT,
    start: Start = Start.COLD,
) -> list[AttemptRow]:
    """Queue attempts of a job. As `attempts_to_store`."""
    rows = attempts_to_store(session, job, count=count, kind=kind, start=start)
    session.add_all(rows)
    return rows


def attempts_to_store(
    session: Session,
    job: JobRow,
    *,
    count: int,
    kind: AttemptKind = AttemptKind.REPEAT,
    start: Start = Start.COLD,
) -> list[AttemptRow]:
    """Attempts of a job, counted as queued. The caller stores them.

    A preview always starts warm. A repeat with a warm start may also be started cold. Only repeats count.
    """
    moment = now()
    is_preview = kind is AttemptKind.PREVIEW
    rows = [
        AttemptRow(
            id=new_id(),
            run_id=job.run_id,
            job_id=job.id,
            generation=job.generation,
            kind=kind,
            start=Start.WARM if is_preview else start,
            state="queued",
            counted=kind is AttemptKind.REPEAT,
            lease_no=0,
            leases_spent=0,
            created_at=moment,
            queued_at=moment,
        )
        for _ in range(count)
    ]
    if rows:
        count_up(session, Tally.ENQUEUED, number=len(rows))
    return rows


def cancel_attempt(session: Session, attempt: AttemptRow) -> None:
    """Cancel an attempt that has not started, and set the flag that tells a node to stop it."""
    if attempt.state in HELD_ATTEMPT_STATES and attempt.node is not None:
        outbox(session).flag_cancelled(attempt.node, attempt.id)
    if attempt.state in UNSTARTED_ATTEMPT_STATES:
        attempt.state = "cancelled"
        attempt.lease_until = None


def remove_attempt(session: Session, attempt: AttemptRow) -> None:
    """Delete a queued attempt that is not needed. One that a node has had before stays, as cancelled."""
    if attempt.lease_no == 0:
        session.delete(attempt)
    else:
        attempt.state = "cancelled"
