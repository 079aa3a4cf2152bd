"""Ends leases without a result: the attempt is queued again, or lost after too many leases."""

from __future__ import annotations

from sqlalchemy.orm import Session

from app.clock import now
from app.runs.lifecycle.settle import remove_preview, settle_job
from app.runs.rows.events import emit
from app.settings import ServiceSettings
from app.states import HELD_ATTEMPT_STATES
from app.storage.models import AttemptRow, JobRow, RunRow
from app.storage.outbox import outbox
from app.storage.queries import runs as queries
from app.storage.tallies import Tally, count
from worker.contract import AttemptKind


def end_lease(
    session: Session, run: RunRow, job: JobRow, attempt: AttemptRow, *, spent: bool, settings: ServiceSettings
) -> None:
    """Take an attempt from its node. A `spent` lease counts towards the limit.

    Run, job and attempt must be locked.
    """
    if run.state == "cancelled" or job.state == "cancelled":
        attempt.state = "cancelled"
        return
    if attempt.kind is AttemptKind.PREVIEW:
        remove_preview(session, run, job, attempt, settings=settings)
        return
    attempt.leases_spent += int(spent)
    attempt.lease_until = None
    if attempt.leases_spent >= settings.leases or attempt.lease_no >= settings.unstarted_leases:
        lose(session, run, job, attempt, settings=settings)
        return
    # The row keeps the node: the result of this lease is still accepted until another lease is given.
    attempt.state = "queued"
    attempt.queued_at = now()
    emit(session, run, "attempt.requeued", job=job.id, attempt=attempt.id)
    outbox(session).wake_dispatcher()


def lose(
    session: Session, run: RunRow, job: JobRow, attempt: AttemptRow, *, settings: ServiceSettings
) -> None:
    """Mark an attempt as lost. Its job continues without it."""
    if attempt.kind is AttemptKind.PREVIEW:
        remove_preview(session, run, job, attempt, settings=settings)
        return
    attempt.state = "lost"
    count(session, Tally.LOST)
    attempt.lease_until = None
    emit(session, run, "attempt.lost", job=job.id, attempt=attempt.id)
    settle_job(session, run, job, settings=settings)


def lock_held_attempts(
    session: Session, run_id: str
) -> tuple[RunRow | None, list[tuple[JobRow, AttemptRow]]]:
    """A run with its attempts on nodes, each with its job. All rows of the run are locked, in order."""
    run = queries.lock_run(session, run_id)
    if run is None:
        return None, []
    jobs = {job.id: job for job in queries.jobs_of_run(session, run_id, lock=True)}
    attempts = queries.attempts_of_run(session, run_id, lock=True)
    return run, [
        (jobs[attempt.job_id], attempt) for attempt in attempts if attempt.state in HELD_ATTEMPT_STATES
    ]


def void_leases(
    session: Session,
    run_id: str,
    *,
    node: str,
    keep_instance: str | None,
    only_unstarted: bool,
    settings: ServiceSettings,
) -> None:
    """End the leases that a node holds in a run. Those of `keep_instance` stay.

    The lease of a running attempt is spent.
    """
    run, held_attempts = lock_held_attempts(session, run_id)
    if run is None:
        return
    for job, attempt in held_attempts:
        if attempt.node != node or (keep_instance is not None and attempt.instance == keep_instance):
            continue
        if only_unstarted and attempt.state == "running":
            continue
        end_lease(session, run, job, attempt, spent=attempt.state == "running", settings=settings)
