"""What happened in a run, numbered without gaps under the run's row lock; the broker only says that there is more."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from sqlalchemy.orm import Session

EventKind = Literal[
    "run.created",
    "attempt.leased",
    "attempt.started",
    "attempt.recorded",
    "attempt.requeued",
    "attempt.lost",
    "attempt.cancelled",
    "job.restarted",
    "job.judged",
    "run.finished",
    "run.cancelled",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One event: its number in the run, what happened, and to which ids (`job`, `attempt`, …). No bytes of anyone."""

    number: int
    kind: EventKind
    ids: dict[str, str]


def events_after(session: Session, run_id: str, last: int = 0, *, limit: int = 500) -> list[Event]:
    """The events after number `last`, in order. Raises NotFoundError for an unknown run. `run_channel(run_id)` of
    `app.storage.broker` is poked after each commit that adds some; a run's last event is `run.finished` or `run.cancelled`."""
    raise NotImplementedError
