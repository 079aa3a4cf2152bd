"""Reads waiting attempts and the durations of attempts. Each query is bounded and uses an index."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import func, select, true
from sqlalchemy.orm import Session

from app.states import FOREGROUND, OPEN_ATTEMPT_STATES, OPEN_STATES
from app.storage.models import AttemptRow, JobRow, RunRow, ScriptRow
from app.storage.queries.queue.queue import Candidate, candidates
from worker.contract import AttemptKind

# Limits for the attempts and runs of others that are read. A longer queue is shown as longer.
MOST_OTHERS = 500
MOST_RUNS = 100
# The latest jobs of one script, and the latest attempts of any script.
MOST_JOBS = 40
MOST_RECENT = 60


_BACKGROUND = RunRow.trigger.not_in(FOREGROUND)


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptDuration:
    """The seconds that an attempt took on its node, from its start to its result."""

    script: str
    target: dict[str, Any]
    seconds: float


def waiting_attempts(
    session: Session, run_id: str, *, nodes: Iterable[str], each: int, late_settings: Collection[str]
) -> tuple[list[Candidate], bool]:
    """The waiting attempts of a run and of other open ones, `each` of a cell, in the order of dispatch.

    The second value says whether there are more of others than the limits. Previews are left out.
    """
    opened = (
        select(RunRow.id)
        .where(RunRow.state.in_(OPEN_STATES), RunRow.id != run_id)
        .order_by(_BACKGROUND, RunRow.id)
        .limit(MOST_RUNS + 1)
    )
    run_ids = list(session.scalars(opened))
    all_waiting = candidates(
        session,
        nodes=nodes,
        of_a_job=each,
        late_settings=late_settings,
        of_runs=[run_id, *run_ids[:MOST_RUNS]],
    )
    waiting = [candidate for candidate in all_waiting if candidate.kind is not AttemptKind.PREVIEW]
    own = [candidate for candidate in waiting if candidate.run_id == run_id]
    others = [candidate for candidate in waiting if candidate.run_id != run_id]
    is_cut = len(run_ids) > MOST_RUNS or len(others) > MOST_OTHERS
    return [*own, *others[:MOST_OTHERS]], is_cut


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


def open_attempts(session: Session, run_id: str) -> Sequence[AttemptRow]:
    """The attempts of a run that have not ended, oldest first."""
    query = (
        select(AttemptRow)
        .join(JobRow, JobRow.id == AttemptRow.job_id)
        .where(JobRow.run_id == run_id, AttemptRow.state.in_(OPEN_ATTEMPT_STATES))
        .order_by(AttemptRow.id)
    )
    return session.scalars(query).all()
