"""Reports that need attention, in groups. Each has the time when its verdict was last verified."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
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
    is_confirmed: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """A page of the reports of a group; `size` is the number of all its reports."""

    attention: Attention
    size: int
    reports: tuple[WaitingReport, ...]
    next_cursor: str | None
    # Whether some reports are not listed, because they have a place of their own.
    is_cut: bool = False


def groups(session: Session, *, each: int, without: Collection[str] = ()) -> list[Group]:
    """Every group that has a report, the most urgent group first, with at most `each` reports.

    Reports of the ids in `without` are counted and not listed, because they have a place of their own.
    """
    sizes = queries.sizes(session)
    every = [
        _group(session, attention, size=sizes[attention], cursor=None, limit=each + len(without))
        for attention in Attention
        if sizes.get(attention)
    ]
    return [_first(group, each=each, without=without) for group in every]


def _first(group: Group, *, each: int, without: Collection[str]) -> Group:
    others = [report for report in group.reports if report.id not in without]
    listed = tuple(others[:each])
    is_all = len(others) == len(listed) and group.next_cursor is None
    return replace(
        group,
        reports=listed,
        is_cut=len(others) < len(group.reports),
        next_cursor=None if is_all or not listed else listed[-1].id,
    )


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
        is_confirmed=row.confirmed_at is not None,
    )
