"""Reads and locks quarantines, and finds the runs that rest on a quarantined thing."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import ColumnElement, Row, Select, and_, func, literal_column, or_, select
from sqlalchemy.orm import Session, aliased

from app.judging.judgement import Verdict
from app.states import HELD_ATTEMPT_STATES, OPEN_STATES, QuarantineKind
from app.storage.models import AttemptRow, JobRow, NodeRow, QuarantineRow, RunRow, ScriptRow

# Dispatchers share this lock, and quarantining takes it alone. So no attempt is dispatched while a quarantine
# starts.
ADVISORY_LOCK = 0x5A3E_0001


def exclusive_lock(session: Session) -> None:
    """Until this transaction ends, no one else can change a quarantine and nothing is dispatched."""
    session.execute(select(func.pg_advisory_xact_lock(ADVISORY_LOCK)))


def share_lock(session: Session) -> None:
    """Until this transaction ends, no one can change a quarantine."""
    session.execute(select(func.pg_advisory_xact_lock_shared(ADVISORY_LOCK)))


def active(session: Session) -> Sequence[QuarantineRow]:
    """The quarantines that are not lifted, oldest first."""
    return session.scalars(
        select(QuarantineRow).where(QuarantineRow.lifted_at.is_(None)).order_by(QuarantineRow.id)
    ).all()


ACTIVE_NAMES = select(QuarantineRow.kind, QuarantineRow.name).where(QuarantineRow.lifted_at.is_(None))


def active_names(session: Session) -> Sequence[Row[QuarantineKind, str]]:
    """The kinds and the names of what is quarantined."""
    return session.execute(ACTIVE_NAMES).all()


def active_of(session: Session, kind: QuarantineKind, name: str) -> QuarantineRow | None:
    """The quarantine of a thing, None if it is not quarantined."""
    mine = (QuarantineRow.kind == kind, QuarantineRow.name == name, QuarantineRow.lifted_at.is_(None))
    return session.scalar(select(QuarantineRow).where(*mine))


def lock(session: Session, quarantine_id: str) -> QuarantineRow | None:
    """A quarantine, locked and as it is now."""
    return session.get(QuarantineRow, quarantine_id, with_for_update=True, populate_existing=True)


def page(session: Session, *, before: str | None, limit: int) -> Sequence[QuarantineRow]:
    """Quarantines older than an id, newest first, lifted ones too."""
    statement = select(QuarantineRow).order_by(QuarantineRow.id.desc()).limit(limit)
    return session.scalars(statement if before is None else statement.where(QuarantineRow.id < before)).all()


def with_pending(session: Session) -> Sequence[str]:
    """The ids of quarantines with runs that are still to be reopened."""
    return session.scalars(
        select(QuarantineRow.id)
        .where(QuarantineRow.pending != literal_column("'{}'"))
        .order_by(QuarantineRow.id)
    ).all()


def is_known(session: Session, kind: QuarantineKind, name: str) -> bool:
    """Whether such a node, toolchain or script exists or has existed."""
    match kind:
        case "node":
            return session.get(NodeRow, name) is not None
        case "script":
            return session.get(ScriptRow, name) is not None
        case "toolchain":
            offered = (
                select(NodeRow.name).where(NodeRow.hello.contains({"toolchains": [{"name": name}]})).limit(1)
            )
            return (
                session.scalar(offered) is not None
                or session.scalar(select(JobRow.id).where(_of_toolchain(name)).limit(1)) is not None
            )


def _of_toolchain(name: str) -> ColumnElement[bool]:
    """Jobs on a toolchain, with or without added packages. Written like the index on it."""
    base: ColumnElement[str] = literal_column("split_part(job.target ->> 'toolchain', '+', 1)")
    toolchain = JobRow.target["toolchain"].astext
    return and_(
        base == name.partition("+")[0],
        or_(toolchain == name, toolchain.startswith(f"{name}+", autoescape=True)),
    )


def _rests_on(kind: QuarantineKind, name: str) -> ColumnElement[bool]:
    match kind:
        case "node":
            return AttemptRow.node == name
        case "toolchain":
            return _of_toolchain(name)
        case "script":
            return JobRow.script_digest == name


def _of_runs(kind: QuarantineKind, name: str) -> Select[str]:
    """Our own runs that can be reopened, joined with those of their attempts that rest on the thing."""
    return (
        select(AttemptRow.run_id)
        .join(JobRow, JobRow.id == AttemptRow.job_id)
        .join(RunRow, RunRow.id == AttemptRow.run_id)
        .where(
            _rests_on(kind, name),
            RunRow.contributed_by.is_(None),
            RunRow.withdrawn_record.is_(None),
            RunRow.state != "cancelled",
        )
    )


def runs_resting_on(
    session: Session, kind: QuarantineKind, name: str, *, since: datetime | None
) -> list[str]:
    """The ids of runs with evidence or held attempts that rest on a thing, in order.

    With `since`, all evidence from that time on counts. Without it, only that of open runs and of the current
    run of each report counts.
    """
    newer = aliased(RunRow)
    superseded = (
        select(newer.id)
        .where(
            newer.report_id == RunRow.report_id,
            newer.id > RunRow.id,
            newer.contributed_by.is_(None),
            newer.verdict.is_not(None),
            newer.verdict != Verdict.NO_RESULT,
        )
        .exists()
    )
    in_doubt = (
        or_(RunRow.state.in_(OPEN_STATES), ~superseded) if since is None else AttemptRow.recorded_at >= since
    )
    evidence = _of_runs(kind, name).where(AttemptRow.state == "recorded", AttemptRow.counted, in_doubt)
    on_nodes = _of_runs(kind, name).where(AttemptRow.state.in_(HELD_ATTEMPT_STATES))
    return sorted({*session.scalars(evidence.distinct()), *session.scalars(on_nodes.distinct())})
