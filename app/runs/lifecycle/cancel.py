"""Stop a run: what waits at once, what runs by a flag that its node reads each second."""

from __future__ import annotations

from sqlalchemy.orm import Session

from app.clock import now
from app.errors import ConflictError
from app.runs.rows.by_id import get_run
from app.runs.rows.events import emit
from app.states import HELD_ATTEMPT_STATES, OPEN_STATES, UNSTARTED_ATTEMPT_STATES
from app.storage.outbox import outbox
from app.storage.queries import runs as queries


def cancel_run(session: Session, run_id: str) -> None:
    """Cancel a run that has not finished; cancelling it twice is harmless. Raises NotFoundError, ConflictError when it has finished."""
    run = get_run(session, run_id, lock=True)
    if run.state == "cancelled":
        return
    if run.state == "finished":
        raise ConflictError("The run has finished.", code="run_finished")
    jobs = queries.jobs_of_run(session, run_id, lock=True)
    attempts = queries.attempts_of_run(session, run_id, lock=True)
    for attempt in attempts:
        if attempt.state in HELD_ATTEMPT_STATES and attempt.node is not None:
            outbox(session).flag_cancelled(attempt.node, attempt.id)
        # A leased one may lie in its node's queue: the flag keeps it from starting, its state from being recorded.
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
    # Slots are free again.
    outbox(session).wake_dispatcher()
