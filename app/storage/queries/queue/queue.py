"""Reads and locks the queue: waiting attempts, attempts on nodes, and expired leases."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from typing import Any

from sqlalchemy import (
    BindParameter,
    Exists,
    Integer,
    Row,
    ScalarSelect,
    Select,
    Text,
    all_,
    and_,
    any_,
    bindparam,
    exists,
    func,
    or_,
    select,
    true,
    update,
)
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.orm import Session, aliased
from sqlalchemy.sql.selectable import LateralFromClause

from app.states import FOREGROUND, HELD_ATTEMPT_STATES, OPEN_STATES
from app.storage.models import AttemptRow, JobRow, ReportRow, RunRow, ScriptRow
from worker.contract import AttemptKind

# Attempts of one run that are read in a round. No fleet takes more at once.
PER_RUN = 400
MOST_CANDIDATES = 2000
_RUNS_WITH_PREVIEWS = (
    select(AttemptRow.run_id)
    .where(AttemptRow.state == "queued", AttemptRow.kind == AttemptKind.PREVIEW)
    .order_by(AttemptRow.id)
    .limit(MOST_CANDIDATES)
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A queued attempt with the facts that decide which node may get it."""

    attempt_id: str
    job_id: str
    run_id: str
    node: str | None
    target: dict[str, Any]
    queued_at: datetime
    kind: AttemptKind = AttemptKind.REPEAT
    # A background run comes after all submitted runs, and so does a cell that looks for a contrast.
    background: bool = False
    # A canary comes before all other runs.
    is_canary: bool = False
    # The number of leases that it has had.
    lease_no: int = 0
    # The number of attempts of its job before it, begun or queued.
    turn: int = 0
    # Whether an attempt of its run has begun, other than a preview.
    run_has_begun: bool = False
    # The id of the token that started the run; None without one.
    submitter: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Hold:
    """An attempt on a node."""

    node: str
    run_id: str
    target: dict[str, Any]
    kind: AttemptKind = AttemptKind.REPEAT
    job_id: str = ""
    lease_no: int = 1
    submitter: str | None = None
    # Whether the node has begun it. Each node also has one attempt that waits for a slot.
    has_begun: bool = False


def candidates(
    session: Session,
    *,
    nodes: Iterable[str],
    of_a_job: int = PER_RUN,
    without_scripts: Iterable[str] = (),
    late_settings: Collection[str] = (),
    of_runs: Collection[str] | None = None,
) -> list[Candidate]:
    """Queued attempts that are free or bound to one of these nodes, in the order of dispatch.

    A canary comes first, then submitted runs. Runs take turns, and so do the cells of a run, cheap ones
    first: each has its first attempt before one has its second. Repeats of cells with one of `late_settings`
    come last. The attempts of a job are alike, so at most `of_a_job` of each are read. `of_runs` limits the
    runs.
    """
    excluded = list(without_scripts)
    values = {
        "nodes": list(nodes),
        "of_a_job": of_a_job,
        "late_settings": sorted(late_settings),
        **({} if of_runs is None else {"runs": list(of_runs)}),
        **({"scripts": excluded} if excluded else {}),
    }
    query = _candidates(limits_runs=of_runs is not None, excludes_scripts=bool(excluded))
    # Equal targets become one object, so that whoever goes through a long queue reads each of them once.
    targets: dict[str, dict[str, Any]] = {}
    return [
        _candidate(row, targets.setdefault(repr(row.target), row.target))
        for row in session.execute(query, values)
    ]


@cache
def _candidates(*, limits_runs: bool, excludes_scripts: bool) -> Select[Any]:
    """The statement of `candidates`. It is built once: that takes longer than its execution."""
    waiting = _waiting_attempts(bindparam("of_a_job", type_=Integer))
    background = or_(RunRow.trigger.not_in(FOREGROUND), JobRow.is_contrast).label("background")
    is_canary = (RunRow.trigger == "canary").label("is_canary")
    turn = _begun_attempts() + waiting.c.place
    late_settings = bindparam("late_settings", type_=ARRAY(Text))
    is_late = and_(JobRow.target["settings"].has_any(late_settings), turn > 0)
    rank = (
        func.row_number()
        .over(partition_by=JobRow.run_id, order_by=(is_late, turn, JobRow.position, waiting.c.id))
        .label("rank")
    )
    nodes = bindparam("nodes", type_=ARRAY(Text))
    ranked_jobs = (
        select(
            waiting.c.id,
            JobRow.id.label("job_id"),
            JobRow.run_id,
            waiting.c.kind,
            waiting.c.lease_no,
            waiting.c.queued_at,
            JobRow.node,
            JobRow.target,
            turn.label("turn"),
            _run_has_begun().label("run_has_begun"),
            RunRow.submitter,
            rank,
            background,
            is_canary,
        )
        .select_from(JobRow)
        .join(waiting, true())
        .join(RunRow, RunRow.id == JobRow.run_id)
        .where(JobRow.state.in_(OPEN_STATES), or_(JobRow.node.is_(None), JobRow.node == any_(nodes)))
    )
    if limits_runs:
        ranked_jobs = ranked_jobs.where(JobRow.run_id == any_(bindparam("runs", type_=ARRAY(Text))))
    if excludes_scripts:
        scripts = bindparam("scripts", type_=ARRAY(Text))
        ranked_jobs = ranked_jobs.where(JobRow.script_digest != all_(scripts))
    ranked = ranked_jobs.subquery()
    turns = (ranked.c.is_canary.desc(), ranked.c.background, ranked.c.rank, ranked.c.run_id)
    return select(ranked).where(ranked.c.rank <= PER_RUN).order_by(*turns).limit(MOST_CANDIDATES)


# The attempts on nodes.
HOLDS = (
    select(
        AttemptRow.node,
        AttemptRow.run_id,
        AttemptRow.kind,
        AttemptRow.job_id,
        AttemptRow.lease_no,
        AttemptRow.state,
        JobRow.target,
        RunRow.submitter,
    )
    .join(JobRow, JobRow.id == AttemptRow.job_id)
    .join(RunRow, RunRow.id == AttemptRow.run_id)
    .where(AttemptRow.state.in_(HELD_ATTEMPT_STATES), AttemptRow.node.is_not(None))
)


def runs_with_previews(session: Session) -> Sequence[str]:
    """The runs of which a preview waits, oldest first."""
    return session.scalars(_RUNS_WITH_PREVIEWS).all()


def _waiting_attempts(most: BindParameter[int]) -> LateralFromClause:
    """The queued attempts of a job, `most` at most, each with its place among them."""
    place = func.row_number().over(order_by=AttemptRow.id) - 1
    return (
        select(
            AttemptRow.id, AttemptRow.kind, AttemptRow.lease_no, AttemptRow.queued_at, place.label("place")
        )
        .where(AttemptRow.job_id == JobRow.id, AttemptRow.state == "queued")
        .order_by(AttemptRow.id)
        .limit(most)
        .lateral()
    )


def _begun_attempts() -> ScalarSelect[int]:
    """The number of attempts of a job that are no longer queued, without previews."""
    return (
        select(func.count())
        .select_from(AttemptRow)
        .where(
            AttemptRow.job_id == JobRow.id,
            AttemptRow.generation == JobRow.generation,
            AttemptRow.state != "queued",
            AttemptRow.kind != AttemptKind.PREVIEW,
        )
        .correlate(JobRow)
        .scalar_subquery()
    )


def _run_has_begun() -> Exists:
    """Whether an attempt of a run is or was on a node, other than a preview."""
    others = aliased(JobRow)
    return exists().where(others.run_id == RunRow.id, others.node.is_not(None)).correlate(RunRow)


def _candidate(row: Row[Any], target: dict[str, Any]) -> Candidate:
    return Candidate(
        attempt_id=row.id,
        job_id=row.job_id,
        run_id=row.run_id,
        node=row.node,
        target=target,
        queued_at=row.queued_at,
        kind=row.kind,
        background=row.background,
        is_canary=row.is_canary,
        lease_no=row.lease_no,
        turn=row.turn,
        run_has_begun=row.run_has_begun,
        submitter=row.submitter,
    )


def holds(session: Session) -> list[Hold]:
    """All attempts on nodes."""
    rows = session.execute(HOLDS)
    return [
        Hold(
            node=row.node,
            run_id=row.run_id,
            target=row.target,
            kind=row.kind,
            job_id=row.job_id,
            lease_no=row.lease_no,
            submitter=row.submitter,
            has_begun=row.state == "running",
        )
        for row in rows
    ]


def claims_of_jobs(session: Session, job_ids: Collection[str]) -> list[tuple[str, str, Any]]:
    """The id, the script and the claim of each of these jobs."""
    if not job_ids:
        return []
    query = (
        select(JobRow.id, ScriptRow.text, ReportRow.reading["claim"])
        .join(ScriptRow, ScriptRow.digest == JobRow.script_digest)
        .join(RunRow, RunRow.id == JobRow.run_id)
        .join(ReportRow, ReportRow.id == RunRow.report_id)
        .where(JobRow.id.in_(job_ids))
    )
    return [(job_id, script, claim) for job_id, script, claim in session.execute(query)]


def lock_queued(session: Session, attempt_ids: Iterable[str]) -> dict[str, tuple[RunRow, JobRow, AttemptRow]]:
    """Those of the attempts that are still queued and not locked, with their runs and jobs.

    Locks all three.
    """
    ids = list(attempt_ids)
    places = session.execute(select(AttemptRow.run_id, AttemptRow.job_id).where(AttemptRow.id.in_(ids))).all()
    fresh = {"populate_existing": True}
    run_query = select(RunRow).where(RunRow.id.in_({place.run_id for place in places})).order_by(RunRow.id)
    runs = {
        row.id: row
        for row in session.scalars(run_query.with_for_update(skip_locked=True), execution_options=fresh)
    }
    job_query = (
        select(JobRow)
        .where(JobRow.id.in_({place.job_id for place in places}), JobRow.run_id.in_(runs))
        .order_by(JobRow.id)
    )
    jobs = {
        row.id: row
        for row in session.scalars(job_query.with_for_update(skip_locked=True), execution_options=fresh)
    }
    attempt_query = select(AttemptRow).where(
        AttemptRow.id.in_(ids), AttemptRow.state == "queued", AttemptRow.job_id.in_(jobs)
    )
    attempts = session.scalars(
        attempt_query.order_by(AttemptRow.id).with_for_update(skip_locked=True), execution_options=fresh
    )
    return {row.id: (runs[row.run_id], jobs[row.job_id], row) for row in attempts}


def extend_leases(
    session: Session, *, node: str, instance: str, running: Sequence[str], until: datetime, before: datetime
) -> None:
    """Extend those leases of a node's running attempts that end before a time. Never waits for a lock."""
    mine = (
        select(AttemptRow.id)
        .where(
            AttemptRow.id.in_(running),
            AttemptRow.node == node,
            AttemptRow.instance == instance,
            AttemptRow.state.in_(HELD_ATTEMPT_STATES),
            AttemptRow.lease_until < before,
        )
        .order_by(AttemptRow.id)
        .with_for_update(skip_locked=True)
    )
    session.execute(
        update(AttemptRow)
        .where(AttemptRow.id.in_(mine))
        .values(lease_until=until)
        .execution_options(synchronize_session=False)
    )


def runs_with_expired_leases(session: Session, *, moment: datetime) -> list[str]:
    """The runs with an expired lease."""
    query = (
        select(AttemptRow.run_id)
        .where(AttemptRow.state.in_(HELD_ATTEMPT_STATES), AttemptRow.lease_until < moment)
        .distinct()
    )
    return sorted(session.scalars(query))


def runs_held_by(session: Session, *, node: str, other_than: str | None = None) -> list[str]:
    """The runs with attempts on a node. With `other_than`, only leases of its other instances count."""
    query = (
        select(AttemptRow.run_id)
        .where(AttemptRow.state.in_(HELD_ATTEMPT_STATES), AttemptRow.node == node)
        .distinct()
    )
    if other_than is not None:
        query = query.where(AttemptRow.instance != other_than)
    return sorted(session.scalars(query))


def queued_jobs(session: Session) -> list[JobRow]:
    """The jobs with queued attempts."""
    waiting = select(AttemptRow.job_id).where(AttemptRow.state == "queued").distinct()
    return list(
        session.scalars(select(JobRow).where(JobRow.id.in_(waiting)).order_by(JobRow.run_id, JobRow.id))
    )


def held_of_cancelled_runs(session: Session) -> list[tuple[str, str]]:
    """Node and id of attempts that run although their run or their job was cancelled."""
    query = (
        select(AttemptRow.node, AttemptRow.id)
        .join(RunRow, RunRow.id == AttemptRow.run_id)
        .join(JobRow, JobRow.id == AttemptRow.job_id)
        .where(
            AttemptRow.state.in_(HELD_ATTEMPT_STATES),
            or_(RunRow.state == "cancelled", JobRow.state == "cancelled"),
            AttemptRow.node.is_not(None),
        )
    )
    return [(row.node, row.id) for row in session.execute(query)]


def runs_on_cards(session: Session, checks: Sequence[str]) -> Sequence[str]:
    """Runs with counted attempts that rest on one of these checks of cards, in order."""
    query = (
        select(AttemptRow.run_id)
        .where(AttemptRow.cards.overlap(list(checks)), AttemptRow.counted)
        .distinct()
        .order_by(AttemptRow.run_id)
    )
    return session.scalars(query).all()
