"""Repairs expired leases, stranded jobs and lost cancel flags, after nodes died or messages were lost."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import structlog
from sqlalchemy.exc import OperationalError
from sqlalchemy.orm import Session, sessionmaker

from app.clock import now
from app.runs.lifecycle.dispatch import living
from app.runs.lifecycle.doubt import reopen_pending
from app.runs.lifecycle.end_lease import end_lease, lock_held_attempts, lose
from app.runs.lifecycle.settle import restart_job
from app.runs.rows.attempts import takes_attempts
from app.runs.rows.nodes import with_hellos
from app.runs.rows.quarantined_parts import current_quarantines
from app.settings import ServiceSettings
from app.states import HELD_ATTEMPT_STATES
from app.storage.broker import Broker
from app.storage.models import NodeRow
from app.storage.outbox import outbox
from app.storage.queries import runs as queries
from app.storage.queries.queue import nodes as node_queries
from app.storage.queries.queue import quarantines, queue
from app.storage.session import wait_shortly
from app.storage.tallies import Tally, count, sum_tallies
from app.targets.fleet import can_serve
from app.targets.target import Target, target_of
from worker.contract import Heartbeat, Hello

log = structlog.get_logger(__name__)

# Before every lease.
_NEVER = datetime(1970, 1, 1, tzinfo=UTC)


def recover(factory: sessionmaker[Session], broker: Broker, *, settings: ServiceSettings) -> None:
    """Do one round. Raises UnavailableError when the broker is down: then no node can be taken for dead."""
    with factory() as session:
        rows = node_queries.all_nodes(session)
    heartbeats = broker.heartbeats(row.name for row in rows)
    _extend(factory, rows={row.name: row for row in rows}, heartbeats=heartbeats, settings=settings)
    with factory.begin() as session:
        sum_tallies(session)
    with factory() as session:
        quarantine_ids = quarantines.with_pending(session)
    for quarantine_id in quarantine_ids:
        _in_own_transaction(
            factory,
            quarantine_id,
            lambda session, quarantine_id: reopen_pending(session, quarantine_id, settings=settings),
            settings=settings,
        )
    # Nodes also look silent while their results wait to be recorded, or after the broker or the recorder was
    # down.
    steady = broker.steady_seconds()
    if steady < settings.lease_seconds:
        return
    backlog = _Backlog(
        senders=frozenset(broker.unrecorded_messages()), steady=steady, seconds=settings.backlog_seconds
    )
    with factory() as session:
        expired = queue.runs_with_expired_leases(session, moment=backlog.last_end(None))
    for run_id in expired:
        _in_own_transaction(
            factory,
            run_id,
            lambda session, run_id: _expire(
                session, run_id, alive=heartbeats, backlog=backlog, settings=settings
            ),
            settings=settings,
        )
    if None in backlog.senders:
        return
    with factory() as session:
        stranded = _stranded_runs(session, heartbeats, steady=steady, settings=settings)
    for run_id in stranded:
        _in_own_transaction(
            factory,
            run_id,
            lambda session, run_id: _rescue(session, run_id, heartbeats, backlog=backlog, settings=settings),
            settings=settings,
        )


@dataclass(frozen=True, slots=True)
class _Backlog:
    """The nodes with messages that are not recorded yet; None if the list that they share has some.

    `steady` is for how many seconds they could be recorded, and `seconds` for how many they are waited for:
    a node could keep a message in its list forever.
    """

    senders: frozenset[str | None]
    steady: float
    seconds: float

    def last_end(self, node: str | None) -> datetime:
        """Leases of a node that ended before this moment have run out.

        While a message of the node waits, which may be the result, the moment is earlier.
        """
        if None not in self.senders and node not in self.senders:
            return now()
        if self.steady < self.seconds:
            return _NEVER
        return now() - timedelta(seconds=self.seconds)


def _in_own_transaction(
    factory: sessionmaker[Session],
    run_id: str,
    step: Callable[[Session, str], None],
    *,
    settings: ServiceSettings,
) -> None:
    """Handle one run or quarantine in its own transaction. A failure does not stop the others."""
    try:
        with factory.begin() as session:
            wait_shortly(session, settings.lock_seconds)
            step(session, run_id)
    except OperationalError as error:
        log.warning("run_not_reaped", run_id=run_id, problem=type(error.orig).__name__)
    except Exception:  # the boundary of one run: the next round tries it again
        log.exception("run_not_reaped", run_id=run_id)


def _extend(
    factory: sessionmaker[Session],
    *,
    rows: Mapping[str, NodeRow],
    heartbeats: Mapping[str, Heartbeat],
    settings: ServiceSettings,
) -> None:
    """Extend the leases of running attempts, and flag those of cancelled runs again."""
    moment = now()
    with factory.begin() as session:
        stale = [
            name
            for name in heartbeats
            if rows[name].seen_at < moment - timedelta(seconds=settings.heartbeat_seconds * 2)
        ]
        if stale:
            node_queries.store_seen(session, sorted(stale), moment=moment)
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
    session: Session,
    run_id: str,
    *,
    alive: Mapping[str, Heartbeat],
    backlog: _Backlog,
    settings: ServiceSettings,
) -> None:
    """End the expired leases of a run. A lease is not spent if its attempt never started."""
    run, held_attempts = lock_held_attempts(session, run_id)
    for job, attempt in held_attempts:
        if run is None or attempt.lease_until is None:
            continue
        if attempt.lease_until >= backlog.last_end(attempt.node):
            continue
        heartbeat = alive.get(attempt.node or "")
        if (
            heartbeat is not None
            and heartbeat.instance == attempt.instance
            and attempt.id in heartbeat.running
        ):
            continue
        log.info(
            "lease_ran_out",
            attempt_id=attempt.id,
            run_id=run.id,
            request_id=run.request_id,
            lease_no=attempt.lease_no,
            state=attempt.state,
        )
        count(session, Tally.LEASES_RUN_OUT)
        end_lease(session, run, job, attempt, spent=attempt.state == "running", settings=settings)


def _recent_nodes(session: Session, *, settings: ServiceSettings) -> dict[str, Hello]:
    """The nodes that were seen within the time that queued attempts wait for an absent node, by name."""
    since = now() - timedelta(seconds=settings.node_absence_seconds)
    return {
        row.name: hello for row, hello in with_hellos(node_queries.all_nodes(session)) if row.seen_at >= since
    }


def _able_nodes(fleet: Mapping[str, Hello], target: Target, *, settings: ServiceSettings) -> set[str]:
    """The names of the nodes that can serve a target."""
    return {
        name
        for name, hello in fleet.items()
        if can_serve(hello, target, required_level=settings.required_level) is None
    }


def _stranded_runs(
    session: Session, heartbeats: Mapping[str, Heartbeat], *, steady: float, settings: ServiceSettings
) -> list[str]:
    """Runs with queued attempts that no living node can take."""
    alive = living(node_queries.all_nodes(session), heartbeats, current_quarantines(session))
    stranded: set[str] = set()
    able_by_target: dict[str, set[str]] = {}
    for job in queue.queued_jobs(session):
        target = target_of(job)
        able = able_by_target.setdefault(target.label(), _able_nodes(alive, target, settings=settings))
        if (job.node is not None and job.node not in able and able) or (
            not able and steady >= settings.node_absence_seconds
        ):
            stranded.add(job.run_id)
    return sorted(stranded)


def _rescue(
    session: Session,
    run_id: str,
    heartbeats: Mapping[str, Heartbeat],
    *,
    backlog: _Backlog,
    settings: ServiceSettings,
) -> None:
    """Restart the jobs of nodes that are gone. Give up attempts that no node could take for a long time."""
    run = queries.lock_run(session, run_id)
    if run is None:
        return
    jobs = queries.jobs_of_run(session, run_id, lock=True)
    attempts = queries.attempts_of_run(session, run_id, lock=True)
    rows = {row.name: row for row in node_queries.all_nodes(session)}
    quarantined = current_quarantines(session)
    alive = living(list(rows.values()), heartbeats, quarantined)
    recent = _recent_nodes(session, settings=settings)
    moment = now()
    for job in jobs:
        own = [attempt for attempt in attempts if attempt.job_id == job.id]
        queued = [attempt for attempt in own if attempt.state == "queued"]
        is_held = any(attempt.state in HELD_ATTEMPT_STATES for attempt in own)
        if not queued or not takes_attempts(run, job):
            continue
        target = target_of(job)
        able = _able_nodes(alive, target, settings=settings)
        home = rows.get(job.node or "")
        may_move = (
            home is None
            or home.name in alive
            or home.name in quarantined.nodes
            or home.draining
            or home.seen_at < backlog.last_end(home.name) - settings.lease
        )
        if able and job.node is not None and job.node not in able and may_move and not is_held:
            log.info("job_restarted", job_id=job.id)
            restart_job(session, run, job, attempts=own)
            outbox(session).wake_dispatcher()
        elif (
            not able
            and not _able_nodes(recent, target, settings=settings)
            and backlog.steady >= settings.node_absence_seconds
        ):
            waited = moment - timedelta(seconds=settings.node_absence_seconds)
            for attempt in [attempt for attempt in queued if attempt.queued_at < waited]:
                lose(session, run, job, attempt, settings=settings)
