"""Reads bisections with their runs."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import Row, select
from sqlalchemy.orm import Session

from app.storage.models import BisectionRow, RunRow


def bisection_of(session: Session, bisection_id: str) -> Row[BisectionRow, RunRow] | None:
    """A bisection with its run."""
    query = (
        select(BisectionRow, RunRow)
        .join(RunRow, RunRow.id == BisectionRow.id)
        .where(BisectionRow.id == bisection_id)
    )
    return session.execute(query).one_or_none()


def bisections_of_report(
    session: Session, report_id: str, *, before: str | None, limit: int
) -> Sequence[Row[BisectionRow, RunRow]]:
    """The bisections of a report that are older than an id, newest first."""
    query = (
        select(BisectionRow, RunRow)
        .join(RunRow, RunRow.id == BisectionRow.id)
        .where(BisectionRow.report_id == report_id)
    )
    if before is not None:
        query = query.where(BisectionRow.id < before)
    return session.execute(query.order_by(BisectionRow.id.desc()).limit(limit)).all()
