"""Find what died: leases of nodes that fell silent, jobs bound to a node that is gone, flags that were lost on the way."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import timedelta

import structlog
from sqlalchemy.orm import Session, sessionmaker

from app.clock import now
from app.runs.lifecycle.dispatch import living
from app.runs.lifecycle.doubt import reopen_pending
from app.runs.lifecycle.leases import end_lease, locked_job_attempts, lose
from app.runs.lifecycle.settle import restart_job
from app.runs.rows.quarantined_parts import held_back
from app.settings import ServiceSettings
from app.states import HELD_ATTEMPT_STATES, OPEN_STATES
from app.storage.broker import Broker
from app.storage.models import NodeRow
from app.storage.outbox import outbox
from app.storage.queries import runs as queries
from app.storage.queries.queue import nodes as node_queries
from app.storage.queries.queue import quarantines, queue
from app.targets.fleet import can_serve
from app.targets.target import Target, target_of
from worker.contract import Heartbeat, Hello

log = structlog.get_logger(__name__)


def reap(factory: sessionmaker[Session], broker: Broker, *, settings: ServiceSettings) -> None:
    """One round. Raises UnavailableError when the broker is down: who is alive is not known then, so nobody is dead."""
    with factory() as session:
        rows = node_queries.all_nodes(session)
    heartbeats = broker.heartbeats(row.name for row in rows)
    _extend(factory, rows={row.name: row for row in rows}, heartbeats=heartbeats, settings=settings)
    with factory() as session:
        doubted = quarantines.with_pending(session)
    for quarantine_id in doubted:
        _in_turn(
            factory,
            quarantine_id,
            lambda session, quarantine_id: reopen_pending(session, quarantine_id, settings=settings),
        )
    # Results that wait to be recorded, and a broker or a recorder that was away, look like silence.
    steady = broker.steady_seconds()
    if broker.recorder_backlog() > 0 or steady < settings.lease_seconds:
        return
    with factory() as session:
        expired = queue.runs_with_expired_leases(session, moment=now())
    for run_id in expired:
        _in_turn(
            factory,
            run_id,
            lambda session, run_id: _expire(session, run_id, alive=heartbeats, settings=settings),
        )
    with factory() as session:
        stranded = _stranded(session, heartbeats, steady=steady, settings=settings)
    for run_id in stranded:
        _in_turn(
            factory,
            run_id,
            lambda session, run_id: _free(session, run_id, heartbeats, steady=steady, settings=settings),
        )


def _in_turn(factory: sessionmaker[Session], run_id: str, step: Callable[[Session, str], None]) -> None:
    """One run or quarantine, one transaction, and its failure is not the others'."""
    try:
        with factory.begin() as session:
            step(session, run_id)
    except (ArithmeticError, LookupError, TypeError, ValueError):
        log.exception("run_not_reaped", run_id=run_id)


def _extend(
    factory: sessionmaker[Session],
    *,
    rows: Mapping[str, NodeRow],
    heartbeats: Mapping[str, Heartbeat],
    settings: ServiceSettings,
) -> None:
    """Extend what living nodes run, and flag again what runs although its run was cancelled."""
    moment = now()
    with factory.begin() as session:
        stale = [
            name
            for name in heartbeats
            if rows[name].seen_at < moment - timedelta(seconds=settings.heartbeat_seconds * 2)
        ]
        if stale:
            node_queries.seen(session, sorted(stale), moment=moment)
    with factory.begin() as session:
        for name, heartbeat in heartbeats.items():
            if heartbeat.running:
                queue.extend_leases(
                    session,
                    node=name,
                    instance=heartbeat.instance,
                    running=heartbeat.running,
                    until=moment + settings.lease,
                    before=moment + settings.lease * 0.75,
                )
        for name, attempt_id in queue.held_of_cancelled_runs(session):
            outbox(session).flag_cancelled(name, attempt_id)


def _expire(
    session: Session, run_id: str, *, alive: Mapping[str, Heartbeat], settings: ServiceSettings
) -> None:
    """End the leases of a run that ran out. One whose attempt waited in its node's queue all the time is not spent."""
    run, held = locked_job_attempts(session, run_id)
    moment = now()
    for job, attempt in held:
        if run is None or attempt.lease_until is None or attempt.lease_until >= moment:
            continue
        heartbeat = alive.get(attempt.node or "")
        if (
            heartbeat is not None
            and heartbeat.instance == attempt.instance
            and attempt.id in heartbeat.running
        ):
            continue
        log.info("lease_ran_out", attempt_id=attempt.id, lease_no=attempt.lease_no, state=attempt.state)
        end_lease(session, run, job, attempt, spent=attempt.state == "running", settings=settings)


def _known(session: Session, *, settings: ServiceSettings) -> dict[str, Hello]:
    """What nodes offer that gave a sign of life within the time that queued attempts wait."""
    since = now() - timedelta(seconds=settings.node_absence_seconds)
    return {
        row.name: Hello.model_validate(row.hello)
        for row in node_queries.all_nodes(session)
        if row.seen_at >= since
    }


def _fit(fleet: Mapping[str, Hello], target: Target, *, settings: ServiceSettings) -> set[str]:
    return {
        name
        for name, hello in fleet.items()
        if can_serve(hello, target, required_level=settings.required_level) is None
    }


def _stranded(
    session: Session, heartbeats: Mapping[str, Heartbeat], *, steady: float, settings: ServiceSettings
) -> list[str]:
    """Runs with queued attempts that no living node can take as things are."""
    alive = living(node_queries.all_nodes(session), heartbeats, held_back(session))
    found: set[str] = set()
    fitting: dict[str, set[str]] = {}
    for job in queue.queued_jobs(session):
        target = target_of(job)
        able = fitting.setdefault(target.label(), _fit(alive, target, settings=settings))
        if (job.node is not None and job.node not in able and able) or (
            not able and steady >= settings.node_absence_seconds
        ):
            found.add(job.run_id)
    return sorted(found)


def _free(
    session: Session,
    run_id: str,
    heartbeats: Mapping[str, Heartbeat],
    *,
    steady: float,
    settings: ServiceSettings,
) -> None:
    """Start jobs again elsewhere whose node is gone, and give up attempts that no node has been there for, for long."""
    run = queries.lock_run(session, run_id)
    if run is None or run.state not in OPEN_STATES:
        return
    jobs = queries.jobs_of_run(session, run_id, lock=True)
    attempts = queries.attempts_of_run(session, run_id, lock=True)
    rows = {row.name: row for row in node_queries.all_nodes(session)}
    things = held_back(session)
    alive = living(list(rows.values()), heartbeats, things)
    known = _known(session, settings=settings)
    moment = now()
    for job in jobs:
        mine = [attempt for attempt in attempts if attempt.job_id == job.id]
        queued = [attempt for attempt in mine if attempt.state == "queued"]
        held = any(attempt.state in HELD_ATTEMPT_STATES for attempt in mine)
        if not queued or job.state not in OPEN_STATES:
            continue
        target = target_of(job)
        able = _fit(alive, target, settings=settings)
        home = rows.get(job.node or "")
        silent = (
            home is None
            or home.name in alive
            or home.name in things.nodes
            or home.draining
            or home.seen_at < moment - settings.lease
        )
        if able and job.node is not None and job.node not in able and silent and not held:
            log.info("job_restarted", job_id=job.id)
            restart_job(session, run, job, attempts=mine)
            outbox(session).wake_dispatcher()
        elif (
            not able
            and not _fit(known, target, settings=settings)
            and steady >= settings.node_absence_seconds
        ):
            waited = moment - timedelta(seconds=settings.node_absence_seconds)
            for attempt in [attempt for attempt in queued if attempt.queued_at < waited]:
                lose(session, run, job, attempt, settings=settings)
