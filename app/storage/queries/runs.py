"""Reads and locks runs, jobs and attempts. All writers lock in the same order: run, job, attempt."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Row, Select, func, literal, select, text, tuple_
from sqlalchemy.dialects.postgresql import JSONB, array
from sqlalchemy.orm import Session
from sqlalchemy.sql.elements import KeyedColumnElement

from app.ids import is_id
from app.states import OPEN_STATES, AttemptState
from app.storage.models import AttemptRow, EnvironmentRow, EventRow, JobRow, ReportRow, RunRow, ScriptRow
from worker.contract import AttemptKind, Outcome


def run_of(session: Session, run_id: str) -> RunRow | None:
    """The run with this id."""
    return session.get(RunRow, run_id) if is_id(run_id) else None


def run_with_evidence(session: Session, digest: str) -> RunRow | None:
    """The contributed run with this evidence.

    Until this transaction ends, others who ask for the same evidence wait.
    """
    session.execute(select(func.pg_advisory_xact_lock(func.hashtextextended(digest, 0))))
    return session.scalar(select(RunRow).where(RunRow.evidence_digest == digest))


def lock_run(session: Session, run_id: str) -> RunRow | None:
    """A run, locked and read again."""
    return (
        session.get(RunRow, run_id, with_for_update=True, populate_existing=True) if is_id(run_id) else None
    )


def lock_job(session: Session, job_id: str) -> JobRow | None:
    """A job, locked and read again. Its run must be locked before."""
    return session.get(JobRow, job_id, with_for_update=True, populate_existing=True)


def lock_attempt(session: Session, attempt_id: str) -> AttemptRow | None:
    """An attempt, locked and read again. Its run and job must be locked before."""
    return session.get(AttemptRow, attempt_id, with_for_update=True, populate_existing=True)


def run_and_job_of_attempt(session: Session, attempt_id: str) -> tuple[str, str] | None:
    """The ids of the run and the job of an attempt. They never change."""
    row = session.execute(
        select(AttemptRow.run_id, AttemptRow.job_id).where(AttemptRow.id == attempt_id)
    ).one_or_none()
    return None if row is None else (row.run_id, row.job_id)


def jobs_of_run(session: Session, run_id: str, *, lock: bool = False) -> Sequence[JobRow]:
    """The jobs of a run in the order of the plan."""
    query = select(JobRow).where(JobRow.run_id == run_id).order_by(JobRow.position)
    return session.scalars(
        query.with_for_update() if lock else query, execution_options={"populate_existing": lock}
    ).all()


def ended_cells(session: Session, job: JobRow, settings: Mapping[str, str]) -> Sequence[JobRow]:
    """The ended jobs of a job's run and script that have exactly these settings, in the order of the plan."""
    return session.scalars(
        _beside(job).where(
            JobRow.state.not_in(OPEN_STATES), JobRow.target["settings"] == literal(dict(settings), JSONB)
        )
    ).all()


def open_cells(session: Session, job: JobRow, *, names: Iterable[str]) -> Sequence[JobRow]:
    """The open jobs of a job's run and script with one of these settings. Locks them, and reads them again.

    Their run must be locked before.
    """
    has_one = JobRow.target["settings"].has_any(array(sorted(names)))
    return session.scalars(
        _beside(job).where(JobRow.state.in_(OPEN_STATES), has_one).with_for_update(),
        execution_options={"populate_existing": True},
    ).all()


def _beside(job: JobRow) -> Select[JobRow]:
    of_script = (JobRow.run_id == job.run_id, JobRow.script_digest == job.script_digest)
    return select(JobRow).where(*of_script).order_by(JobRow.position)


def contributed_toolchains(session: Session, run_ids: Iterable[str]) -> Sequence[Row[str, str]]:
    """The run and the toolchain of each job of those of these runs that were contributed, in their order."""
    statement = (
        select(JobRow.run_id, JobRow.target["toolchain"].astext)
        .join(RunRow, RunRow.id == JobRow.run_id)
        .where(JobRow.run_id.in_(list(run_ids)), RunRow.contributed_by.is_not(None))
        .order_by(JobRow.run_id, JobRow.position)
    )
    return session.execute(statement).all()


def attempts_of_run(session: Session, run_id: str, *, lock: bool = False) -> Sequence[AttemptRow]:
    """The attempts of a run, oldest first."""
    query = (
        select(AttemptRow)
        .join(JobRow, JobRow.id == AttemptRow.job_id)
        .where(JobRow.run_id == run_id)
        .order_by(AttemptRow.id)
    )
    return session.scalars(
        query.with_for_update(of=AttemptRow) if lock else query, execution_options={"populate_existing": lock}
    ).all()


def attempts_of_cell(session: Session, job_id: str) -> Sequence[AttemptRow]:
    """The attempts of a job, oldest first, without a lock."""
    return session.scalars(
        select(AttemptRow).where(AttemptRow.job_id == job_id).order_by(AttemptRow.id)
    ).all()


def attempts_of_job(session: Session, job_id: str) -> Sequence[AttemptRow]:
    """The attempts of a job, oldest first, locked and read again. Run and job must be locked before."""
    query = select(AttemptRow).where(AttemptRow.job_id == job_id).order_by(AttemptRow.id).with_for_update()
    return session.scalars(query, execution_options={"populate_existing": True}).all()


@dataclass(frozen=True, slots=True, kw_only=True)
class Tally:
    """The number of a job's attempts that are equal in all that decides whether more are needed."""

    kind: AttemptKind
    state: AttemptState
    counted: bool
    outcome: Outcome | None
    number: int


def tally_of_job(session: Session, job_id: str, *, generation: int) -> list[Tally]:
    """Count the attempts of one generation of a job. Run and job must be locked before."""
    alike = (AttemptRow.kind, AttemptRow.state, AttemptRow.counted, AttemptRow.outcome)
    query = (
        select(*alike, func.count())
        .where(AttemptRow.job_id == job_id, AttemptRow.generation == generation)
        .group_by(*alike)
    )
    return [
        Tally(kind=kind, state=state, counted=counted, outcome=outcome, number=number)
        for kind, state, counted, outcome, number in session.execute(query)
    ]


def has_open_jobs(session: Session, run_id: str) -> bool:
    """Whether the run has a job that has not ended. No run waits for one that looks for a contrast."""
    is_open = (JobRow.state.in_(OPEN_STATES), JobRow.is_contrast.is_(False))
    return session.scalar(select(JobRow.id).where(JobRow.run_id == run_id, *is_open).limit(1)) is not None


def environments(session: Session, digests: Iterable[str]) -> dict[str, EnvironmentRow]:
    """Environments by digest."""
    requested = set(digests)
    if not requested:
        return {}
    return {
        row.digest: row
        for row in session.scalars(select(EnvironmentRow).where(EnvironmentRow.digest.in_(requested)))
    }


def scripts(session: Session, digests: Iterable[str]) -> dict[str, str]:
    """Texts of scripts by digest."""
    requested = set(digests)
    if not requested:
        return {}
    return {
        row.digest: row.text
        for row in session.execute(
            select(ScriptRow.digest, ScriptRow.text).where(ScriptRow.digest.in_(requested))
        )
    }


def reports_of_runs(session: Session, run_ids: Sequence[str]) -> Sequence[ReportRow]:
    """The reports of these runs, each once, the newest last."""
    of_runs = select(RunRow.report_id).where(RunRow.id.in_(run_ids))
    return session.scalars(select(ReportRow).where(ReportRow.id.in_(of_runs)).order_by(ReportRow.id)).all()


def report_of(session: Session, report_id: str) -> ReportRow | None:
    """The report with this id."""
    return session.get(ReportRow, report_id) if is_id(report_id) else None


# Columns that are long, or that change with every run of the report.
_LEFT_OUT = {
    "text",
    "reading",
    "claim_text",
    "earlier_claims",
    "verdict",
    "attention",
    "verified_at",
    "is_canary",
}


def short_columns() -> list[KeyedColumnElement[Any]]:
    """The columns of a report that its run objects depend on."""
    return [column for column in ReportRow.__table__.columns if column.name not in _LEFT_OUT]


def short_report(session: Session, report_id: str) -> dict[str, Any]:
    """A report by column name, without its texts and its current verdict. Empty for an unknown id."""
    row = session.execute(select(*short_columns()).where(ReportRow.id == report_id)).mappings().one_or_none()
    return {} if row is None else dict(row)


def first_run(session: Session, report_id: str) -> RunRow | None:
    """The run with which a report was submitted."""
    statement = select(RunRow).where(RunRow.report_id == report_id).order_by(RunRow.id).limit(1)
    return session.scalars(statement).one_or_none()


def lock_report(session: Session, report_id: str) -> ReportRow | None:
    """A report, locked and read again. Others may still add runs to it.

    Its runs must be locked before it, never after.
    """
    return (
        session.get(ReportRow, report_id, with_for_update={"key_share": True}, populate_existing=True)
        if is_id(report_id)
        else None
    )


def hold_report(session: Session, report_id: str) -> ReportRow | None:
    """A report, read again. No one can withdraw it before this transaction ends."""
    lock = {"key_share": True, "read": True}
    return (
        session.get(ReportRow, report_id, with_for_update=lock, populate_existing=True)
        if is_id(report_id)
        else None
    )


def events_after(session: Session, run_id: str, last: int, *, limit: int) -> Sequence[EventRow]:
    """The events of a run after a number, in order."""
    query = (
        select(EventRow)
        .where(EventRow.run_id == run_id, EventRow.number > last)
        .order_by(EventRow.number)
        .limit(limit)
    )
    return session.scalars(query).all()


_EVENT_ORDER = (EventRow.transaction, EventRow.run_id, EventRow.number)
_OLDEST_OPEN = text("SELECT (pg_snapshot_xmin(pg_current_snapshot())::text)::bigint")


def oldest_open_transaction(session: Session) -> int:
    """The number of the oldest transaction that is under way and may write. All earlier ones have ended."""
    return int(session.scalar(_OLDEST_OPEN) or 0)


def events_of_all(
    session: Session, *, after: tuple[int, str, int], before: int, limit: int
) -> Sequence[EventRow]:
    """The events behind a place and of transactions before `before`, in order."""
    query = (
        select(EventRow)
        .where(EventRow.transaction < before, tuple_(*_EVENT_ORDER) > tuple_(*map(literal, after)))
        .order_by(*_EVENT_ORDER)
        .limit(limit)
    )
    return session.scalars(query).all()


def is_any_held_back(session: Session, border: int) -> bool:
    """Whether there are events of transactions from `border` on."""
    query = select(func.count()).select_from(
        select(EventRow.number).where(EventRow.transaction >= border).limit(1).subquery()
    )
    return bool(session.scalar(query))
