"""The broker as the trusted side uses it: its keys, channels and Celery settings."""

from __future__ import annotations

import re
import socket
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from typing import Any, cast

import structlog
from celery import Celery
from kombu.exceptions import OperationalError
from pydantic import ValidationError
from redis import Redis, RedisError
from redis.backoff import NoBackoff
from redis.retry import Retry

from app.errors import SetupError, UnavailableError
from app.settings import ServiceSettings
from app.storage import node_keys
from app.storage.broker_basics import (
    ALIVE,
    QUEUE_DISPATCHER,
    SILENCE_SECONDS,
    TASK_ALIVE,
    TASK_DISPATCH,
    TASKS,
    note_alive,
)
from worker.contract import Attempt, Heartbeat
from worker.contract.broker.transport import use_careful_transport
from worker.contract.broker.url import celery_url, redis_url
from worker.contract.names import (
    QUEUE_RECORDER,
    TASK_ATTEMPT,
    TASK_FROM_NODE,
    cancel_key,
    heartbeat_key,
    node_queue,
    results_queue,
    sender_of,
)

log = structlog.get_logger(__name__)

# Our own key for unacknowledged messages: we must not restore those of the nodes.
UNACKED = "samehere.unacked"
WAKE_UP = "samehere:dispatch-wanted"
RECORDER_SINCE = "samehere:recorder-since"
WAKE_UP_MILLISECONDS = 2000
FLAG_SECONDS = 3600
# The end of a taken message, as Celery stores it: the list that it came from.
OF_THE_RECORDER = re.compile(rb'"(%s(?:\.[a-z0-9._-]{1,64})?)"\]\Z' % QUEUE_RECORDER.encode())
HEARTBEAT_BYTES = 64 * 1024


def run_channel(run_id: str) -> str:
    """The pub/sub channel that announces new events of a run."""
    return f"samehere:run:{run_id}"


def make_celery(settings: ServiceSettings) -> Celery:
    """The Celery application of the trusted side, without tasks.

    Raises UnavailableError without a broker URL.
    """
    url = settings.reveal_broker_url()
    if url is None:
        raise UnavailableError("SAMEHERE_BROKER_URL is not set; `samehere serve` sets it for its own broker.")
    visibility = max(1, int(settings.lease_seconds / 2))
    use_careful_transport()
    application = Celery("samehere", broker=celery_url(url), set_as_current=False)
    application.conf.update(
        accept_content=["json"],
        task_serializer="json",
        result_backend=None,
        task_ignore_result=True,
        task_acks_late=False,
        task_reject_on_worker_lost=True,
        task_default_queue=QUEUE_DISPATCHER,
        task_create_missing_queues=True,
        task_routes={TASK_FROM_NODE: {"queue": QUEUE_RECORDER}},
        task_publish_retry=True,
        task_publish_retry_policy={
            "max_retries": 1,
            "interval_start": 0,
            "interval_step": 0.1,
            "interval_max": 0.1,
        },
        task_send_sent_event=False,
        worker_send_task_events=False,
        worker_enable_remote_control=False,
        worker_prefetch_multiplier=1,
        worker_hijack_root_logger=False,
        worker_soft_shutdown_timeout=5.0,
        broker_connection_retry_on_startup=True,
        broker_connection_max_retries=None,
        broker_transport_options={
            "tasks": list(TASKS),
            # The message of a killed recorder is restored well before the lease of its attempt ends.
            "visibility_timeout": visibility,
            "unacked_restore_interval": max(1, visibility // 3),
            "unacked_restore_throttle": 1,
            "unacked_mutex_expire": visibility,
            "unacked_key": UNACKED,
            "unacked_index_key": f"{UNACKED}.index",
            "unacked_mutex_key": f"{UNACKED}.mutex",
            "socket_connect_timeout": 2,
            # If the machine of the broker is gone, the connection is closed and opened again.
            "socket_timeout": SILENCE_SECONDS,
        },
        beat_scheduler="celery.beat:Scheduler",
        timezone="UTC",
    )
    return application


@contextmanager
def _answering() -> Iterator[None]:
    try:
        yield
    except (RedisError, OperationalError, OSError) as error:
        raise UnavailableError("The broker does not answer.", code="broker_unavailable") from error


class Broker:
    """Sends attempts, reads heartbeats, and announces events.

    Every method raises UnavailableError if the broker is down.
    """

    def __init__(self, settings: ServiceSettings) -> None:
        self.celery = make_celery(settings)
        url = redis_url(settings.reveal_broker_url() or "")
        timeouts = (
            {"socket_timeout": 5}
            if url.startswith("unix://")
            else {"socket_timeout": 5, "socket_connect_timeout": 2}
        )
        self.redis: Redis = Redis.from_url(url, retry=Retry(NoBackoff(), 1), **timeouts)

    def close(self) -> None:
        """Close the connections."""
        self.redis.close()
        self.celery.close()

    def ping(self) -> None:
        """Raise UnavailableError if the broker doesn't answer."""
        with _answering():
            self.redis.ping()

    def send_attempt(self, node: str, attempt: Attempt, *, expires: datetime) -> None:
        """Put an attempt into the queue of a node. The message expires with the lease."""
        with _answering():
            self.celery.send_task(
                TASK_ATTEMPT, args=[attempt.model_dump(mode="json")], queue=node_queue(node), expires=expires
            )

    def announce(self, events: Mapping[str, int], *, wakes_dispatcher: bool) -> None:
        """Announce that the events of these runs reach up to these numbers, in one round trip.

        With `wakes_dispatcher`, also ask for a round of dispatch. Several requests before the next round are
        one.
        """
        with _answering(), self.redis.pipeline(transaction=False) as pipeline:
            if wakes_dispatcher:
                pipeline.set(WAKE_UP, 1, nx=True, px=WAKE_UP_MILLISECONDS)
            for run_id, number in events.items():
                pipeline.publish(run_channel(run_id), number)
            answers = pipeline.execute()
            if wakes_dispatcher and answers[0]:
                self.celery.send_task(
                    TASK_DISPATCH, queue=QUEUE_DISPATCHER, expires=WAKE_UP_MILLISECONDS / 1000 * 5
                )

    def begin_dispatch(self) -> None:
        """Mark the start of a round of dispatch: a request from now on needs another round."""
        with _answering():
            self.redis.delete(WAKE_UP)

    def flag_cancelled(self, node: str, attempt_ids: Iterable[str]) -> None:
        """Ask a node to stop these attempts."""
        with _answering(), self.redis.pipeline() as pipeline:
            pipeline.sadd(cancel_key(node), *attempt_ids)
            pipeline.expire(cancel_key(node), FLAG_SECONDS)
            pipeline.execute()

    def unflag_cancelled(self, node: str, attempt_ids: Iterable[str]) -> None:
        """Remove the cancel flags of attempts that have ended."""
        with _answering():
            self.redis.srem(cancel_key(node), *attempt_ids)

    def heartbeats(self, nodes: Iterable[str]) -> dict[str, Heartbeat]:
        """The heartbeats of those nodes that are alive, by name. An invalid heartbeat is ignored."""
        names = list(nodes)
        if not names:
            return {}
        with _answering(), self.redis.pipeline(transaction=False) as pipeline:
            # A node can store any amount. No more of it is read than a heartbeat has.
            for name in names:
                pipeline.getrange(heartbeat_key(name), 0, HEARTBEAT_BYTES)
            # A key that holds no text has an error in its place.
            values = cast("list[object]", pipeline.execute(raise_on_error=False))
        heartbeats: dict[str, Heartbeat] = {}
        for name, value in zip(names, values, strict=True):
            if not isinstance(value, bytes) or not 0 < len(value) <= HEARTBEAT_BYTES:
                continue
            try:
                heartbeat = Heartbeat.model_validate_json(value)
            except ValidationError:
                log.warning("heartbeat_refused", node=name)
                continue
            if heartbeat.node == name:
                heartbeats[name] = heartbeat
        return heartbeats

    def unrecorded_messages(self) -> Counter[str | None]:
        """The number of unrecorded messages by their node, including those that a recorder has taken.

        None stands for the list that nodes without a key share.
        """
        with _answering():
            lists = [QUEUE_RECORDER, *map(results_queue, self.keyed_nodes())]
            waiting = Counter({sender_of(name): int(self.redis.llen(name)) for name in lists})
            if self.redis.hlen(UNACKED):
                for value in cast("list[bytes]", self.redis.hvals(UNACKED)):
                    if place := OF_THE_RECORDER.search(value.rstrip()):
                        waiting[sender_of(place[1].decode())] += 1
        return +waiting

    def recorder_backlog(self) -> int:
        """The number of unrecorded messages of all nodes."""
        return self.unrecorded_messages().total()

    def keyed_nodes(self) -> list[str]:
        """The nodes with a key, each of which sends to a list of its own. None if the broker has no keys."""
        with _answering():
            try:
                return node_keys.keyed_nodes(self.redis)
            except SetupError:
                return []

    def ask_for_sign_of_life(self, *, expires: float) -> None:
        """Send the recorder a message that it answers with `note_alive`."""
        with _answering():
            self.celery.send_task(TASK_ALIVE, queue=QUEUE_DISPATCHER, expires=expires)

    def note_alive(self, part: str) -> None:
        """Store that a process of this machine does its work: `recorder` or `beat`."""
        with _answering():
            note_alive(self.redis, part)

    def silence_seconds(self, part: str) -> float | None:
        """How long a process of this machine has given no sign of life. None if it never did."""
        with _answering():
            since = cast("bytes | None", self.redis.hget(ALIVE, f"{part}@{socket.gethostname()}"))
        return None if since is None else max(0.0, time.time() - float(since))

    def silences(self) -> dict[str, float]:
        """For each part, how many seconds ago any process of it gave a sign of life."""
        with _answering():
            signs = cast("dict[bytes, bytes]", self.redis.hgetall(ALIVE))
        latest: dict[str, float] = {}
        for name, since in signs.items():
            part = name.decode().partition("@")[0]
            latest[part] = max(float(since), latest.get(part, 0.0))
        return {part: max(0.0, time.time() - since) for part, since in latest.items()}

    def restore_messages(self) -> int:
        """Put the messages back that a killed recorder had taken, and return their number.

        Without this they come back after the visibility timeout; until then the places of their attempts
        look taken. A message that another recorder works on is done twice, which is harmless.
        """
        with _answering(), self.celery.connection_for_write() as connection:
            # The types of kombu do not know the channels of its transports.
            channel = cast("Any", connection.default_channel)
            tags = cast("list[bytes]", self.redis.zrange(f"{UNACKED}.index", 0, -1))
            for tag in tags:
                channel.qos.restore_by_tag(tag.decode())
        return len(tags)

    def recorder_started(self) -> None:
        """Store that a recorder starts now."""
        with _answering():
            self.redis.set(RECORDER_SINCE, time.time())

    def steady_seconds(self) -> float:
        """For how long the broker and a recorder have both been up.

        After a loss of the broker's data it counts from now.
        """
        with _answering():
            self.redis.set(RECORDER_SINCE, time.time(), nx=True)
            since = float(cast("bytes", self.redis.get(RECORDER_SINCE)) or time.time())
            information = self.redis.info("server")
        return min(time.time() - since, float(information["uptime_in_seconds"]))
