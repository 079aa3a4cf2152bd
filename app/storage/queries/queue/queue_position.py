"""Reads waiting cells and the durations of attempts. Each query is bounded and uses an index."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import func, select, true
from sqlalchemy.orm import Session

from app.states import FOREGROUND, HELD_ATTEMPT_STATES, OPEN_ATTEMPT_STATES, OPEN_STATES
from app.storage.models import AttemptRow, JobRow, RunRow, ScriptRow
from worker.contract import AttemptKind

# Limits for the cells and runs of others that are read. A longer queue is shown as longer.
MOST_OTHERS = 500
MOST_RUNS = 100
# The latest jobs of one script, and the latest attempts of any script.
MOST_JOBS = 40
MOST_RECENT = 60


_BACKGROUND = RunRow.trigger.not_in(FOREGROUND)


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitingCell:
    """A job with no attempt on a node yet. A `background` cell comes after all cells of submitted runs."""

    run_id: str
    job_id: str
    target: dict[str, Any]
    background: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptDuration:
    """The seconds that an attempt took on its node, from its start to its result."""

    script: str
    target: dict[str, Any]
    seconds: float


def is_background_run(session: Session, run_id: str) -> bool:
    """Whether a run is a background run. False for a run that is not stored."""
    return bool(session.scalar(select(_BACKGROUND).where(RunRow.id == run_id)))


def waiting_cells_of_others(session: Session, run_id: str, *, each: int) -> tuple[list[WaitingCell], bool]:
    """The waiting cells of other open runs, at most `each` of a run, and whether there are more."""
    opened = (
        select(RunRow.id)
        .where(RunRow.state.in_(OPEN_STATES), RunRow.id != run_id)
        .order_by(_BACKGROUND, RunRow.id)
        .limit(MOST_RUNS + 1)
    )
    run_ids = list(session.scalars(opened))
    runs = (
        select(RunRow.id, _BACKGROUND.label("background"))
        .where(RunRow.id.in_(run_ids[:MOST_RUNS]))
        .subquery()
    )
    cells = (
        select(JobRow.id, JobRow.target, JobRow.position)
        .where(JobRow.run_id == runs.c.id, JobRow.state == "queued")
        .order_by(JobRow.position)
        .limit(each)
        .lateral()
    )
    query = select(runs.c.id.label("run_id"), runs.c.background, cells.c.id, cells.c.target).join(
        cells, true()
    )
    # In the order of dispatch: the first cells of each run first.
    rows = (
        session.execute(
            query.order_by(runs.c.background, cells.c.position, runs.c.id).limit(MOST_OTHERS + 1)
        ).all()
        if run_ids
        else []
    )
    waiting = [
        WaitingCell(run_id=row.run_id, job_id=row.id, target=row.target, background=row.background)
        for row in rows[:MOST_OTHERS]
    ]
    return waiting, len(run_ids) > MOST_RUNS or len(rows) > MOST_OTHERS


_SECONDS = func.extract("epoch", AttemptRow.recorded_at - AttemptRow.started_at)
_RAN = (
    AttemptRow.recorded_at.is_not(None),
    AttemptRow.started_at.is_not(None),
    AttemptRow.kind == AttemptKind.REPEAT,
)


def durations_of_scripts(session: Session, scripts: Iterable[str]) -> list[AttemptDuration]:
    """The durations of the latest attempts of these scripts, on any target."""
    digests = sorted(set(scripts))
    if not digests:
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
        .where(ScriptRow.digest.in_(digests), *_RAN)
        .limit(MOST_JOBS * 50)
    )
    return [
        AttemptDuration(script=row.script_digest, target=row.target, seconds=float(row.seconds))
        for row in session.execute(query)
    ]


def recent_durations(session: Session) -> list[AttemptDuration]:
    """The durations of the latest attempts of any script."""
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


def held_attempts(session: Session) -> tuple[dict[str, int], dict[str, int]]:
    """The number of held attempts by node, and by run."""
    query = select(AttemptRow.node, AttemptRow.run_id, func.count()).where(
        AttemptRow.state.in_(HELD_ATTEMPT_STATES), AttemptRow.node.is_not(None)
    )
    nodes, runs = Counter[str](), Counter[str]()
    for node, run_id, number in session.execute(query.group_by(AttemptRow.node, AttemptRow.run_id)):
        nodes[str(node)] += number
        runs[run_id] += number
    return nodes, runs


def open_attempts(session: Session, run_id: str) -> Sequence[AttemptRow]:
    """The attempts of a run that have not ended, oldest first."""
    query = (
        select(AttemptRow)
        .join(JobRow, JobRow.id == AttemptRow.job_id)
        .where(JobRow.run_id == run_id, AttemptRow.state.in_(OPEN_ATTEMPT_STATES))
        .order_by(AttemptRow.id)
    )
    return session.scalars(query).all()
