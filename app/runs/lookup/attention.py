"""Reports that need attention, in groups. Each has the time when its verdict was last verified."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy.orm import Session

from app.judging.judgement import Verdict
from app.judging.report.attention import Attention
from app.runs.rows.page import page
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
    """A page of the reports of a group; `size` is the number of all its reports."""

    attention: Attention
    size: int
    reports: tuple[WaitingReport, ...]
    next_cursor: str | None


def groups(session: Session, *, each: int) -> list[Group]:
    """Every group that has a report, the most urgent group first, with at most `each` reports."""
    sizes = queries.sizes(session)
    return [
        _group(session, attention, size=sizes[attention], cursor=None, limit=each)
        for attention in Attention
        if sizes.get(attention)
    ]


def group(session: Session, attention: Attention, *, cursor: str | None, limit: int) -> Group:
    """A page of one group. Raises InputError for a bad cursor or limit."""
    return _group(
        session, attention, size=queries.sizes(session).get(attention, 0), cursor=cursor, limit=limit
    )


def _group(session: Session, attention: Attention, *, size: int, cursor: str | None, limit: int) -> Group:
    def read(after: str | None, most: int) -> Sequence[ReportRow]:
        return queries.reports_in(session, attention, after=after, limit=most)

    reports = page(read, cursor=cursor, limit=limit)
    return Group(
        attention=attention,
        size=size,
        reports=tuple(map(_waiting_report, reports.items)),
        next_cursor=reports.next_cursor,
    )


def _waiting_report(row: ReportRow) -> WaitingReport:
    return WaitingReport(
        id=row.id,
        title=row.title,
        source_url=row.source_url,
        verdict=row.verdict,
        verified_at=row.verified_at,
    )
