"""Cancels a run: queued attempts at once, running ones by a flag that their node reads each second."""

from __future__ import annotations

from sqlalchemy.orm import Session

from app.clock import now
from app.errors import ConflictError
from app.runs.lifecycle.extra.contrast import stop_contrast
from app.runs.rows.by_id import get_run
from app.runs.rows.events import emit
from app.runs.webhooks.news import announce_end
from app.states import HELD_ATTEMPT_STATES, OPEN_STATES, UNSTARTED_ATTEMPT_STATES
from app.storage.outbox import outbox
from app.storage.queries import runs as queries


def cancel_run(session: Session, run_id: str) -> None:
    """Cancel a run. Cancelling twice is harmless. A finished run only stops to look for a contrast.

    Raises NotFoundError; ConflictError if the run has finished.
    """
    run = get_run(session, run_id, lock=True)
    if run.state == "cancelled":
        return
    if run.state == "finished":
        if stop_contrast(session, run):
            return
        raise ConflictError("The run has finished.", code="run_finished")
    jobs = queries.jobs_of_run(session, run_id, lock=True)
    attempts = queries.attempts_of_run(session, run_id, lock=True)
    for attempt in attempts:
        if attempt.state in HELD_ATTEMPT_STATES and attempt.node is not None:
            outbox(session).flag_cancelled(attempt.node, attempt.id)
        # A leased attempt may wait in the queue of its node. The flag stops it there, and its state keeps a
        # result out.
        if attempt.state in UNSTARTED_ATTEMPT_STATES:
            attempt.state = "cancelled"
            attempt.lease_until = None
            emit(session, run, "attempt.cancelled", job=attempt.job_id, attempt=attempt.id)
    for job in jobs:
        if job.state in OPEN_STATES:
            job.state = "cancelled"
    run.state = "cancelled"
    run.finished_at = now()
    emit(session, run, "run.cancelled")
    announce_end(session, run, None)
    outbox(session).wake_dispatcher()
