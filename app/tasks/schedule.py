"""Beat: asks for rounds of dispatch, reaping, reruns, the canary and webhooks, as often as settings say.

It sends the messages of Celery's protocol 2 by kombu. Celery and our own code would only take memory here.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from datetime import timedelta
from typing import Any
from uuid import uuid4

import structlog
from kombu import Connection, Producer
from kombu.exceptions import OperationalError
from redis import RedisError

from app.clock import now
from app.errors import UnavailableError
from app.settings import ServiceSettings
from app.storage.broker_basics import (
    QUEUE_DISPATCHER,
    SILENCE_SECONDS,
    TASK_CANARY,
    TASK_DISPATCH,
    TASK_GITHUB,
    TASK_RECOVER,
    TASK_RERUN,
    TASK_WEBHOOKS,
    note_alive,
)
from worker.contract.broker.url import celery_url

log = structlog.get_logger(__name__)

# The wait after a failure of the broker.
RETRY_SECONDS = 1.0


def schedule(settings: ServiceSettings) -> dict[str, float]:
    """The seconds between two rounds, by task."""
    every = {
        TASK_DISPATCH: settings.sweep_seconds,
        TASK_RECOVER: settings.sweep_seconds,
        TASK_RERUN: settings.rerun_seconds,
    }
    if settings.webhooks:
        every[TASK_WEBHOOKS] = settings.sweep_seconds
    if settings.github_is_on:
        every[TASK_GITHUB] = settings.sweep_seconds
    if settings.canary_seconds:
        every[TASK_CANARY] = min(settings.canary_seconds, settings.rerun_seconds)
    return every


def run_beat(settings: ServiceSettings) -> None:
    """Send the messages without end. Every round is due at the start.

    Raises UnavailableError without a URL.
    """
    url = settings.reveal_broker_url()
    if url is None:
        raise UnavailableError("SAMEHERE_BROKER_URL is not set; `samehere serve` sets it for its own broker.")
    every = schedule(settings)
    due = dict.fromkeys(every, time.monotonic())
    while True:
        options = {"socket_connect_timeout": 2, "socket_timeout": SILENCE_SECONDS}
        try:
            with Connection(celery_url(url), transport_options=options) as connection:
                _send_when_due(connection, every, due)
        except (OperationalError, RedisError, OSError) as error:
            log.warning("broker_unavailable", problem=type(error).__name__)
            time.sleep(RETRY_SECONDS)


def _send_when_due(connection: Connection, every: Mapping[str, float], due: dict[str, float]) -> None:
    """Send each message when it is due, until the broker fails. The message expires with the next one."""
    channel: Any = connection.default_channel
    producer = Producer(channel)
    while True:
        for name in [name for name, moment in due.items() if moment <= time.monotonic()]:
            publish(producer, name, expires_seconds=every[name])
            # After a pause of the machine the missed rounds are not made up for.
            due[name] = max(due[name] + every[name], time.monotonic())
            note_alive(channel.client, "beat")
        time.sleep(max(0.0, min(due.values()) - time.monotonic()))


def publish(producer: Producer, task: str, *, expires_seconds: float) -> None:
    """Send one message for a task without arguments to the dispatcher."""
    identity = str(uuid4())
    expires = now() + timedelta(seconds=expires_seconds)
    producer.publish(
        [[], {}, {"callbacks": None, "errbacks": None, "chain": None, "chord": None}],
        exchange="",
        routing_key=QUEUE_DISPATCHER,
        serializer="json",
        correlation_id=identity,
        headers={
            "lang": "py",
            "task": task,
            "id": identity,
            "root_id": identity,
            "parent_id": None,
            "group": None,
            "expires": expires.isoformat(),
        },
    )
