"""Counts for the metrics."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from app.storage.models import AttemptRow, NodeRow, RunRow


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptFigures:
    """The numbers of attempts by state and of recorded ones by outcome, and the number of leases."""

    by_state: dict[str, int]
    by_outcome: dict[str, int]
    leases: int


def attempts(session: Session) -> AttemptFigures:
    """Count all attempts, with an index only."""
    alike = (AttemptRow.state, AttemptRow.outcome, AttemptRow.lease_no)
    by_state, by_outcome, leases = Counter[str](), Counter[str](), 0
    for state, outcome, lease_no, count in session.execute(select(*alike, func.count()).group_by(*alike)):
        by_state[state] += count
        leases += lease_no * count
        if outcome is not None:
            by_outcome[str(outcome)] += count
    return AttemptFigures(by_state=dict(by_state), by_outcome=dict(by_outcome), leases=leases)


def runs_by_state(session: Session) -> dict[str, int]:
    """Runs in each state."""
    return dict(session.execute(select(RunRow.state, func.count()).group_by(RunRow.state)).all())


def oldest_queued(session: Session) -> datetime | None:
    """The time since which the oldest queued attempt waits."""
    return session.scalar(select(func.min(AttemptRow.queued_at)).where(AttemptRow.state == "queued"))


def nodes(session: Session, *, seen_after: datetime) -> tuple[int, int]:
    """The number of nodes, and of those that were seen after a time and are not draining."""
    ready = func.count().filter(NodeRow.seen_at >= seen_after, ~NodeRow.draining)
    row = session.execute(select(func.count(), ready).select_from(NodeRow)).one()
    return row[0], row[1]
