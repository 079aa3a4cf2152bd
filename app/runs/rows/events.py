"""The events of a run, numbered without gaps under the lock of its row.

The broker only announces that there are new ones.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal, NamedTuple, Self, cast, get_args

from sqlalchemy.orm import Session

from app.clock import now
from app.errors import InputError
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
    "contrast.changed",
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
        "contrast.changed",
    }:
        return
    session.add(_next_event(session, run, kind, **ids))


def first_event(session: Session, run: RunRow) -> EventRow:
    """The first event of a new run, to be stored with it."""
    return _next_event(session, run, "run.created")


def _next_event(session: Session, run: RunRow, kind: EventKind, **ids: str) -> EventRow:
    count(session, Tally.EVENTS, kind)
    run.last_event += 1
    outbox(session).poke(run.id, run.last_event)
    return EventRow(
        run_id=run.id, number=run.last_event, kind=kind, ids={"run": run.id, **ids}, created_at=now()
    )


def events_after(session: Session, run_id: str, last: int = 0, *, limit: int = 500) -> list[Event]:
    """The events after number `last`, in order. Raises NotFoundError for an unknown run.

    The channel `run_channel(run_id)` of `app.storage.broker` announces new events after each commit. The last
    event of a run is `run.finished` or `run.cancelled`. Only notes about an ended run come after it.
    """
    get_run(session, run_id)
    rows = queries.events_after(session, run_id, last, limit=limit)
    return [Event(number=row.number, kind=cast("EventKind", row.kind), ids=row.ids) for row in rows]


def is_over(session: Session, run_id: str) -> bool:
    """Whether a run has had its last event, or does not exist."""
    run = queries.run_of(session, run_id)
    return run is None or run.state not in OPEN_STATES


# Events of all runs have one order, for a stream that can be resumed. Transactions are committed in any
# order, so a reader would pass over a number from a sequence. Here the order is that of the transactions, and
# a reader sees only events of transactions before which none is under way: nothing comes later that belongs
# before what was read.
MOST_EVENTS = 500
_PLACE = re.compile(r"([0-9]{1,18})-([A-Za-z0-9]{1,40})-([0-9]{1,9})")


class Place(NamedTuple):
    """The place of an event among those of all runs: its transaction, its run, its number there."""

    transaction: int
    run_id: str
    number: int

    def __str__(self) -> str:
        return f"{self.transaction}-{self.run_id}-{self.number}"

    @classmethod
    def parse(cls, text: str) -> Self:
        """A place that we wrote."""
        transaction, run_id, number = text.split("-")
        return cls(int(transaction), run_id, int(number))


# Before every event.
START = Place(0, "0", 0)


def place_of(text: str) -> Place:
    """The place that a caller names. Raises InputError."""
    match = _PLACE.fullmatch(text)
    if match is None:
        raise InputError(
            "since is the `id` of an event of this stream, or 0 for all events.",
            code="bad_since",
            field="since",
        )
    return Place.parse(text)


def newest_place(session: Session) -> Place:
    """A place behind every event that can be read now."""
    return Place(max(queries.oldest_open_transaction(session) - 1, 0), "z", 0)


def events_of_all(session: Session, last: Place) -> tuple[list[tuple[Place, Event]], bool]:
    """The next events after a place, in order, and whether events are held back. No more than MOST_EVENTS.

    They are held back while an earlier transaction is under way.

    Raises InputError if the place is of another database, for example from before a backup was restored.
    """
    border = queries.oldest_open_transaction(session)
    if last.transaction > border:
        raise InputError(
            "This place is of another history of this service. Leave since out, or send 0.",
            code="unknown_place",
            field="since",
        )
    rows = queries.events_of_all(session, after=last, before=border, limit=MOST_EVENTS)
    events = [
        (
            Place(row.transaction, row.run_id, row.number),
            Event(number=row.number, kind=cast("EventKind", row.kind), ids=row.ids),
        )
        for row in rows
    ]
    return events, not events and queries.is_any_held_back(session, border)
