"""Reads and deletes canaries: runs with which the service tests itself."""

from __future__ import annotations

from sqlalchemy import delete, exists, func, select
from sqlalchemy.orm import Session, aliased

from app.states import OPEN_STATES
from app.storage.models import AttemptRow, EventRow, IdempotencyKeyRow, JobRow, ReportRow, RunRow

# An arbitrary number, the same in all processes.
ROUND_LOCK = 7_264_353


def take_turn(session: Session) -> bool:
    """Take the lock of the round until this transaction ends. False if another process has it."""
    return bool(session.scalar(select(func.pg_try_advisory_xact_lock(ROUND_LOCK))))


def newest_canary(session: Session, *, ended: bool = False) -> RunRow | None:
    """The newest canary, or with `ended` the newest that has ended."""
    statement = select(RunRow).where(RunRow.trigger == "canary").order_by(RunRow.id.desc()).limit(1)
    if ended:
        statement = statement.where(RunRow.state.not_in(OPEN_STATES))
    return session.scalar(statement)


def delete_canaries(session: Session, *, leave: int) -> None:
    """Delete ended canaries with all that belongs to them, except for the newest ones.

    No verdict of a report rests on them: one whose report somebody has run, too, stays for good.
    """
    other = aliased(RunRow)
    statement = (
        select(RunRow.id, RunRow.report_id)
        .where(
            RunRow.trigger == "canary",
            RunRow.state.not_in(OPEN_STATES),
            ~exists().where(other.report_id == RunRow.report_id, other.id != RunRow.id),
        )
        .order_by(RunRow.id.desc())
        .offset(leave)
    )
    rows = session.execute(statement.with_for_update()).all()
    runs, reports = [row.id for row in rows], [row.report_id for row in rows]
    if not runs:
        return
    session.execute(delete(IdempotencyKeyRow).where(IdempotencyKeyRow.run_id.in_(runs)))
    session.execute(delete(EventRow).where(EventRow.run_id.in_(runs)))
    session.execute(delete(AttemptRow).where(AttemptRow.run_id.in_(runs)))
    session.execute(delete(JobRow).where(JobRow.run_id.in_(runs)))
    session.execute(delete(RunRow).where(RunRow.id.in_(runs)))
    session.execute(delete(ReportRow).where(ReportRow.id.in_(reports), ReportRow.is_canary))
