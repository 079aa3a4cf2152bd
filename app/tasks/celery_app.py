"""The Celery application of the trusted side. It has only its own tasks, and each catches all its errors."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import structlog
from celery import Celery, Task
from celery.exceptions import Reject
from celery.signals import worker_init, worker_ready
from sqlalchemy import Engine, select
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.orm import Session, sessionmaker

from app.bounded.calls import set_limits, warm_up
from app.errors import UnavailableError
from app.runs.lifecycle import dispatch, record, recover
from app.runs.submission import canary, scheduled_reruns
from app.settings import ServiceSettings
from app.storage.broker import Broker
from app.storage.broker_basics import (
    TASK_ALIVE,
    TASK_CANARY,
    TASK_DISPATCH,
    TASK_GITHUB,
    TASK_RECOVER,
    TASK_RERUN,
    TASK_WEBHOOKS,
    TASKS,
)
from app.storage.session import is_busy, is_unavailable, make_engine, session_factory, wait_shortly
from app.tasks.health import Pulse
from app.tasks.results_lists import follow_node_keys
from app.tasks.senders import Senders, github_senders, webhook_senders
from worker.contract.names import QUEUE_RECORDER, TASK_FROM_NODE, sender_of

log = structlog.get_logger(__name__)

# How long a message waits before it is tried again while the database is away.
RETRY_SECONDS = 1.0
# After a round of dispatch that had nothing to give, the next one begins so much later. While all places are
# taken, each submission asks for a round, and many of them get one together.
IDLE_SECONDS = 0.1


class Pauses:
    """Keeps rounds of dispatch apart that have nothing to give. After others the next one begins at once."""

    def __init__(self) -> None:
        self._idle_at = float("-inf")

    def wait(self) -> None:
        """Wait before a round. Whoever asks for a round meanwhile gets this one."""
        time.sleep(min(IDLE_SECONDS, max(0.0, self._idle_at + IDLE_SECONDS - time.monotonic())))

    def note(self, leased: int) -> None:
        """Note the end of a round that gave so many attempts to nodes."""
        self._idle_at = float("-inf") if leased else time.monotonic()


@dataclass(frozen=True, slots=True)
class Service:
    """The objects that the tasks use."""

    celery: Celery
    settings: ServiceSettings
    engine: Engine
    broker: Broker
    factory: sessionmaker[Session]
    # By the task that begins their rounds.
    senders: Mapping[str, Senders]
    pauses: Pauses = field(default_factory=Pauses)


def _record(service: Service, message: Any, *, sender: str | None) -> None:
    """Record a message of a sender. It goes back to its list if the database is away or not migrated."""
    try:
        with service.factory.begin() as session:
            wait_shortly(session, service.settings.lock_seconds)
            record.receive(session, message, sender=sender, settings=service.settings)
    except UnavailableError as error:
        raise _postpone(error.code) from error
    except SQLAlchemyError as error:
        if not is_unavailable(error):
            log.exception("node_message_dropped")
            return
        if is_busy(error):
            # It has waited already. At the end of its list it holds no thread.
            raise Reject("busy", requeue=True) from error
        raise _postpone(type(error).__name__) from error
    except Exception:  # the task boundary: the message is dropped, and the lease of its attempt runs out
        log.exception("node_message_dropped")


def _postpone(problem: str) -> Reject:
    """The exception of a task whose message has to come again, after a pause."""
    log.warning("node_message_postponed", problem=problem)
    time.sleep(RETRY_SECONDS)
    return Reject(problem, requeue=True)


def _round(service: Service, name: str) -> None:
    """Do one round of dispatching, reaping, reruns, the canary or sending. The next one tries it again."""
    try:
        if name == TASK_DISPATCH:
            service.pauses.wait()
            service.broker.begin_dispatch()
            with service.factory.begin() as session:
                leased = dispatch.dispatch(session, service.broker, settings=service.settings)
            service.pauses.note(leased)
        elif name in service.senders:
            service.senders[name].wake()
        elif name == TASK_CANARY:
            canary.canary_round(service.factory, settings=service.settings)
        elif name == TASK_RERUN:
            scheduled_reruns.rerun_round(service.factory, settings=service.settings)
        else:
            recover.recover(service.factory, service.broker, settings=service.settings)
    except (SQLAlchemyError, UnavailableError) as error:
        log.warning("round_failed", task=name, problem=type(error).__name__)
    except Exception:  # the task boundary
        log.exception("round_failed", task=name)


def _give_sign_of_life(service: Service) -> None:
    """Show that this process takes messages and reaches Postgres and the broker."""
    try:
        with service.factory() as session:
            session.execute(select(1))
        service.broker.note_alive("recorder")
    except (SQLAlchemyError, UnavailableError) as error:
        log.warning("no_sign_of_life", problem=type(error).__name__)


def _restore_at_start(broker: Broker) -> None:
    """Let a worker take up the messages of a killed one before it takes its own."""

    @worker_init.connect(weak=False)
    def _init(**_facts: Any) -> None:
        try:
            restored = broker.restore_messages()
        except UnavailableError:
            log.warning("broker_unavailable")
        else:
            log.info("messages_restored", messages=restored)


def _add_round(service: Service, name: str) -> None:
    """Add the task of a round."""

    # A shared task would be one of every other application of this process, too.
    @service.celery.task(name=name, shared=False)
    def run_round() -> None:
        _round(service, name)


def build(settings: ServiceSettings | None = None) -> Service:
    """Build the application with its tasks, on the database and the broker of the settings."""
    chosen = ServiceSettings() if settings is None else settings
    set_limits(chosen.reading_limits, at_once=chosen.reading_processes)
    broker = Broker(chosen)
    engine = make_engine(chosen)
    application = broker.celery
    factory = session_factory(engine, broker)
    service = Service(
        celery=application,
        settings=chosen,
        engine=engine,
        broker=broker,
        factory=factory,
        senders={
            TASK_WEBHOOKS: webhook_senders(factory, chosen),
            TASK_GITHUB: github_senders(factory, chosen),
        },
    )

    @application.task(name=TASK_FROM_NODE, acks_late=True, bind=True, shared=False)
    def from_node(self: Task[..., None], message: Any) -> None:
        # Our transport writes the list that a message was taken from here, whatever its sender wrote.
        source = (self.request.delivery_info or {}).get("routing_key")
        _record(service, message, sender=sender_of(str(source)))

    for name in (TASK_DISPATCH, TASK_RECOVER, TASK_RERUN, TASK_CANARY, *service.senders):
        _add_round(service, name)

    @application.task(name=TASK_ALIVE, shared=False)
    def give_sign_of_life() -> None:
        _give_sign_of_life(service)

    # Celery has built-in tasks that call other tasks. A node could ask for them, so they are removed.
    application.finalize()
    for name in set(application.tasks) - set(TASKS):
        application.tasks.unregister(name)

    _restore_at_start(broker)

    @worker_ready.connect(weak=False)
    def _ready(sender: Any, **_facts: Any) -> None:
        warm_up()
        if sender.task_consumer.consuming_from(QUEUE_RECORDER):
            follow_node_keys(broker, sender, seconds=chosen.sweep_seconds)
        try:
            broker.recorder_started()
        except UnavailableError:
            log.warning("broker_unavailable")
        Pulse(broker).start()

    return service
