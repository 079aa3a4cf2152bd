"""Gives queued attempts to nodes that can serve them.

Runs get fair shares, cheap cells go first, and no node gets more than it holds.

Previews are separate: a node has extra places for them, so they wait only for each other and bind their
job to no node.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import structlog
from sqlalchemy.orm import Session

from app.clock import now
from app.judging.cause.cures import CURES
from app.judging.verdict.passage import points_to_pass
from app.runs.lifecycle.capacity import NodeCapacity, capacities_of, read_card_uses, use_of
from app.runs.lifecycle.node_choice import NextOnCards, choose, choose_previews, first_answers
from app.runs.rows.attempts import takes_attempts
from app.runs.rows.events import emit
from app.runs.rows.facts import reading_of, report_of_run
from app.runs.rows.nodes import with_hellos
from app.runs.rows.quarantined_parts import current_quarantines
from app.settings import ServiceSettings
from app.states import OPEN_STATES
from app.storage.broker import Broker
from app.storage.models import AttemptRow, JobRow, NodeRow, RunRow
from app.storage.outbox import outbox
from app.storage.queries import runs as queries
from app.storage.queries.queue import nodes as node_queries
from app.storage.queries.queue import quarantines as quarantine_queries
from app.storage.queries.queue import queue
from app.storage.tallies import Tally, count, observe
from app.targets.quarantines import Quarantines
from app.targets.target import target_of
from worker.contract import (
    CONTRACT_VERSION,
    Attempt,
    AttemptKind,
    CardUse,
    Heartbeat,
    Hello,
    PassagePoint,
)

log = structlog.get_logger(__name__)

# By node: the attempt that is next on its cards. The lock on the nodes lets one round run at a time.
_next_on_cards: dict[str, NextOnCards] = {}


def living(
    rows: Sequence[NodeRow], heartbeats: Mapping[str, Heartbeat], quarantines: Quarantines
) -> dict[str, Hello]:
    """The nodes that take attempts, by name, without quarantined things.

    Such a node is alive as the instance that said hello, is not draining, and has our version of the
    contract.
    """
    nodes: dict[str, Hello] = {}
    for row, stored_hello in with_hellos(rows):
        heartbeat = heartbeats.get(row.name)
        if heartbeat is None or heartbeat.instance != row.instance or heartbeat.draining or row.draining:
            continue
        hello = quarantines.offer(stored_hello)
        if hello is not None and CONTRACT_VERSION in hello.contracts:
            nodes[row.name] = hello
    return nodes


def dispatch(session: Session, broker: Broker, *, settings: ServiceSettings) -> int:
    """Do one round and return the number of leased attempts.

    Raises UnavailableError when the broker is down.
    """
    heartbeats = broker.heartbeats(row.name for row in node_queries.all_nodes(session))
    if not heartbeats:
        return 0
    # Two dispatchers must not fill the same slots. The second one waits here and then sees the leases of the
    # first.
    locked_nodes = node_queries.lock_nodes(session, heartbeats)
    quarantine_queries.share_lock(session)
    quarantines = current_quarantines(session)
    fleet = living(locked_nodes, heartbeats, quarantines)
    holds = queue.holds(session)
    uses = read_card_uses(session, fleet, holds)
    capacities = capacities_of(fleet, holds, uses)
    has_free = any(capacity.attempts > 0 for capacity in capacities.values())
    candidates = _candidates(session, capacities, has_free=has_free, without_scripts=quarantines.scripts)
    if not candidates:
        return 0
    uses |= read_card_uses(session, fleet, candidates)
    by_id = {candidate.attempt_id: candidate for candidate in candidates}
    level = settings.required_level
    chosen = choose_previews(candidates, capacities, required_level=level)
    if has_free:
        chosen |= choose(
            candidates, capacities, holds, uses=uses, settings=settings, next_on_cards=_next_on_cards
        )
    if not chosen:
        return 0
    locked = queue.lock_queued(session, chosen)
    texts = queries.scripts(session, {job.script_digest for _run, job, _attempt in locked.values()})
    first = first_answers(by_id, chosen)
    leased = 0
    for attempt_id, node in chosen.items():
        if attempt_id not in locked:
            continue
        run, job, attempt = locked[attempt_id]
        is_bound_elsewhere = attempt.kind is not AttemptKind.PREVIEW and job.node not in {None, node}
        if not takes_attempts(run, job) or is_bound_elsewhere:
            continue
        _lease(
            session,
            run,
            job,
            attempt,
            hello=fleet[node],
            is_first_answer=attempt_id in first,
            text=texts[job.script_digest],
            card=capacities[node].use_of(target_of(job), use_of(by_id[attempt_id], uses, first_lease=0)),
            settings=settings,
        )
        leased += 1
    log.info("dispatched", leased=leased)
    return leased


def _candidates(
    session: Session,
    capacities: Mapping[str, NodeCapacity],
    *,
    has_free: bool,
    without_scripts: frozenset[str],
) -> list[queue.Candidate]:
    """The attempts that may start now.

    While all places for others are taken, these are of runs that have previews, so a long queue is not read.
    """
    free_previews = sum(max(0, capacity.previews) for capacity in capacities.values())
    of_runs = None if has_free else queue.runs_with_previews(session) if free_previews else []
    if of_runs is not None and not of_runs:
        return []
    free = sum(max(0, capacity.attempts) for capacity in capacities.values())
    return queue.candidates(
        session,
        nodes=capacities,
        # One more than the free places: the first attempt of a job may be a preview that no node takes.
        of_a_job=free + free_previews + 1,
        without_scripts=without_scripts,
        late_settings=CURES,
        of_runs=of_runs,
    )


def _lease(
    session: Session,
    run: RunRow,
    job: JobRow,
    attempt: AttemptRow,
    *,
    hello: Hello,
    text: str,
    card: CardUse,
    is_first_answer: bool,
    settings: ServiceSettings,
) -> None:
    moment = now()
    until = moment + settings.lease
    attempt.state = "leased"
    attempt.lease_no += 1
    attempt.node = hello.node
    attempt.instance = hello.instance
    attempt.leased_at = moment
    attempt.lease_until = until
    if attempt.kind is not AttemptKind.PREVIEW:
        job.node = hello.node
    job.state = "running"
    if run.state in OPEN_STATES:
        run.state = "running"
    target = target_of(job)
    points = _points(session, run, job, attempt)
    message = Attempt(
        attempt_id=attempt.id,
        lease_no=attempt.lease_no,
        instance=hello.instance,
        run_id=run.id,
        request_id=run.request_id,
        # A node of an older version runs it too, and observes nothing.
        kind=AttemptKind.REPEAT if attempt.kind is AttemptKind.PASSAGE else attempt.kind,
        start=attempt.start,
        passage=points,
        script=text,
        toolchain=target.toolchain,
        device=target.device,
        gpus=target.cards_needed,
        capability=target.capability,
        card=card,
        is_first_answer=is_first_answer,
        settings=target.settings,
        limits=settings.limits_of(attempt.kind),
        required_level=settings.required_level,
    )
    outbox(session).send_attempt(hello.node, message, expires=until)
    count(session, Tally.CLAIMED)
    observe(session, Tally.QUEUE_TIME, (moment - attempt.queued_at).total_seconds())
    log.info(
        "attempt_leased",
        attempt_id=attempt.id,
        run_id=run.id,
        request_id=run.request_id,
        node=hello.node,
        lease_no=attempt.lease_no,
    )
    emit(session, run, "attempt.leased", job=job.id, attempt=attempt.id)


def _points(session: Session, run: RunRow, job: JobRow, attempt: AttemptRow) -> list[PassagePoint]:
    """The points whose passage the attempt observes."""
    if attempt.kind is not AttemptKind.PASSAGE:
        return []
    reading = reading_of(session, report_of_run(session, run))
    return list(points_to_pass(reading.claim, reading.script_of(job.script_digest), target_of(job)))
