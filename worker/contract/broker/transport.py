"""Celery's transport over Redis, in which a bad message costs only itself.

Whoever can write to the broker can put anything into a queue: no JSON, JSON of another form, a pickle, a task
of Celery's own. Celery ends a worker on some of these, and prints the text of others. Here a message that is
not of the form that our own senders write is dropped before Celery sees it, with one line in the log.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable
from datetime import datetime
from queue import Empty
from typing import Any

import structlog
from kombu import transport as kombu_transport
from kombu.transport import redis as kombu_redis
from kombu.utils.json import loads
from redis.exceptions import InvalidResponse, ResponseError

from worker.contract.names import QUEUE_RECORDER, TASK_FROM_NODE, sender_of

log = structlog.get_logger(__name__)

# Our own messages are far from as deep.
MOST_DEPTH = 50
_SCHEMES = ("redis", "rediss")
# These are no fault of a message. redis-py's DataError is one: it refuses to send what the message holds.
_NOT_THE_MESSAGE: tuple[type[Exception], ...] = (
    *kombu_redis.Transport.connection_errors,
    InvalidResponse,
    ResponseError,
    Empty,
)


def use_careful_transport() -> None:
    """Let all Celery applications of this process use this transport for URLs of Redis."""
    for scheme in _SCHEMES:
        kombu_transport.TRANSPORT_ALIASES[scheme] = f"{__name__}:Transport"
        vars(kombu_transport)["_transport_cache"].pop(scheme, None)


class BadMessageError(Exception):
    """A message that none of our senders writes. It says which part is wrong, and nothing of the content."""


def check_message(raw: object, *, tasks: Iterable[str]) -> None:
    """Check the form of a message from a queue. Raises BadMessageError, or what decoding raises."""
    if not isinstance(raw, dict):
        raise BadMessageError("message")
    headers, properties = raw.get("headers"), raw.get("properties")
    if not isinstance(headers, dict) or headers.get("task") not in list(tasks):
        raise BadMessageError("task")
    if headers.get("eta") is not None or any(headers.get("timelimit") or ()):
        raise BadMessageError("time")
    if headers.get("expires") is not None:
        datetime.fromisoformat(headers["expires"])
    if not isinstance(properties, dict) or not isinstance(properties.get("delivery_tag"), str):
        raise BadMessageError("properties")
    if (raw.get("content-type"), raw.get("content-encoding")) != ("application/json", "utf-8"):
        raise BadMessageError("content_type")
    if properties.get("body_encoding") != "base64" or not isinstance(raw.get("body"), str):
        raise BadMessageError("body_encoding")
    _check_body(loads(base64.b64decode(raw["body"], validate=True).decode()))


def _check_body(body: object) -> None:
    match body:
        case [[] | [_], dict() as named, dict() as embedded] if not named and not any(embedded.values()):
            pass
        case _:
            raise BadMessageError("arguments")
    level: list[object] = [body]
    for _ in range(MOST_DEPTH):
        if not level:
            return
        level = [
            inner
            for outer in level
            if isinstance(outer, (dict, list))
            for inner in (outer.values() if isinstance(outer, dict) else outer)
        ]
    raise BadMessageError("depth")


class QoS(kombu_redis.QoS):
    """The unacknowledged messages."""

    def restore_by_tag(self, tag: Any, client: Any = None, leftmost: Any = False) -> None:  # noqa: FBT002
        """Put an unacknowledged message back into its queue, or drop it if it is none."""
        try:
            super().restore_by_tag(tag, client, leftmost)
        except _NOT_THE_MESSAGE:
            raise
        except Exception as error:  # noqa: BLE001
            _log_drop(error)
            self.ack(tag)


class Channel(kombu_redis.Channel):
    """Takes messages from the queues."""

    QoS = QoS

    def _brpop_read(self, **options: Any) -> Any:
        """Take one message and hand it to its consumer. Whatever is wrong with it ends here."""
        before = self._tags_in_work()
        try:
            return super()._brpop_read(**options)  # type: ignore[misc]  # the stub lacks it
        except _NOT_THE_MESSAGE:
            raise
        except Exception as error:  # noqa: BLE001
            _log_drop(error)
            # The message may be noted already. It must not come again.
            for tag in self._tags_in_work() - before:
                self.qos.ack(tag)
            return True

    def _tags_in_work(self) -> set[Any]:
        return set(self.qos._delivered or ())  # noqa: SLF001


class Transport(kombu_redis.Transport):
    """The transport of both sides. The option `tasks` names the tasks that a worker takes."""

    Channel = Channel

    def _deliver(self, message: Any, queue: Any) -> None:
        """Hand a message to the consumer of its queue. Raises BadMessageError."""
        options = getattr(self.client, "transport_options", None) or {}
        # To these lists nodes can write, and they ask for nothing else.
        is_of_nodes = queue == QUEUE_RECORDER or sender_of(queue) is not None
        check_message(message, tasks=(TASK_FROM_NODE,) if is_of_nodes else options.get("tasks", ()))
        # The sender wrote where the message came from, and to where it goes back. Only the list itself is
        # proof of that, because with node keys not everybody can write to it.
        message["properties"]["delivery_info"] = {"exchange": "", "routing_key": queue}
        super()._deliver(message, queue)


def _log_drop(error: Exception) -> None:
    part = str(error) if isinstance(error, BadMessageError) else ""
    log.warning("message_dropped", problem=type(error).__name__, part=part)
