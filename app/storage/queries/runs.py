"""Reading and locking runs, jobs and attempts. Writers lock in one order: run, job, attempt."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import func, select
from sqlalchemy.orm import Session
from sqlalchemy.sql.elements import KeyedColumnElement

from app.ids import is_id
from app.states import OPEN_STATES, AttemptState
from app.storage.models import AttemptRow, EnvironmentRow, EventRow, JobRow, ReportRow, RunRow, ScriptRow
from worker.contract import AttemptKind, Outcome


def run_of(session: Session, run_id: str) -> RunRow | None:
    """A run."""
    return session.get(RunRow, run_id) if is_id(run_id) else None


def run_with_evidence(session: Session, digest: str) -> RunRow | None:
    """The contributed run with this evidence. Until this transaction ends nobody else gets an answer for the same."""
    session.execute(select(func.pg_advisory_xact_lock(func.hashtextextended(digest, 0))))
    return session.scalar(select(RunRow).where(RunRow.evidence_digest == digest))


def lock_run(session: Session, run_id: str) -> RunRow | None:
    """A run, locked and as it is now."""
    return (
        session.get(RunRow, run_id, with_for_update=True, populate_existing=True) if is_id(run_id) else None
    )


def lock_job(session: Session, job_id: str) -> JobRow | None:
    """A job, locked and as it is now; its run must be locked before."""
    return session.get(JobRow, job_id, with_for_update=True, populate_existing=True)


def lock_attempt(session: Session, attempt_id: str) -> AttemptRow | None:
    """An attempt, locked and as it is now; its run and job must be locked before."""
    return session.get(AttemptRow, attempt_id, with_for_update=True, populate_existing=True)


def run_and_job_of_attempt(session: Session, attempt_id: str) -> tuple[str, str] | None:
    """The run and the job of an attempt; they never change."""
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
    """The attempts of a job, oldest first, to look at."""
    return session.scalars(
        select(AttemptRow).where(AttemptRow.job_id == job_id).order_by(AttemptRow.id)
    ).all()


def attempts_of_job(session: Session, job_id: str) -> Sequence[AttemptRow]:
    """The attempts of a job, oldest first, locked and as they are now; run and job must be locked before."""
    query = select(AttemptRow).where(AttemptRow.job_id == job_id).order_by(AttemptRow.id).with_for_update()
    return session.scalars(query, execution_options={"populate_existing": True}).all()


@dataclass(frozen=True, slots=True, kw_only=True)
class Tally:
    """How many attempts of a job are alike in all that decides whether more are needed."""

    kind: AttemptKind
    state: AttemptState
    counted: bool
    outcome: Outcome | None
    number: int


def tally_of_job(session: Session, job_id: str, *, generation: int) -> list[Tally]:
    """The attempts of one generation of a job, counted; run and job must be locked before."""
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
    """Whether a job of the run is still to be judged."""
    return (
        session.scalar(
            select(JobRow.id).where(JobRow.run_id == run_id, JobRow.state.in_(OPEN_STATES)).limit(1)
        )
        is not None
    )


def environments(session: Session, digests: Iterable[str]) -> dict[str, EnvironmentRow]:
    """Environments by digest."""
    wanted = set(digests)
    if not wanted:
        return {}
    return {
        row.digest: row
        for row in session.scalars(select(EnvironmentRow).where(EnvironmentRow.digest.in_(wanted)))
    }


def scripts(session: Session, digests: Iterable[str]) -> dict[str, str]:
    """Texts of scripts by digest."""
    wanted = set(digests)
    if not wanted:
        return {}
    return {
        row.digest: row.text
        for row in session.execute(
            select(ScriptRow.digest, ScriptRow.text).where(ScriptRow.digest.in_(wanted))
        )
    }


def report_of(session: Session, report_id: str) -> ReportRow | None:
    """A report."""
    return session.get(ReportRow, report_id) if is_id(report_id) else None


# Of a report what its runs tell and what may change; the rest is long, or changes with other runs.
_LONG = {"text", "reading", "claim_text", "verdict", "attention", "verified_at"}


def short_columns() -> list[KeyedColumnElement[Any]]:
    """The other columns."""
    return [column for column in ReportRow.__table__.columns if column.name not in _LONG]


def short_report(session: Session, report_id: str) -> dict[str, Any]:
    """A report without its texts and without what stands of it; empty where there is none."""
    row = session.execute(select(*short_columns()).where(ReportRow.id == report_id)).mappings().one_or_none()
    return {} if row is None else dict(row)


def lock_report(session: Session, report_id: str) -> ReportRow | None:
    """A report, locked and as it is now; a run of it may be locked before, none after. Others may add runs to it meanwhile."""
    return (
        session.get(ReportRow, report_id, with_for_update={"key_share": True}, populate_existing=True)
        if is_id(report_id)
        else None
    )


def hold_report(session: Session, report_id: str) -> ReportRow | None:
    """A report as it is now, which nobody withdraws before this transaction ends."""
    held = {"key_share": True, "read": True}
    return (
        session.get(ReportRow, report_id, with_for_update=held, populate_existing=True)
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
