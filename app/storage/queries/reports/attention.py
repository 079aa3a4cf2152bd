"""Reads the reports of an attention group, the latest verified first."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

from sqlalchemy import func, select, tuple_
from sqlalchemy.orm import Session, load_only

from app.judging.report.attention import Attention
from app.storage.models import ReportRow

_SHOWN = (
    ReportRow.id,
    ReportRow.title,
    ReportRow.source_url,
    ReportRow.verdict,
    ReportRow.attention,
    ReportRow.verified_at,
    ReportRow.confirmed_at,
)
# To count the reports of groups takes longer with each report. So groups of together more than this are
# counted again only after so many seconds.
MANY, MANY_SECONDS = 1_000, 5.0


class _Sizes(NamedTuple):
    of_groups: Mapping[Attention, int]
    counted_at: float


# The sizes of many reports, by engine.
_MANY: WeakKeyDictionary[Any, _Sizes] = WeakKeyDictionary()


def reports_in(
    session: Session, attention: Attention, *, after: str | None, limit: int
) -> Sequence[ReportRow]:
    """The reports of a group after one of them, without their texts."""
    statement = (
        select(ReportRow)
        .options(load_only(*_SHOWN, raiseload=True))
        .where(ReportRow.attention == attention, ReportRow.verified_at.is_not(None))
    )
    if after is not None:
        place = select(ReportRow.verified_at, ReportRow.id).where(ReportRow.id == after).scalar_subquery()
        statement = statement.where(tuple_(ReportRow.verified_at, ReportRow.id) < place)
    return session.scalars(
        statement.order_by(ReportRow.verified_at.desc(), ReportRow.id.desc()).limit(limit)
    ).all()


def sizes(session: Session) -> Mapping[Attention, int]:
    """The number of reports in each group. If they are many, it may be some seconds old."""
    engine = session.get_bind()
    known = _MANY.get(engine)
    if known is not None and time.monotonic() - known.counted_at < MANY_SECONDS:
        return known.of_groups
    counted = _count(session)
    if sum(counted.values()) > MANY:
        _MANY[engine] = _Sizes(counted, time.monotonic())
    return counted


def _count(session: Session) -> dict[Attention, int]:
    statement = (
        select(ReportRow.attention, func.count())
        .where(ReportRow.attention.is_not(None))
        .group_by(ReportRow.attention)
    )
    return {attention: count for attention, count in session.execute(statement) if attention is not None}
