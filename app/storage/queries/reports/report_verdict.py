"""Reads what the current verdict of a report rests on: its judged runs, and the latest job of each cell."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from sqlalchemy import select
from sqlalchemy.dialects.postgresql import distinct_on
from sqlalchemy.orm import Session

from app.judging.judgement import Verdict
from app.storage.models import AttemptRow, JobRow, ReportRow, RunRow
from app.storage.queries.reports.precedence import gives_way


def ended_runs(session: Session, report_id: str) -> Sequence[RunRow]:
    """The runs of a report that have a verdict, newest first."""
    return session.scalars(
        select(RunRow)
        .where(RunRow.report_id == report_id, RunRow.verdict.is_not(None))
        .order_by(RunRow.id.desc())
    ).all()


def runs_that_saw(
    session: Session, report_id: str, verdicts: Collection[Verdict], *, before: str, limit: int
) -> Sequence[RunRow]:
    """Our own finished runs of a report with these verdicts and before this run, newest first.

    A run that a maintainer overruled is none of them.
    """
    return session.scalars(
        select(RunRow)
        .where(
            RunRow.report_id == report_id,
            RunRow.contributed_by.is_(None),
            RunRow.state == "finished",
            RunRow.verdict.in_(list(verdicts)),
            RunRow.overruled.is_(None),
            RunRow.id < before,
        )
        .order_by(RunRow.id.desc())
        .limit(limit)
    ).all()


def latest_judged_jobs(session: Session, report_id: str, *, without: Collection[Verdict]) -> Sequence[JobRow]:
    """The latest judged job of each script and target in our own finished runs, without these verdicts.

    A job of a bisection replaces only what it contradicts.
    """
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
        .order_by(*cell, gives_way(cell), RunRow.id.desc())
        .ext(distinct_on(*cell))
    )
    return session.scalars(statement).all()


def attempts_of_jobs(session: Session, job_ids: Collection[str]) -> Sequence[AttemptRow]:
    """The attempts of these jobs, oldest first."""
    return session.scalars(
        select(AttemptRow).where(AttemptRow.job_id.in_(job_ids)).order_by(AttemptRow.id)
    ).all()


def report_ids(session: Session, *, after: str, limit: int) -> Sequence[str]:
    """The ids of reports after an id, in order, without canaries."""
    return session.scalars(
        select(ReportRow.id)
        .where(ReportRow.id > after, ReportRow.is_canary.is_(False))
        .order_by(ReportRow.id)
        .limit(limit)
    ).all()
