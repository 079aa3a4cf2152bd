"""Counts for the metrics."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from app.storage.models import AttemptRow, RunRow


def attempts_by_state(session: Session) -> dict[str, int]:
    """Attempts in each state, with an index only."""
    return dict(session.execute(select(AttemptRow.state, func.count()).group_by(AttemptRow.state)).all())


def runs_by_state(session: Session) -> dict[str, int]:
    """Runs in each state."""
    return dict(session.execute(select(RunRow.state, func.count()).group_by(RunRow.state)).all())


def oldest_queued(session: Session) -> datetime | None:
    """The time since which the oldest queued attempt waits."""
    return session.scalar(select(func.min(AttemptRow.queued_at)).where(AttemptRow.state == "queued"))
