"""Reads waiting attempts and the durations of attempts. Each query is bounded and uses an index."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, NamedTuple, cast
from weakref import WeakKeyDictionary, ref

from sqlalchemy import ScalarSelect, Select, Subquery, Text, any_, bindparam, func, literal, select, true
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.orm import Session

from app.states import FOREGROUND, OPEN_ATTEMPT_STATES, OPEN_STATES
from app.storage.models import AttemptRow, JobRow, RunRow, ScriptRow
from app.storage.queries.queue.queue import HOLDS, Candidate, Hold, candidates
from worker.contract import AttemptKind

# Limits for the attempts and runs of others that are read. A longer queue is shown as longer.
MOST_OTHERS = 500
MOST_RUNS = 100
# The latest jobs of one script, and the latest attempts of any script.
MOST_JOBS = 40
MOST_RECENT = 60
# The beginning of a long queue is read again after so many seconds.
LONG_QUEUE_SECONDS = 1.0
# The session that reads it again, among its facts.
_READER = "reader"
# The state of the queue, among its facts.
_STATE = "state"


_OPENED = (
    select(RunRow.id)
    .where(RunRow.state.in_(OPEN_STATES))
    .order_by(RunRow.trigger.not_in(FOREGROUND), RunRow.id)
)


_SECONDS = func.extract("epoch", AttemptRow.recorded_at - AttemptRow.started_at)
_RAN = (
    AttemptRow.recorded_at.is_not(None),
    AttemptRow.started_at.is_not(None),
    AttemptRow.kind == AttemptKind.REPEAT,
)
_RECENT = (
    select(JobRow.script_digest, JobRow.target, _SECONDS.label("seconds"))
    .select_from(AttemptRow)
    .join(JobRow, JobRow.id == AttemptRow.job_id)
    .where(*_RAN)
    .order_by(AttemptRow.recorded_at.desc())
    .limit(MOST_RECENT)
)


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptDuration:
    """The seconds that an attempt took on its node, from its start to its result."""

    script: str
    target: dict[str, Any]
    seconds: float


class _Queue(NamedTuple):
    """The first open runs in the order of dispatch, and their waiting attempts."""

    run_ids: Sequence[str]
    attempts: Sequence[Candidate]
    key: Any
    read_at: float
    # Other facts that are as old.
    facts: dict[Any, Any]


# The beginning of a queue that is longer than the limits, by engine. Submissions to a service far behind
# come fast, and each asks for its place in such a queue.
_LONG_QUEUES: WeakKeyDictionary[Any, _Queue] = WeakKeyDictionary()


def waiting_attempts(
    session: Session,
    run_id: str,
    *,
    nodes: Iterable[str],
    each: int,
    late_settings: Collection[str],
    opened: Sequence[str] | None = None,
) -> tuple[list[Candidate], bool]:
    """The waiting attempts of a run and of other open ones, `each` of a cell, in the order of dispatch.

    The second value says whether there are more of others than the limits. Previews are left out. Those of
    others may be a moment old if there are more. `opened` are the first open runs, as `QueueState` has them;
    they are read if they are not known.
    """
    names = sorted(nodes)
    queue = _queue(session, names, each=each, late_settings=late_settings, opened=opened)
    of_others = [other for other in queue.run_ids if other != run_id]
    counted = {run_id, *of_others[:MOST_RUNS]}
    waiting = [one for one in queue.attempts if one.run_id in counted]
    if queue.read_at or run_id not in queue.run_ids[: MOST_RUNS + 1]:
        own = without_previews(
            candidates(session, nodes=names, of_a_job=each, late_settings=late_settings, of_runs=[run_id])
        )
    else:
        own = [one for one in waiting if one.run_id == run_id]
    others = [one for one in waiting if one.run_id != run_id]
    is_cut = len(of_others) > MOST_RUNS or len(others) > MOST_OTHERS
    return [*own, *others[:MOST_OTHERS]], is_cut


def _queue(
    session: Session,
    nodes: Sequence[str],
    *,
    each: int,
    late_settings: Collection[str],
    opened: Sequence[str] | None,
) -> _Queue:
    """The beginning of the queue, as it is now, or a moment ago if it is long."""
    key = (tuple(nodes), each, tuple(late_settings), MOST_RUNS)
    known = _long_queue(session)
    if known is not None and known.key == key:
        return known
    run_ids = list(session.scalars(_OPENED.limit(MOST_RUNS + 2))) if opened is None else opened
    attempts = without_previews(
        candidates(
            session,
            nodes=nodes,
            of_a_job=each,
            late_settings=late_settings,
            of_runs=run_ids[: MOST_RUNS + 1],
        )
    )
    queue = _Queue(run_ids, attempts, key, 0.0, {})
    # Longer than the limit for every run that may ask.
    if len(run_ids) > MOST_RUNS + 1:
        _LONG_QUEUES[session.get_bind()] = queue._replace(read_at=time.monotonic())
    return queue


def _long_queue(session: Session) -> _Queue | None:
    """The beginning of the queue as it was a moment ago, if it is long.

    When it is to be read again, one session does that. The others that ask meanwhile get the older one: else
    all submissions under way would read it at once, and all would be late.
    """
    known = _LONG_QUEUES.get(session.get_bind())
    if known is None:
        return None
    age = time.monotonic() - known.read_at
    if age >= 2 * LONG_QUEUE_SECONDS:
        return None
    if age < LONG_QUEUE_SECONDS:
        return known
    reader = known.facts.setdefault(_READER, ref(session))()
    return None if reader is session else known


def facts_beside_long_queue(session: Session) -> dict[Any, Any] | None:
    """A place for facts that may be as old as the known beginning of a long queue; None if it is not long."""
    known = _long_queue(session)
    return None if known is None else known.facts


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueState:
    """The durations of the latest attempts of any script, the attempts on nodes, and the first open runs.

    `opened` is None where it may be too old.
    """

    recent: Sequence[AttemptDuration]
    holds: Sequence[Hold]
    opened: Sequence[str] | None


def queue_state(session: Session) -> QueueState:
    """The state of the queue as it is now; beside a long one it may be a moment old."""
    facts = facts_beside_long_queue(session)
    if facts is None:
        return _read_state(session)
    if _STATE not in facts:
        facts[_STATE] = replace(_read_state(session), opened=None)
    return cast("QueueState", facts[_STATE])


def _read_state(session: Session) -> QueueState:
    recent, on_nodes, opened = session.connection().execute(_state(MOST_RUNS + 2)).one()
    return QueueState(
        recent=durations_in(recent),
        holds=[
            Hold(**{**hold, "kind": AttemptKind(hold["kind"])}, has_begun=state == "running")
            for hold, state in on_nodes or ()
        ],
        opened=opened or (),
    )


@cache
def _state(most_opened: int) -> Select[Any]:
    """One statement for all of it: each one costs a round trip."""
    opened, recent, on_nodes = _OPENED.limit(most_opened).subquery(), _RECENT.subquery(), HOLDS.subquery()
    names = ("node", "run_id", "target", "kind", "job_id", "lease_no", "submitter")
    hold = func.json_build_object(*(part for name in names for part in (literal(name), on_nodes.c[name])))
    return select(
        as_durations(recent),
        select(func.json_agg(func.json_build_array(hold, on_nodes.c.state))).scalar_subquery(),
        select(func.json_agg(opened.c.id)).scalar_subquery(),
    )


def as_durations(durations: Subquery) -> ScalarSelect[Any]:
    """The rows of durations as one value, for `durations_in`."""
    return select(
        func.json_agg(
            func.json_build_array(durations.c.script_digest, durations.c.target, durations.c.seconds)
        )
    ).scalar_subquery()


def durations_in(rows: Sequence[Any] | None) -> list[AttemptDuration]:
    """The durations in such a value."""
    return [
        AttemptDuration(script=script, target=target, seconds=float(seconds))
        for script, target, seconds in rows or ()
    ]


def without_previews(waiting: Sequence[Candidate]) -> list[Candidate]:
    """The attempts without previews, none of which is a turn of its cell."""
    previews = {one.job_id: one.attempt_id for one in waiting if one.kind is AttemptKind.PREVIEW}
    return [
        replace(one, turn=one.turn - 1) if previews.get(one.job_id, one.attempt_id) < one.attempt_id else one
        for one in waiting
        if one.kind is not AttemptKind.PREVIEW
    ]


def durations_of_scripts(session: Session, scripts: Iterable[str]) -> list[AttemptDuration]:
    """The durations of the latest attempts of these scripts, on any target."""
    digests = sorted(set(scripts))
    if not digests:
        return []
    return [
        AttemptDuration(script=row.script_digest, target=row.target, seconds=float(row.seconds))
        for row in session.execute(select_durations(), {"scripts": digests})
    ]


@cache
def select_durations() -> Select[Any]:
    """The statement of `durations_of_scripts`, with the parameter `scripts`."""
    jobs = (
        select(JobRow.id, JobRow.script_digest, JobRow.target)
        .where(JobRow.script_digest == ScriptRow.digest)
        .order_by(JobRow.id.desc())
        .limit(MOST_JOBS)
        .lateral()
    )
    return (
        select(jobs.c.script_digest, jobs.c.target, _SECONDS.label("seconds"))
        .select_from(ScriptRow)
        .join(jobs, true())
        .join(AttemptRow, AttemptRow.job_id == jobs.c.id)
        .where(ScriptRow.digest == any_(bindparam("scripts", type_=ARRAY(Text))), *_RAN)
        .limit(MOST_JOBS * 50)
    )


def open_attempts(session: Session, run_id: str) -> Sequence[AttemptRow]:
    """The attempts of a run that have not ended, oldest first."""
    query = (
        select(AttemptRow)
        .join(JobRow, JobRow.id == AttemptRow.job_id)
        .where(JobRow.run_id == run_id, AttemptRow.state.in_(OPEN_ATTEMPT_STATES))
        .order_by(AttemptRow.id)
    )
    return session.scalars(query).all()
