"""Counts for the metrics."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from app.storage.models import AttemptRow, NodeRow, RunRow


def attempts_by_state(session: Session) -> dict[str, int]:
    """Attempts in each state."""
    return dict(session.execute(select(AttemptRow.state, func.count()).group_by(AttemptRow.state)).all())


def attempts_by_outcome(session: Session) -> dict[str, int]:
    """Recorded attempts by outcome."""
    query = select(AttemptRow.outcome, func.count()).where(AttemptRow.outcome.is_not(None)).group_by(AttemptRow.outcome)
    return {str(outcome): count for outcome, count in session.execute(query).all()}


def runs_by_state(session: Session) -> dict[str, int]:
    """Runs in each state."""
    return dict(session.execute(select(RunRow.state, func.count()).group_by(RunRow.state)).all())


def leases_given(session: Session) -> int:
    """How often an attempt was given to a node."""
    return session.scalar(select(func.coalesce(func.sum(AttemptRow.lease_no), 0))) or 0


def oldest_queued(session: Session) -> datetime | None:
    """Since when the attempt waits that waits longest."""
    return session.scalar(select(func.min(AttemptRow.queued_at)).where(AttemptRow.state == "queued"))


def nodes(session: Session, *, seen_after: datetime) -> tuple[int, int]:
    """How many nodes are known, and how many of them gave a sign of life lately and are not draining."""
    ready = func.count().filter(NodeRow.seen_at >= seen_after, ~NodeRow.draining)
    row = session.execute(select(func.count(), ready).select_from(NodeRow)).one()
    return row[0], row[1]
