"""The events of a run, numbered without gaps under the lock of its row.

The broker only announces that there are new ones.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, cast, get_args

from sqlalchemy.orm import Session

from app.clock import now
from app.runs.rows.by_id import get_run
from app.states import OPEN_STATES
from app.storage.models import EventRow, RunRow
from app.storage.outbox import outbox
from app.storage.queries import runs as queries
from app.storage.tallies import Tally, count

EventKind = Literal[
    "run.created",
    "attempt.leased",
    "attempt.started",
    "attempt.recorded",
    "attempt.requeued",
    "attempt.lost",
    "attempt.cancelled",
    "attempt.withdrawn",
    "job.restarted",
    "job.judged",
    "change.found",
    "claim.corrected",
    "job.added",
    "job.cancelled",
    "run.finished",
    "run.reopened",
    "run.cancelled",
]

EVENT_KINDS: tuple[str, ...] = get_args(EventKind)


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One event: its number in the run, its kind, and the ids it is about (`job`, `attempt`, …).

    No untrusted text.
    """

    number: int
    kind: EventKind
    ids: dict[str, str]


def emit(session: Session, run: RunRow, kind: EventKind, **ids: str) -> None:
    """Store the next event of a run. Its row must be locked.

    Nothing is stored after the last event of a run, unless the run is opened again.
    """
    if run.state in {"finished", "cancelled"} and kind not in {
        "run.created",
        "change.found",
        "claim.corrected",
        "run.finished",
        "run.cancelled",
    }:
        return
    count(session, Tally.EVENTS, kind)
    run.last_event += 1
    session.add(
        EventRow(
            run_id=run.id, number=run.last_event, kind=kind, ids={"run": run.id, **ids}, created_at=now()
        )
    )
    outbox(session).poke(run.id, run.last_event)


def events_after(session: Session, run_id: str, last: int = 0, *, limit: int = 500) -> list[Event]:
    """The events after number `last`, in order. Raises NotFoundError for an unknown run.

    The channel `run_channel(run_id)` of `app.storage.broker` announces new events after each commit. The last
    event of a run is `run.finished` or `run.cancelled`.
    """
    get_run(session, run_id)
    rows = queries.events_after(session, run_id, last, limit=limit)
    return [Event(number=row.number, kind=cast("EventKind", row.kind), ids=row.ids) for row in rows]


def is_over(session: Session, run_id: str) -> bool:
    """Whether a run has had its last event, or does not exist."""
    run = queries.run_of(session, run_id)
    return run is None or run.state not in OPEN_STATES
