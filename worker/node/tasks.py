"""The node's Celery application: it knows one task and consumes one queue."""

from __future__ import annotations

from collections.abc import Callable

import structlog
from celery import Celery
from kombu import Queue
from pydantic import ValidationError

from worker.contract import Attempt
from worker.contract.broker.transport import use_careful_transport
from worker.contract.broker.url import celery_url, user_of
from worker.contract.names import QUEUE_RECORDER, TASK_ATTEMPT, key_user, node_queue, results_queue

_log = structlog.get_logger(__name__)


class ForeignKeyError(Exception):
    """The broker's URL has the key of another node."""


def own_queue(name: str) -> Queue:
    """A list on the broker without an exchange, which would be a key that nodes share."""
    return Queue(name, exchange="", routing_key=name, no_declare=True)


def results_list(broker_url: str, node: str) -> str:
    """The list to which this node sends. With a node key it is one of its own.

    Raises ForeignKeyError.
    """
    user = user_of(broker_url)
    if user == key_user(node):
        return results_queue(node)
    if user.startswith(key_user("")):
        other = user.removeprefix(key_user(""))
        raise ForeignKeyError(
            f"the key in SAMEHERE_BROKER_URL is that of node {other}, and this node is {node}: "
            f"set SAMEHERE_NODE_NAME={other}, or make a key: samehere node-key create {node}"
        )
    return QUEUE_RECORDER


def make_celery(broker_url: str, node: str) -> Celery:
    """A Celery application that accepts only JSON, without results and remote control."""
    use_careful_transport()
    app = Celery("samehere-node", broker=celery_url(broker_url), set_as_current=False)
    queue = own_queue(node_queue(node))
    app.conf.update(
        accept_content=["json"],
        task_serializer="json",
        result_backend=None,
        task_ignore_result=True,
        task_store_errors_even_if_ignored=False,
        # Acknowledge early: the dispatcher, not the broker, repeats an attempt that dies with its node.
        task_acks_late=False,
        task_queues=[queue],
        task_default_queue=queue.name,
        task_create_missing_queues=True,
        worker_prefetch_multiplier=1,
        worker_enable_remote_control=False,
        worker_send_task_events=False,
        worker_hijack_root_logger=False,
        worker_redirect_stdouts=False,
        worker_cancel_long_running_tasks_on_connection_loss=False,
        broker_connection_retry=True,
        broker_connection_retry_on_startup=True,
        broker_connection_max_retries=None,
        broker_connection_timeout=4.0,
        broker_transport_options={
            "tasks": [TASK_ATTEMPT],
            # The broker notes no messages in work: the dispatcher repeats what dies with its node. So there
            # are no keys that nodes share, and no lists of other priorities.
            "ack_emulation": False,
            "priority_steps": [0],
            "socket_timeout": 10.0,
            "socket_connect_timeout": 4.0,
        },
    )
    return app


def register_attempt(app: Celery, run: Callable[[Attempt], None]) -> None:
    """Register the task. `run` returns when the attempt has its result."""

    @app.task(name=TASK_ATTEMPT, ignore_result=True)
    def attempt(message: object) -> None:
        try:
            parsed_attempt = Attempt.model_validate(message)
        except ValidationError as error:
            _log.error("attempt_unreadable", errors=error.error_count())
            return
        run(parsed_attempt)
