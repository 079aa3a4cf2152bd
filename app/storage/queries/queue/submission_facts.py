"""Reads what a submission is planned with, in one statement: each one costs a round trip."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from typing import Any

from sqlalchemy import Select, func, select
from sqlalchemy.orm import Session

from app.states import QuarantineKind
from app.storage.queries.queue.nodes import PRESENT
from app.storage.queries.queue.quarantines import ACTIVE_NAMES
from app.storage.queries.queue.queue_position import (
    AttemptDuration,
    as_durations,
    durations_in,
    select_durations,
)
from app.storage.queries.rerun import IMPORTED, select_count_open


@dataclass(frozen=True, slots=True, kw_only=True)
class SubmissionFacts:
    """Nodes, quarantines, and earlier attempts of the same scripts.

    Each node that was seen lately has its name and the JSON of its last hello. `unawaited` is the number of
    open runs that nobody awaits, None if it was not asked for.
    """

    hellos: Sequence[tuple[str, str]]
    quarantined: Sequence[tuple[QuarantineKind, str]]
    of_scripts: Sequence[AttemptDuration]
    unawaited: int | None


def submission_facts(
    session: Session, *, scripts: Iterable[str], seen_since: datetime, counts_unawaited: bool
) -> SubmissionFacts:
    """The facts for a submission with these scripts."""
    row = (
        session.connection()
        .execute(
            _statement(counts_unawaited=counts_unawaited),
            {"scripts": sorted(set(scripts)), "seen_since": seen_since},
        )
        .one()
    )
    return SubmissionFacts(
        hellos=sorted((name, hello) for name, hello in row.hellos or ()),
        quarantined=[(kind, name) for kind, name in row.quarantined or ()],
        of_scripts=durations_in(row.of_scripts),
        unawaited=row.unawaited if counts_unawaited else None,
    )


@cache
def _statement(*, counts_unawaited: bool) -> Select[Any]:
    present, active = PRESENT.subquery(), ACTIVE_NAMES.subquery()
    parts = [
        _pairs(present.c.name, present.c.hello).label("hellos"),
        _pairs(active.c.kind, active.c.name).label("quarantined"),
        as_durations(select_durations().subquery()).label("of_scripts"),
    ]
    if counts_unawaited:
        parts.append(select_count_open(frozenset(IMPORTED)).scalar_subquery().label("unawaited"))
    return select(*parts)


def _pairs(first: Any, second: Any) -> Any:
    """The pairs of two columns as one value."""
    return select(func.json_agg(func.json_build_array(first, second))).scalar_subquery()
