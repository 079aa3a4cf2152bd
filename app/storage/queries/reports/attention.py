"""Reads the reports of an attention group, the latest verified first."""

from __future__ import annotations

from collections.abc import Sequence

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
)


def reports_in(
    session: Session, attention: Attention, *, after: str | None, limit: int
) -> Sequence[ReportRow]:
    """The reports of a group after one of them, without their texts."""
    statement = (
        select(ReportRow)
        .options(load_only(*_SHOWN))
        .where(ReportRow.attention == attention, ReportRow.verified_at.is_not(None))
    )
    if after is not None:
        place = select(ReportRow.verified_at, ReportRow.id).where(ReportRow.id == after).scalar_subquery()
        statement = statement.where(tuple_(ReportRow.verified_at, ReportRow.id) < place)
    return session.scalars(
        statement.order_by(ReportRow.verified_at.desc(), ReportRow.id.desc()).limit(limit)
    ).all()


def sizes(session: Session) -> dict[Attention, int]:
    """The number of reports in each group."""
    statement = (
        select(ReportRow.attention, func.count())
        .where(ReportRow.attention.is_not(None))
        .group_by(ReportRow.attention)
    )
    return {attention: count for attention, count in session.execute(statement) if attention is not None}
