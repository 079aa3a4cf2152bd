"""Metrics of the service, read from the database."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from sqlalchemy.orm import Session

from app.clock import now
from app.storage.queries import figures


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """The metrics at one moment.

    `attempts_by_outcome` counts recorded attempts. `enqueued`, `claimed`, `finished` and `lost` are totals
    since the beginning.
    """

    attempts_by_state: dict[str, int]
    attempts_by_outcome: dict[str, int]
    runs_by_state: dict[str, int]
    queue_length: int
    oldest_queued_seconds: float
    nodes_ready: int
    nodes_known: int
    enqueued: int
    claimed: int
    finished: int
    lost: int


READY_SECONDS = 30.0


def snapshot(session: Session) -> Snapshot:
    """The current metrics."""
    moment = now()
    attempts = figures.attempts(session)
    by_state = attempts.by_state
    oldest = figures.oldest_queued(session)
    known, ready = figures.nodes(session, seen_after=moment - timedelta(seconds=READY_SECONDS))
    return Snapshot(
        attempts_by_state=by_state,
        attempts_by_outcome=attempts.by_outcome,
        runs_by_state=figures.runs_by_state(session),
        queue_length=by_state.get("queued", 0),
        oldest_queued_seconds=0.0 if oldest is None else max(0.0, (moment - oldest).total_seconds()),
        nodes_ready=ready,
        nodes_known=known,
        enqueued=sum(by_state.values()),
        claimed=attempts.leases,
        finished=by_state.get("recorded", 0),
        lost=by_state.get("lost", 0),
    )
