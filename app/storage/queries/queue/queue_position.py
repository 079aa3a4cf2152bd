"""What waits and how long attempts took lately: bounded looks, each by an index, however much is kept."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from sqlalchemy import func, select, true
from sqlalchemy.orm import Session

from app.states import HELD_ATTEMPT_STATES, OPEN_STATES
from app.storage.models import AttemptRow, JobRow, RunRow, ScriptRow
from worker.contract import AttemptKind

# Of other runs: a longer line is told as longer.
MOST_OTHERS = 500
MOST_RUNS = 100
# Of one script, the latest jobs; and the latest attempts of any.
MOST_JOBS = 40
MOST_RECENT = 60


_UNAWAITED = RunRow.occasion != "submitted"


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitingCell:
    """A job with no attempt on a node yet. `unawaited` cells come after all cells of submitted runs."""

    run_id: str
    job_id: str
    target: dict[str, Any]
    unawaited: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptDuration:
    """The seconds that an attempt took on its node, from its start to its result."""

    script: str
    target: dict[str, Any]
    seconds: float


def is_unawaited(session: Session, run_id: str) -> bool:
    """Whether nobody waits for a run; of one that is not stored, no."""
    return bool(session.scalar(select(_UNAWAITED).where(RunRow.id == run_id)))


def waiting_of_others(session: Session, run_id: str, *, each: int) -> tuple[list[WaitingCell], bool]:
    """Waiting cells of other runs that are open, at most so many of each; and whether there are more than were looked at."""
    opened = (
        select(RunRow.id)
        .where(RunRow.state.in_(OPEN_STATES), RunRow.id != run_id)
        .order_by(_UNAWAITED, RunRow.id)
        .limit(MOST_RUNS + 1)
    )
    found = list(session.scalars(opened))
    runs = select(RunRow.id, _UNAWAITED.label("unawaited")).where(RunRow.id.in_(found[:MOST_RUNS])).subquery()
    cells = (
        select(JobRow.id, JobRow.target, JobRow.position)
        .where(JobRow.run_id == runs.c.id, JobRow.state == "queued")
        .order_by(JobRow.position)
        .limit(each)
        .lateral()
    )
    query = select(runs.c.id.label("run_id"), runs.c.unawaited, cells.c.id, cells.c.target).join(
        cells, true()
    )
    # Each run's first ones first, as they are given out.
    rows = (
        session.execute(
            query.order_by(runs.c.unawaited, cells.c.position, runs.c.id).limit(MOST_OTHERS + 1)
        ).all()
        if found
        else []
    )
    waiting = [
        WaitingCell(run_id=row.run_id, job_id=row.id, target=row.target, unawaited=row.unawaited)
        for row in rows[:MOST_OTHERS]
    ]
    return waiting, len(found) > MOST_RUNS or len(rows) > MOST_OTHERS


_SECONDS = func.extract("epoch", AttemptRow.recorded_at - AttemptRow.started_at)
_RAN = (
    AttemptRow.recorded_at.is_not(None),
    AttemptRow.started_at.is_not(None),
    AttemptRow.kind == AttemptKind.REPEAT,
)


def took(session: Session, scripts: Iterable[str]) -> list[AttemptDuration]:
    """How long the latest attempts of these scripts took, on whichever target."""
    wanted = sorted(set(scripts))
    if not wanted:
        return []
    jobs = (
        select(JobRow.id, JobRow.script_digest, JobRow.target)
        .where(JobRow.script_digest == ScriptRow.digest)
        .order_by(JobRow.id.desc())
        .limit(MOST_JOBS)
        .lateral()
    )
    query = (
        select(jobs.c.script_digest, jobs.c.target, _SECONDS.label("seconds"))
        .select_from(ScriptRow)
        .join(jobs, true())
        .join(AttemptRow, AttemptRow.job_id == jobs.c.id)
        .where(ScriptRow.digest.in_(wanted), *_RAN)
        .limit(MOST_JOBS * 50)
    )
    return [
        AttemptDuration(script=row.script_digest, target=row.target, seconds=float(row.seconds))
        for row in session.execute(query)
    ]


def took_lately(session: Session) -> list[AttemptDuration]:
    """How long the latest attempts of anyone took."""
    query = (
        select(JobRow.script_digest, JobRow.target, _SECONDS.label("seconds"))
        .select_from(AttemptRow)
        .join(JobRow, JobRow.id == AttemptRow.job_id)
        .where(*_RAN)
        .order_by(AttemptRow.recorded_at.desc())
        .limit(MOST_RECENT)
    )
    return [
        AttemptDuration(script=row.script_digest, target=row.target, seconds=float(row.seconds))
        for row in session.execute(query)
    ]


def at_work(session: Session) -> tuple[dict[str, int], dict[str, int]]:
    """How many attempts each node holds, and how many of each run are held."""
    query = select(AttemptRow.node, AttemptRow.run_id, func.count()).where(
        AttemptRow.state.in_(HELD_ATTEMPT_STATES), AttemptRow.node.is_not(None)
    )
    nodes, runs = Counter[str](), Counter[str]()
    for node, run_id, number in session.execute(query.group_by(AttemptRow.node, AttemptRow.run_id)):
        nodes[str(node)] += number
        runs[run_id] += number
    return nodes, runs
