"""Reads for scheduled reruns: known toolchains, due reports, and the attempts spent."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from functools import cache

from sqlalchemy import ColumnElement, Select, and_, exists, func, or_, select
from sqlalchemy.dialects.postgresql import distinct_on, insert
from sqlalchemy.orm import Session

from app.judging.judgement import Verdict
from app.judging.report.attention import Attention
from app.judging.report.change import ChangeKind
from app.states import OPEN_STATES, Trigger
from app.storage.models import AttemptRow, ChangeRow, JobRow, ReportRow, RunRow, ToolchainRow

# An arbitrary number, the same in all processes.
ROUND_LOCK = 7_264_352
MOST_BASELINES = 3
# A report with one of these columns set is closed.
ENDED = ("closed_at", "withdrawn_at")
OURS: tuple[Trigger, ...] = ("toolchain", "schedule", "baseline")
IMPORTED: tuple[Trigger, ...] = ("imported",)


def take_turn(session: Session) -> bool:
    """Take the lock of the round until this transaction ends. False if another process has it."""
    return bool(session.scalar(select(func.pg_try_advisory_xact_lock(ROUND_LOCK))))


def toolchains(session: Session) -> dict[str, datetime]:
    """The time since which each toolchain is known, by name."""
    return {row.name: row.since for row in session.scalars(select(ToolchainRow))}


def store_toolchains(session: Session, since: Mapping[str, datetime]) -> None:
    """Store the toolchains that are not known yet."""
    if since:
        rows = [{"name": name, "since": moment} for name, moment in sorted(since.items())]
        session.execute(insert(ToolchainRow).values(rows).on_conflict_do_nothing())


def is_open_report() -> ColumnElement[bool]:
    """Whether a report can be rerun: it has a script and a verdict, awaits no answer, and is open."""
    conditions = [
        ReportRow.main_script.is_not(None),
        ReportRow.attention.is_not(None),
        ReportRow.attention != Attention.ASK,
    ]
    end_columns = [getattr(ReportRow, name) for name in ENDED if hasattr(ReportRow, name)]
    return and_(*conditions, *(column.is_(None) for column in end_columns))


def due_reports(
    session: Session, *, considered: datetime, verified: datetime | None, limit: int
) -> Sequence[ReportRow]:
    """Open reports last considered before a time, and verified before another one if given.

    They are locked and come oldest first.

    Reports that another transaction has locked are skipped, and so are those with an open run.
    """
    running = exists().where(RunRow.report_id == ReportRow.id, RunRow.state.in_(OPEN_STATES))
    statement = select(ReportRow).where(ReportRow.considered_at < considered, is_open_report(), ~running)
    if verified is not None:
        statement = statement.where(ReportRow.verified_at < verified)
    statement = statement.order_by(ReportRow.verified_at.nulls_first(), ReportRow.id).limit(limit)
    return session.scalars(
        statement.with_for_update(key_share=True, skip_locked=True),
        execution_options={"populate_existing": True},
    ).all()


def without_baseline(session: Session, *, since: str, limit: int) -> Sequence[ChangeRow]:
    """Confounded changes of open reports after an id, newest first, that have no baseline run yet.

    A report gets at most MOST_BASELINES baseline runs: its changes may stay confounded.
    """
    baselines = select(func.count()).where(
        RunRow.report_id == ChangeRow.report_id, RunRow.trigger == "baseline"
    )
    baselines_since = baselines.where(RunRow.id > ChangeRow.id).scalar_subquery()
    recent_baselines = baselines.where(RunRow.id > since).scalar_subquery()
    running = exists().where(RunRow.report_id == ReportRow.id, RunRow.state.in_(OPEN_STATES))
    statement = (
        select(ChangeRow)
        .join(ReportRow, ReportRow.id == ChangeRow.report_id)
        .where(ChangeRow.kind == ChangeKind.CONFOUNDED, ChangeRow.id > since, is_open_report(), ~running)
        .where(baselines_since == 0, recent_baselines < MOST_BASELINES)
    )
    return session.scalars(statement.order_by(ChangeRow.id.desc()).limit(limit)).all()


def count_open(session: Session, triggers: Collection[Trigger]) -> int:
    """The number of open runs with these triggers."""
    return session.scalar(select_count_open(frozenset(triggers))) or 0


@cache
def select_count_open(triggers: frozenset[Trigger]) -> Select[int]:
    """The statement of `count_open`."""
    return (
        select(func.count())
        .select_from(RunRow)
        .where(RunRow.state.in_(OPEN_STATES), RunRow.trigger.in_(sorted(triggers)))
    )


def attempts_spent(session: Session, *, since: str) -> int:
    """The attempts of scheduled runs after an id. Open runs count with all attempts that they may have."""
    of_ours = (RunRow.id > since, RunRow.trigger.in_(OURS))
    attempts = (
        select(func.count())
        .select_from(AttemptRow)
        .join(JobRow, JobRow.id == AttemptRow.job_id)
        .join(RunRow, RunRow.id == JobRow.run_id)
    )
    done = session.scalar(attempts.where(*of_ours, RunRow.state.not_in(OPEN_STATES))) or 0
    planned = (
        select(func.sum(RunRow.repeats_at_most)).select_from(JobRow).join(RunRow, RunRow.id == JobRow.run_id)
    )
    return done + (session.scalar(planned.where(*of_ours, RunRow.state.in_(OPEN_STATES))) or 0)


def ran_on(session: Session, report_id: str, *, without: Collection[Verdict]) -> Sequence[JobRow]:
    """The newest job of each target in runs of our own nodes, except for those with one of these verdicts."""
    conclusive = or_(JobRow.verdict.is_(None), JobRow.verdict.not_in(list(without)))
    own = (RunRow.report_id == report_id, RunRow.contributed_by.is_(None), RunRow.state != "cancelled")
    statement = select(JobRow).join(RunRow, RunRow.id == JobRow.run_id).where(*own, conclusive)
    return session.scalars(
        statement.order_by(JobRow.target, JobRow.id.desc()).ext(distinct_on(JobRow.target))
    ).all()
