"""Reads and deletes changes, and reads the jobs that they are found between."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from sqlalchemy import Row, Text, column, delete, func, literal, or_, select, update, values
from sqlalchemy.orm import Session, aliased

from app.judging.judgement import INCONCLUSIVE, Verdict
from app.judging.report.change import ChangeKind
from app.judging.report.triage import TriageGroup
from app.storage.models import ChangeRow, JobRow, ReportCellRow, ReportRow, RunRow
from app.storage.queries.triage import GROUPS, group_number, in_newest_line
from app.targets.versions.release_lines import RankedToolchain

# Only the newest jobs of each cell are compared.
OF_A_CELL = 8


def judged_jobs(
    session: Session, report_id: str, *, scripts: Collection[str], without: Collection[Verdict]
) -> Sequence[JobRow]:
    """The newest judged jobs of each cell of these scripts in our finished runs, newest first."""
    place = (
        func.row_number()
        .over(partition_by=(JobRow.script_digest, JobRow.target), order_by=JobRow.id.desc())
        .label("place")
    )
    ranked = (
        select(JobRow.id, place)
        .join(RunRow, RunRow.id == JobRow.run_id)
        .where(
            RunRow.report_id == report_id,
            RunRow.contributed_by.is_(None),
            RunRow.state == "finished",
            JobRow.script_digest.in_(list(scripts)),
            JobRow.verdict.is_not(None),
            JobRow.verdict.not_in(list(without)),
        )
        .subquery()
    )
    statement = select(JobRow).where(JobRow.id.in_(select(ranked.c.id).where(ranked.c.place <= OF_A_CELL)))
    return session.scalars(statement.order_by(JobRow.id.desc())).all()


def newest_of_pair(
    session: Session, report_id: str, *, script: str, target: str, before_target: str
) -> ChangeRow | None:
    """The newest change between two targets of a report's script."""
    pair = (
        ChangeRow.script_digest == script,
        ChangeRow.target == target,
        ChangeRow.before_target == before_target,
    )
    return session.scalar(
        select(ChangeRow)
        .where(ChangeRow.report_id == report_id, *pair)
        .order_by(ChangeRow.id.desc())
        .limit(1)
    )


def removals_of(session: Session, report_id: str) -> Sequence[dict[str, Any]]:
    """The removals that the changes of a report show, newest first."""
    statement = (
        select(ChangeRow.removal)
        .where(ChangeRow.report_id == report_id, ChangeRow.removal.is_not(None))
        .order_by(ChangeRow.id.desc())
        .limit(OF_A_CELL)
    )
    return [removal for removal in session.scalars(statement) if removal is not None]


def flips_of(session: Session, report_id: str) -> Sequence[Row[ChangeRow, str]]:
    """The newest regressions and fixes of a report, newest first, each with the run of its older side.

    Both sides have verdicts of their own. That of a bisection has its own sentence and its own probability.
    """
    before, after = aliased(JobRow), aliased(JobRow)
    statement = (
        select(ChangeRow, before.run_id)
        .join(before, before.id == ChangeRow.before_job_id)
        .join(after, after.id == ChangeRow.job_id)
        .where(
            before.verdict.not_in(list(INCONCLUSIVE)),
            after.verdict.not_in(list(INCONCLUSIVE)),
            ChangeRow.report_id == report_id,
            ChangeRow.kind.in_([ChangeKind.REGRESSED, ChangeKind.FIXED]),
        )
    )
    return session.execute(statement.order_by(ChangeRow.id.desc()).limit(OF_A_CELL)).all()


def kinds_of_report(session: Session, report_id: str) -> set[ChangeKind]:
    """The kinds of the changes of a report."""
    statement = select(ChangeRow.kind).where(ChangeRow.report_id == report_id).distinct()
    return set(session.scalars(statement))


def forget_removals(session: Session, report_id: str) -> None:
    """Erase the warnings that the changes of a report quote."""
    session.execute(update(ChangeRow).where(ChangeRow.report_id == report_id).values(removal=None))


def delete_of_jobs(session: Session, job_ids: Collection[str]) -> None:
    """Delete the changes that rest on these jobs: they are no longer shown once a job is open again."""
    ids = list(job_ids)
    session.execute(delete(ChangeRow).where(or_(ChangeRow.job_id.in_(ids), ChangeRow.before_job_id.in_(ids))))


def changes(
    session: Session,
    *,
    kinds: Collection[ChangeKind],
    group: TriageGroup | None = None,
    toolchain: str = "",
    ranks: Sequence[RankedToolchain] | None = None,
    report_id: str | None = None,
    since: str | None = None,
    before: str | None = None,
    limit: int,
) -> Sequence[Row[ChangeRow, str, str | None, int]]:
    """Changes from `since` up to `before`, newest first, with the titles and URLs of their reports.

    With `ranks` only those of the newest release line that each report was tried with. The last column is the
    number of the group among those of triage.
    """
    number = group_number()
    statement = (
        select(ChangeRow, ReportRow.title, ReportRow.source_url, number.label("number"))
        .join(ReportRow, ReportRow.id == ChangeRow.report_id)
        .join(RunRow, RunRow.id == ChangeRow.run_id)
    )
    if group is not None:
        statement = statement.where(number == GROUPS.index(group))
    if kinds:
        statement = statement.where(ChangeRow.kind.in_(list(kinds)))
    if toolchain:
        statement = statement.where(ChangeRow.toolchain == toolchain)
    if ranks is not None:
        statement = statement.where(in_newest_line(ranks))
    if report_id is not None:
        statement = statement.where(ChangeRow.report_id == report_id)
    if since is not None:
        statement = statement.where(ChangeRow.id >= since)
    if before is not None:
        statement = statement.where(ChangeRow.id < before)
    return session.execute(statement.order_by(ChangeRow.id.desc()).limit(limit)).all()


def count_reports(session: Session, ranks: Sequence[RankedToolchain]) -> dict[ChangeKind, int]:
    """The number of reports with changes of each kind in the newest release line of each report."""
    statement = select(ChangeRow.kind, func.count(ChangeRow.report_id.distinct())).where(
        in_newest_line(ranks)
    )
    return dict(session.execute(statement.group_by(ChangeRow.kind)).all())


def toolchains_with(session: Session, kind: ChangeKind, ranks: Sequence[RankedToolchain]) -> Sequence[str]:
    """The toolchains that have such a change in the newest release line of its report, by name."""
    statement = select(ChangeRow.toolchain).where(ChangeRow.kind == kind, in_newest_line(ranks)).distinct()
    return sorted(session.scalars(statement))


def with_results(session: Session, toolchains: Collection[str]) -> set[str]:
    """Those of the toolchains on which a cell of a report has a verdict about its claim."""
    if not toolchains:
        return set()
    names = values(column("name", Text), name="names").data([(name,) for name in toolchains])
    decided = select(literal(1)).where(
        ReportCellRow.toolchain == names.c.name, ReportCellRow.verdict.not_in(list(INCONCLUSIVE))
    )
    return set(session.scalars(select(names.c.name).where(decided.exists())))
