"""The recorder takes messages from the lists of all nodes that have a key, as keys come and go."""

from __future__ import annotations

import threading
from typing import Any

import structlog
from kombu import Queue

from app.errors import UnavailableError
from app.storage.broker import Broker
from worker.contract.names import results_queue

log = structlog.get_logger(__name__)


def follow_node_keys(broker: Broker, consumer: Any, *, seconds: float) -> None:
    """Look for new and revoked keys every so many seconds, in a thread that ends with the process.

    `consumer` is the one of Celery's worker. Its own thread makes the changes.
    """
    threading.Thread(target=_follow, args=(broker, consumer, seconds), name="node-keys", daemon=True).start()


def _follow(broker: Broker, consumer: Any, seconds: float) -> None:
    followed: set[str] = set()
    pause = threading.Event()
    while True:
        try:
            keyed = set(broker.keyed_nodes())
        except UnavailableError:
            keyed = followed
        for node in keyed - followed:
            log.info("node_key_found", node=node)
            consumer.call_soon(_add, consumer, results_queue(node))
        for node in followed - keyed:
            log.info("node_key_gone", node=node)
            consumer.call_soon(consumer.cancel_task_queue, results_queue(node))
        followed = keyed
        pause.wait(seconds)


def _add(consumer: Any, name: str) -> None:
    """Take from one more list, also after a reconnection. It has no exchange."""
    queues = consumer.app.amqp.queues
    if name not in queues:
        queues.add(Queue(name, exchange="", routing_key=name, no_declare=True))
    consumer.add_task_queue(name)
