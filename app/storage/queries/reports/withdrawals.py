"""Erases what was submitted and printed, and finds what can be erased."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnClause, delete, literal_column, or_, select, update
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.orm import Session

from app.storage.models import AttemptRow, ComparisonRow, ReportRow, RunRow, ScriptRow


def report_of_secret(session: Session, digest: str) -> ReportRow | None:
    """The report that can be withdrawn with the secret of this digest."""
    return session.scalar(select(ReportRow).where(ReportRow.withdraw_digest == digest))


def run_ids(session: Session, report_id: str) -> list[str]:
    """The ids of a report's runs, oldest first."""
    return list(session.scalars(select(RunRow.id).where(RunRow.report_id == report_id).order_by(RunRow.id)))


def lock_runs(session: Session, ids: Iterable[str], *, wait: bool) -> Sequence[RunRow]:
    """These runs, locked in the order of their ids and read again."""
    query = (
        select(RunRow).where(RunRow.id.in_(list(ids))).order_by(RunRow.id).with_for_update(nowait=not wait)
    )
    return session.scalars(query, execution_options={"populate_existing": True}).all()


def delete_comparisons(session: Session, attempt_ids: Iterable[str]) -> None:
    """Delete the stored comparisons with these attempts."""
    ids = list(attempt_ids)
    session.execute(
        delete(ComparisonRow).where(or_(ComparisonRow.baseline.in_(ids), ComparisonRow.candidate.in_(ids)))
    )


def attempts_with_results(session: Session, run_id: str) -> Sequence[AttemptRow]:
    """The attempts of a run that have a result, locked. The run must be locked before."""
    query = (
        select(AttemptRow)
        .where(AttemptRow.run_id == run_id, AttemptRow.result.is_not(None))
        .order_by(AttemptRow.id)
    )
    return session.scalars(query.with_for_update(), execution_options={"populate_existing": True}).all()


def erase_scripts(session: Session, digests: Iterable[str], *, report_id: str, moment: datetime) -> list[str]:
    """Erase those of the scripts that no other report has, and return their digests.

    Someone who submits one of them at the same time waits, and then stores it again.
    """
    # Written like the index on it.
    scripts_read: ColumnClause[Any] = literal_column("(report.reading -> 'scripts')", JSONB)
    erased = []
    for digest in sorted(set(digests)):
        if (
            session.scalar(select(ScriptRow.digest).where(ScriptRow.digest == digest).with_for_update())
            is None
        ):
            continue
        others = select(ReportRow.id).where(
            scripts_read.contains([{"digest": digest}]),
            ReportRow.id != report_id,
            ReportRow.withdrawn_at.is_(None),
        )
        if session.scalar(others.limit(1)) is None:
            gone = {"text": "", "shape_digest": None, "sketch": None, "erased_at": moment}
            session.execute(update(ScriptRow).where(ScriptRow.digest == digest).values(**gone))
            erased.append(digest)
    return erased
