"""Figures of the service, by one look at the database."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy.orm import Session


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """Counts at one moment. `attempts_by_outcome` holds recorded ones; enqueued, claimed, finished and lost count since the beginning."""

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


def snapshot(session: Session) -> Snapshot:
    """The figures of now."""
    raise NotImplementedError
