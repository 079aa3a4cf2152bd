"""What wants attention: reports in groups, each with when its verdict was last seen to hold."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy.orm import Session

from app.errors import InputError
from app.ids import is_id
from app.judging.judgement import Verdict
from app.judging.report.attention import Attention
from app.storage.models import ReportRow
from app.storage.queries.reports import attention as queries


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitingReport:
    """A report in a group."""

    id: str
    title: str
    source_url: str | None
    verdict: Verdict | None
    verified_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """The first reports of a group, and how many there are; `next_cursor` is None where these are the last."""

    attention: Attention
    size: int
    reports: tuple[WaitingReport, ...]
    next_cursor: str | None


def groups(session: Session, *, each: int) -> list[Group]:
    """Every group that has a report, in the order in which they want attention."""
    sizes = queries.sizes(session)
    return [
        _group(session, attention, size=sizes[attention], after=None, limit=each)
        for attention in Attention
        if sizes.get(attention)
    ]


def group(session: Session, attention: Attention, *, cursor: str | None, limit: int) -> Group:
    """A page of one group. Raises InputError for a cursor that is none."""
    if cursor is not None and not is_id(cursor):
        raise InputError("This cursor is not one of ours.", code="bad_cursor", field="cursor")
    return _group(
        session, attention, size=queries.sizes(session).get(attention, 0), after=cursor, limit=limit
    )


def _group(session: Session, attention: Attention, *, size: int, after: str | None, limit: int) -> Group:
    rows = queries.reports_in(session, attention, after=after, limit=limit + 1)
    shown = rows[:limit]
    cursor = shown[-1].id if len(rows) > limit else None
    return Group(attention=attention, size=size, reports=tuple(map(_waiting, shown)), next_cursor=cursor)


def _waiting(row: ReportRow) -> WaitingReport:
    return WaitingReport(
        id=row.id,
        title=row.title,
        source_url=row.source_url,
        verdict=row.verdict,
        verified_at=row.verified_at,
    )
