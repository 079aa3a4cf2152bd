"""What stands of a report: its row, the runs that ended, and the latest word of each cell by our own nodes."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from sqlalchemy import select
from sqlalchemy.dialects.postgresql import distinct_on
from sqlalchemy.orm import Session

from app.judging.judgement import Verdict
from app.storage.models import AttemptRow, JobRow, ReportRow, RunRow


def ended_runs(session: Session, report_id: str) -> Sequence[RunRow]:
    """The runs of a report that have a verdict, newest first."""
    return session.scalars(
        select(RunRow)
        .where(RunRow.report_id == report_id, RunRow.verdict.is_not(None))
        .order_by(RunRow.id.desc())
    ).all()


def latest_judged_jobs(session: Session, report_id: str, *, without: Collection[Verdict]) -> Sequence[JobRow]:
    """Of each script and target the latest judged job of a run of ours that ended, but for those with one of these verdicts."""
    cell = (JobRow.script_digest, JobRow.target)
    statement = (
        select(JobRow)
        .join(RunRow, RunRow.id == JobRow.run_id)
        .where(
            RunRow.report_id == report_id,
            RunRow.contributed_by.is_(None),
            RunRow.state == "finished",
            JobRow.verdict.is_not(None),
            JobRow.verdict.not_in(list(without)),
        )
        .order_by(*cell, RunRow.id.desc())
        .ext(distinct_on(*cell))
    )
    return session.scalars(statement).all()


def attempts_of_jobs(session: Session, job_ids: Collection[str]) -> Sequence[AttemptRow]:
    """The attempts of these jobs, oldest first."""
    return session.scalars(
        select(AttemptRow).where(AttemptRow.job_id.in_(job_ids)).order_by(AttemptRow.id)
    ).all()


def report_ids(session: Session, *, after: str, limit: int) -> Sequence[str]:
    """Ids of reports behind one, in order."""
    return session.scalars(
        select(ReportRow.id).where(ReportRow.id > after).order_by(ReportRow.id).limit(limit)
    ).all()
