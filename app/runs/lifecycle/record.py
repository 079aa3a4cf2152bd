"""Records the messages of nodes.

They are untrusted: limited in size, validated, and checked against the lease.

A message that comes twice has the effect of one.
"""

from __future__ import annotations

import json
from typing import Any

import structlog
from pydantic import ValidationError
from sqlalchemy.orm import Session

from app.clock import now
from app.judging.comparison.environments import environment_digest
from app.runs.lifecycle.doubt import doubt_cards, rests_on
from app.runs.lifecycle.end_lease import end_lease, void_leases
from app.runs.lifecycle.settle import remove_preview, restart_job, settle_job
from app.runs.rows.events import emit
from app.runs.rows.nodes import note_toolchains
from app.runs.run_object.digests import with_digests
from app.runs.run_object.erase import erased_result
from app.runs.run_object.storable import split_result, to_storable
from app.settings import ServiceSettings
from app.states import HELD_ATTEMPT_STATES
from app.storage.models import AttemptRow, JobRow, RunRow
from app.storage.outbox import outbox
from app.storage.queries import keys
from app.storage.queries import runs as queries
from app.storage.queries.queue import nodes, queue
from app.storage.tallies import Tally, count, observe
from worker.contract import AttemptKind, Draining, Hello, Outcome, Result, Start, Started, from_node
from worker.contract.names import CARD_NOT_FREE

log = structlog.get_logger(__name__)


def receive(session: Session, message: Any, *, settings: ServiceSettings, sender: str | None = None) -> None:
    """Record one message. If its sender is known by a node key, the message must be of this node.

    An unusable message is logged and dropped; the lease of its attempt then runs out. The lines of the log
    name the attempt, its run, and the request that started it.
    """
    before = structlog.contextvars.get_contextvars()
    try:
        _receive(session, message, settings=settings, sender=sender)
    finally:
        structlog.contextvars.clear_contextvars()
        structlog.contextvars.bind_contextvars(**before)


def _receive(session: Session, message: Any, *, settings: ServiceSettings, sender: str | None) -> None:
    size = len(json.dumps(message, default=str))
    if size > settings.result_bytes:
        log.warning("node_message_too_large", size=size)
        count(session, Tally.REFUSALS, "too_large")
        return
    try:
        # Rows can't hold everything that JSON can.
        parsed = from_node.validate_python(to_storable(message))
    except ValidationError as error:
        log.warning("node_message_refused", problems=error.error_count())
        count(session, Tally.REFUSALS, "malformed")
        return
    if not isinstance(parsed, (Hello, Started, Result, Draining)):
        log.warning("node_message_refused", problems=1)
        count(session, Tally.REFUSALS, "malformed")
        return
    if sender is not None and parsed.node != sender:
        log.warning("node_message_of_another_node", sender=sender, node=parsed.node)
        count(session, Tally.REFUSALS, "of_another_node")
        return
    match parsed:
        case Hello():
            _record_hello(session, parsed, settings=settings)
        case Started():
            _record_start(session, parsed, settings=settings)
        case Result():
            _record_result(session, parsed, settings=settings)
        case Draining():
            _record_draining(session, parsed, settings=settings)


def _record_hello(session: Session, message: Hello, *, settings: ServiceSettings) -> None:
    """Record a node's hello. The attempts of an earlier instance of the node are queued again at once."""
    hello = to_storable(message.model_dump(mode="json"))
    note_toolchains(session, message)
    nodes.store_hello(session, name=message.node, instance=message.instance, hello=hello, moment=now())
    for run_id in queue.runs_held_by(session, node=message.node, other_than=message.instance):
        void_leases(
            session,
            run_id,
            node=message.node,
            keep_instance=message.instance,
            only_unstarted=False,
            settings=settings,
        )
    doubt_cards(session, message, settings=settings)
    outbox(session).wake_dispatcher()


def _record_draining(session: Session, message: Draining, *, settings: ServiceSettings) -> None:
    """Record that a node takes no more attempts. Those that it has not started are queued again."""
    if not nodes.set_draining(session, name=message.node, instance=message.instance):
        return
    for run_id in queue.runs_held_by(session, node=message.node):
        void_leases(
            session, run_id, node=message.node, keep_instance=None, only_unstarted=True, settings=settings
        )
    outbox(session).wake_dispatcher()


def _lock(session: Session, attempt_id: str) -> tuple[RunRow, JobRow, AttemptRow] | None:
    """An attempt with its run and job, locked in the order that all writers use. None for an unknown id."""
    ids = queries.run_and_job_of_attempt(session, attempt_id)
    if ids is None:
        return None
    run, job = queries.lock_run(session, ids[0]), queries.lock_job(session, ids[1])
    attempt = queries.lock_attempt(session, attempt_id)
    if run is None or job is None or attempt is None:
        return None
    structlog.contextvars.bind_contextvars(
        attempt_id=attempt.id, run_id=run.id, request_id=run.request_id, node=attempt.node
    )
    return run, job, attempt


def _record_start(session: Session, message: Started, *, settings: ServiceSettings) -> None:
    rows = _lock(session, message.attempt_id)
    if rows is None:
        return
    run, job, attempt = rows
    if attempt.state != "leased" or attempt.lease_no != message.lease_no or attempt.node != message.node:
        log.info("started_refused", lease_no=message.lease_no)
        count(session, Tally.REFUSALS, "start_without_lease")
        return
    moment = now()
    attempt.state = "running"
    attempt.instance = message.instance
    attempt.started_at = moment
    attempt.lease_until = moment + settings.lease
    emit(session, run, "attempt.started", job=job.id, attempt=attempt.id)


def _accepts(job: JobRow, attempt: AttemptRow, message: Result) -> bool:
    """Whether a result is the first one of the current lease.

    The result of a voided lease is accepted, too, if no other lease was given and the job has not moved to
    another node.
    """
    if attempt.lease_no != message.lease_no or attempt.node != message.node:
        return False
    # The instance is the one that the attempt was sent to, and then the one that started it. A result that
    # an earlier process of the node stored on disk names that process.
    if attempt.instance != message.instance:
        return False
    return attempt.state in HELD_ATTEMPT_STATES or (attempt.state == "queued" and job.node == message.node)


def _record_result(session: Session, message: Result, *, settings: ServiceSettings) -> None:
    rows = _lock(session, message.attempt_id)
    if rows is None:
        log.info("result_of_unknown_attempt")
        count(session, Tally.REFUSALS, "unknown_attempt")
        return
    run, job, attempt = rows
    if not _accepts(job, attempt, message):
        log.info("result_refused", lease_no=message.lease_no, state=attempt.state)
        count(session, Tally.REFUSALS, "result_without_lease")
        return
    outbox(session).wake_dispatcher()
    is_cancelled = run.state == "cancelled" or job.state == "cancelled"
    if is_cancelled:
        outbox(session).unflag_cancelled(message.node, attempt.id)
    elif message.outcome in {Outcome.CANCELLED, Outcome.LOST} or _found_no_card(message):
        # We did not cancel it: the node is shutting down or has lost the attempt, or its card was not free.
        # It is given to a node again.
        end_lease(session, run, job, attempt, spent=message.outcome is Outcome.LOST, settings=settings)
        return
    elif attempt.kind is AttemptKind.PREVIEW and (
        message.start is not Start.WARM or not message.outcome.is_evidence
    ):
        remove_preview(session, run, job, attempt, settings=settings)
        return
    _store_result(session, attempt, erased_result(message) if run.is_withdrawn else message)
    if is_cancelled and message.outcome is Outcome.CANCELLED:
        attempt.state = "cancelled"
        return
    if message.outcome.is_evidence and attempt.kind is AttemptKind.REPEAT:
        _check_environment(session, run, job, attempt, settings=settings)
    emit(session, run, "attempt.recorded", job=job.id, attempt=attempt.id)
    settle_job(session, run, job, settings=settings)


def _found_no_card(message: Result) -> bool:
    """True if the attempt started without its card and did not get it."""
    reason = message.reason
    return message.outcome is Outcome.SETUP_FAILED and reason is not None and reason.code == CARD_NOT_FREE


def _store_result(session: Session, attempt: AttemptRow, message: Result) -> None:
    """Store a result. The kind and the digests are ours; those of the node are not trusted."""
    moment = now()
    if attempt.started_at is not None:
        observe(session, Tally.RUN_TIME, (moment - attempt.started_at).total_seconds())
    count(session, Tally.FINISHED)
    count(session, Tally.OUTCOMES, message.outcome)
    log.info("result_recorded", outcome=message.outcome, node=message.node)
    observation = with_digests(message.observation)
    # Only the node knows whether a requested warm start was one.
    start = message.start if attempt.start is Start.WARM else attempt.start
    data, environment = split_result(
        message.model_copy(update={"kind": attempt.kind, "start": start, "observation": observation})
    )
    digest = environment_digest(environment) if environment else None
    if digest is not None:
        keys.store_environment(session, digest, environment, moment=moment)
    attempt.state = "recorded"
    attempt.start = start
    attempt.result = data
    attempt.outcome = message.outcome
    attempt.environment_digest = digest
    attempt.cards = rests_on(message.node, observation) or None
    attempt.card_seconds = observation.card_seconds
    attempt.instance = message.instance
    attempt.recorded_at = moment
    attempt.lease_until = None


def _check_environment(
    session: Session, run: RunRow, job: JobRow, attempt: AttemptRow, *, settings: ServiceSettings
) -> None:
    """Keep all counted attempts of a job in one environment.

    An attempt in another environment restarts the job and is the first of its new generation. After too many
    restarts it is not counted instead.
    """
    if attempt.environment_digest is None or job.environment_digest == attempt.environment_digest:
        return
    if job.environment_digest is not None:
        if job.generation > settings.job_restarts:
            attempt.counted = False
            return
        session.flush()
        others = [row for row in queries.attempts_of_job(session, job.id) if row.id != attempt.id]
        restart_job(session, run, job, attempts=others)
        attempt.generation = job.generation
        job.node = attempt.node
    job.environment_digest = attempt.environment_digest
