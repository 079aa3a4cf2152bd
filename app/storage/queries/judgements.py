"""Reads the finished runs that can be judged again, and the reports that can be read again."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import select
from sqlalchemy.orm import Session

from app.storage.models import ReportRow, RunRow


def finished_runs(session: Session, *, report_id: str | None, after: str | None, limit: int) -> Sequence[str]:
    """The ids of finished runs that were not withdrawn: after an id, oldest first, of one report or all."""
    statement = (
        select(RunRow.id)
        .where(RunRow.state == "finished", RunRow.withdrawn_record.is_(None))
        .order_by(RunRow.id)
        .limit(limit)
    )
    if report_id is not None:
        statement = statement.where(RunRow.report_id == report_id)
    if after is not None:
        statement = statement.where(RunRow.id > after)
    return session.scalars(statement).all()


def reports(session: Session, *, report_id: str | None, after: str | None, limit: int) -> Sequence[str]:
    """The ids of reports that were not withdrawn: after an id, oldest first; or only one of them."""
    statement = (
        select(ReportRow.id).where(ReportRow.withdrawn_at.is_(None)).order_by(ReportRow.id).limit(limit)
    )
    if report_id is not None:
        statement = statement.where(ReportRow.id == report_id)
    if after is not None:
        statement = statement.where(ReportRow.id > after)
    return session.scalars(statement).all()
