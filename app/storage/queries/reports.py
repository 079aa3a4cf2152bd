"""Lists of reports and runs, newest first."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from sqlalchemy import Row, func, or_, select
from sqlalchemy.dialects.postgresql import distinct_on
from sqlalchemy.orm import Session

from app.storage.models import JobRow, ReportRow, RunRow, ScriptRow


def _like(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
    return f"%{escaped}%"


def reports(
    session: Session, *, before: str | None, limit: int, source_url: str | None = None, query: str | None = None
) -> Sequence[ReportRow]:
    """Reports older than an id; every word of the query must be in the title, the text or the address."""
    statement = select(ReportRow).order_by(ReportRow.id.desc()).limit(limit)
    if before is not None:
        statement = statement.where(ReportRow.id < before)
    if source_url is not None:
        statement = statement.where(ReportRow.source_url == source_url)
    for word in (query or "").split():
        columns = (ReportRow.title, ReportRow.text, ReportRow.source_url)
        statement = statement.where(or_(*(column.ilike(_like(word), escape="\\") for column in columns)))
    return session.scalars(statement).all()


def runs(session: Session, *, before: str | None, limit: int) -> Sequence[RunRow]:
    """Runs older than an id."""
    statement = select(RunRow).order_by(RunRow.id.desc()).limit(limit)
    if before is not None:
        statement = statement.where(RunRow.id < before)
    return session.scalars(statement).all()


def runs_of_report(session: Session, report_id: str) -> Sequence[RunRow]:
    """All runs of a report."""
    return session.scalars(select(RunRow).where(RunRow.report_id == report_id).order_by(RunRow.id.desc())).all()


def latest_runs(session: Session, report_ids: Iterable[str]) -> dict[str, RunRow]:
    """The latest run of each report by our own nodes."""
    own = (RunRow.report_id.in_(list(report_ids)), RunRow.contributed_by.is_(None))
    newest = select(func.max(RunRow.id)).where(*own).group_by(RunRow.report_id)
    statement = select(RunRow).where(RunRow.id.in_(newest))
    return {row.report_id: row for row in session.scalars(statement)}


def count_runs(session: Session, report_ids: Iterable[str]) -> dict[str, int]:
    """How many runs each report has."""
    statement = select(RunRow.report_id, func.count()).where(RunRow.report_id.in_(list(report_ids))).group_by(RunRow.report_id)
    return dict(session.execute(statement).all())


def latest_jobs(session: Session, report_id: str) -> Sequence[Row[JobRow, RunRow]]:
    """Of each script and target of a report's runs the latest job that was judged, else the latest; ours and each contributor's apart."""
    judged_first = JobRow.verdict.is_(None)
    cell = (JobRow.script_digest, JobRow.target, RunRow.contributed_by)
    statement = (
        select(JobRow, RunRow)
        .join(RunRow, RunRow.id == JobRow.run_id)
        .where(RunRow.report_id == report_id)
        .order_by(*cell, judged_first, RunRow.id.desc())
        .ext(distinct_on(*cell))
    )
    return session.execute(statement).all()


def having_main_script(session: Session, digest: str, *, limit: int) -> Sequence[ReportRow]:
    """The reports with this main script, oldest first."""
    return session.scalars(select(ReportRow).where(ReportRow.main_script == digest).order_by(ReportRow.id).limit(limit)).all()


def same_shape(session: Session, report_id: str, script: str, shape_digest: str | None, *, limit: int) -> Sequence[Row[str, str]]:
    """Ids and titles of other reports whose main script is this one, or has its shape; newest first."""
    scripts = select(ScriptRow.digest).where(or_(ScriptRow.digest == script, ScriptRow.shape_digest == shape_digest))
    statement = select(ReportRow.id, ReportRow.title).where(ReportRow.main_script.in_(scripts), ReportRow.id != report_id)
    return session.execute(statement.order_by(ReportRow.id.desc()).limit(limit)).all()


def recent_sketches(session: Session, *, limit: int) -> Sequence[Row[str, str, str, str | None, bytes | None]]:
    """Of the newest reports with a script: id, title, the script's digest, its shape and its sketch."""
    columns = (ReportRow.id, ReportRow.title, ScriptRow.digest, ScriptRow.shape_digest, ScriptRow.sketch)
    statement = select(*columns).join(ScriptRow, ScriptRow.digest == ReportRow.main_script).where(ScriptRow.sketch.is_not(None))
    return session.execute(statement.order_by(ReportRow.id.desc()).limit(limit)).all()
