"""The counters and times of `/metrics` that belong to the whole service.

A transaction adds rows of its own, so that no two transactions wait for one another. They are counted if and
only if the transaction commits, and stay when what they counted is withdrawn or erased.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from sqlalchemy import func, select, text
from sqlalchemy.orm import Session

from app.storage.models import TallyRow

KEY = "tallies"
# With fewer rows than this there is no need to sum them.
ROWS_BEFORE_SUMMING = 2000
# The upper bounds of the buckets of times, in seconds.
BUCKETS = (0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 60.0, 120.0, 300.0, 600.0, 1800.0, 3600.0)
_ROWS_AT_ONCE = 50_000
# One statement for all rows of a transaction: each statement costs more than a row.
_INSERT = text(
    "INSERT INTO tally (name, label, number, seconds) SELECT * FROM unnest(CAST(:names AS text[]),"
    " CAST(:labels AS text[]), CAST(:numbers AS bigint[]), CAST(:seconds AS double precision[]))"
)


class Tally(StrEnum):
    """The names of the counters."""

    ENQUEUED = "attempts_enqueued"
    CLAIMED = "attempts_claimed"
    FINISHED = "attempts_finished"
    LOST = "attempts_lost"
    OUTCOMES = "attempts_recorded"
    LEASES_RUN_OUT = "leases_run_out"
    REFUSALS = "node_messages_refused"
    EVENTS = "events"
    VERDICTS = "verdicts"
    QUEUE_TIME = "queue_seconds"
    RUN_TIME = "run_seconds"
    JUDGING_TIME = "judging_seconds"


@dataclass(frozen=True, slots=True)
class Sum:
    """The total of one counter with one label."""

    number: int
    seconds: float


def count(session: Session, name: Tally, label: str = "", *, number: int = 1) -> None:
    """Add to a counter, if the transaction commits."""
    _add(session, name, label, number=number, seconds=0.0)


def observe(session: Session, name: Tally, seconds: float) -> None:
    """Add a time to a histogram, if the transaction commits."""
    label = next((f"{bound:g}" for bound in BUCKETS if seconds <= bound), "+Inf")
    _add(session, name, label, number=1, seconds=max(0.0, seconds))


def _add(session: Session, name: Tally, label: str, *, number: int, seconds: float) -> None:
    parts = session.info.setdefault(KEY, defaultdict(lambda: [0, 0.0]))
    part = parts[name, label]
    part[0] += number
    part[1] += seconds


def take(session: Session) -> list[dict[str, Any]]:
    """Remove and return the parts of this transaction so far, for whoever writes them, as rows."""
    parts = session.info.pop(KEY, None) or {}
    return [
        {"name": name.value, "label": label, "number": number, "seconds": seconds}
        for (name, label), (number, seconds) in parts.items()
    ]


def store_tallies(session: Session) -> None:
    """Write the parts of this transaction that nobody has written. Call it before the commit."""
    rows = take(session)
    if rows:
        session.connection().execute(
            _INSERT,
            {
                "names": [row["name"] for row in rows],
                "labels": [row["label"] for row in rows],
                "numbers": [row["number"] for row in rows],
                "seconds": [row["seconds"] for row in rows],
            },
        )


def drop_tallies(session: Session) -> None:
    """Forget the parts of a transaction that was rolled back."""
    session.info.pop(KEY, None)


def read_tallies(session: Session) -> dict[tuple[str, str], Sum]:
    """All totals, by name and label."""
    rows = session.execute(
        select(TallyRow.name, TallyRow.label, func.sum(TallyRow.number), func.sum(TallyRow.seconds)).group_by(
            TallyRow.name, TallyRow.label
        )
    )
    return {(name, label): Sum(int(number), float(seconds)) for name, label, number, seconds in rows}


def sum_tallies(session: Session, *, rows_before: int = ROWS_BEFORE_SUMMING) -> bool:
    """Replace many rows by their sums, in one statement. False if there were too few rows."""
    if session.scalar(
        select(func.count()).select_from(select(TallyRow.id).limit(rows_before).subquery())
    ) != (rows_before):
        return False
    session.execute(
        text(
            "WITH gone AS (DELETE FROM tally WHERE id IN"
            " (SELECT id FROM tally ORDER BY id LIMIT :most FOR UPDATE SKIP LOCKED)"
            " RETURNING name, label, number, seconds)"
            " INSERT INTO tally (name, label, number, seconds)"
            " SELECT name, label, sum(number), sum(seconds) FROM gone GROUP BY name, label"
        ),
        {"most": _ROWS_AT_ONCE},
    )
    return True
