"""The node on a broker: takes attempts from its own queue, gives signs of life, and delivers every result at least once."""

from __future__ import annotations

import secrets
import threading
import time
import warnings
from typing import Any

import redis
import structlog
from celery import signals

from worker.attempt.execute import Executor, Identity
from worker.cards.watch import watch_cards
from worker.contract import Attempt, Draining, Heartbeat, Hello
from worker.contract.names import cancel_key, heartbeat_key
from worker.environment import EnvironmentRecorder
from worker.machine.broker import connect
from worker.machine.lending import Closed
from worker.machine.settings import NodeSettings
from worker.node.courier import Courier
from worker.node.facts import say_hello
from worker.node.spool import Spool
from worker.node.tasks import make_celery, register_attempt
from worker.slots.pool import PREVIEW_PLACES, SlotPool
from worker.toolchains import ToolchainStore
from worker.toolchains.demand import make_on_demand
from worker.warm import make_warm_starts

_log = structlog.get_logger(__name__)
_TICK_SECONDS = 1.0
_GOODBYE_SECONDS = 5.0


class Node:
    """Everything of one node process; `run` blocks until it is told to end."""

    def __init__(self, settings: NodeSettings) -> None:
        self._settings = settings
        self._identity = Identity(settings.node_name, secrets.token_hex(8))
        self._toolchains = ToolchainStore(settings.toolchain_folder)
        self._cards = watch_cards(settings, self._toolchains)
        self._lending = settings.lending(settings.node_name)
        self._closed: Closed | None = None
        self._celery = make_celery(settings.broker_url, settings.node_name)
        self._broker = connect(settings.broker_url)
        self._courier = Courier(self._celery, Spool(settings.spool_folder(settings.node_name)))
        environments = EnvironmentRecorder(settings.cache_folder, probe_seconds=settings.probe_seconds)
        self._warm = make_warm_starts(settings)
        self._on_demand = make_on_demand(self._toolchains, settings)
        executor = Executor(
            self._identity,
            self._toolchains,
            environments,
            variables=settings.variables,
            warm=self._warm,
            note=settings.cache_folder / "usual-toolchain",
            on_demand=self._on_demand,
        )
        self._pool = SlotPool(
            settings,
            executor,
            identity=self._identity,
            deliver=self._courier.send,
            cards=self._cards,
            previews=self._warm is not None,
            gives_back=True,
        )
        self._draining = threading.Event()
        self._ended = threading.Event()
        self._said_draining = False
        self._saying = threading.Lock()
        self._last_hello = ""
        self._outage = False

    def run(self) -> int:
        """Raise SandboxUnavailableError when nothing can be isolated here."""
        self._cards.start()
        self._pool.start()
        self._courier.start()
        self._hello()
        register_attempt(self._celery, self._run_attempt)
        pulse = threading.Thread(target=self._pulse, name="heartbeat", daemon=True)
        pulse.start()
        signals.worker_shutting_down.connect(self._on_shutdown, weak=False)
        # The node may be root: what it runs for others never is.
        warnings.filterwarnings("ignore", message="You're running the worker with superuser")
        worker = self._celery.Worker(
            pool="threads",
            # All that the dispatcher gives: one for each slot and one for previews, and of both one that waits.
            concurrency=self._settings.slots + 1 + PREVIEW_PLACES + 1,
            hostname=f"{self._settings.node_name}@samehere",
            without_gossip=True,
            without_mingle=True,
            without_heartbeat=True,
            loglevel="WARNING",
            quiet=True,
        )
        worker.start()
        self._end()
        pulse.join(_GOODBYE_SECONDS)
        return int(worker.exitcode or 0)

    def _run_attempt(self, attempt: Attempt) -> None:
        """In a thread of Celery's pool: what waits for a slot waits here, and is named in the heartbeat."""
        if self._draining.is_set():
            return
        done = self._pool.submit(attempt)
        if done is not None:
            done.wait()

    def _on_shutdown(self, **_: Any) -> None:
        """From a signal handler: only say so; the heartbeat's thread acts."""
        self._draining.set()

    def _say_draining(self) -> None:
        """Once, by whoever comes first: an idle node ends sooner than its pulse beats."""
        with self._saying:
            if not self._said_draining:
                self._said_draining = True
                self._courier.send(Draining(node=self._identity.node, instance=self._identity.instance))

    def _end(self) -> None:
        self._draining.set()
        self._say_draining()
        self._pool.drain()
        self._pool.join()
        if self._warm is not None:
            self._warm.close()
        self._cards.stop()
        self._ended.set()
        self._courier.stop(_GOODBYE_SECONDS)

    def _pulse(self) -> None:
        """Once a second: what to cancel; less often the heartbeat and the hello. An outage is said once and waited out."""
        next_beat = next_hello = 0.0
        next_hello = time.monotonic() + self._settings.hello_seconds
        drain_ends: float | None = None
        while not self._ended.wait(_TICK_SECONDS if next_beat else 0.0):
            now = time.monotonic()
            if self._draining.is_set() and drain_ends is None:
                drain_ends = now + self._settings.drain_seconds
                self._say_draining()
                self._pool.drain()
                next_beat = now
            if drain_ends is not None and now >= drain_ends:
                _log.warning("drain_time_is_up", running=len(self._pool.running()))
                self._pool.abandon()
            if self._opens_or_closes():
                next_beat = now
            if drain_ends is None and (now >= next_hello or self._offers_change()):
                self._hello()
                next_hello = now + self._settings.hello_seconds
            try:
                self._cancel_asked()
                if now >= next_beat:
                    self._beat()
                    next_beat = now + self._settings.heartbeat_seconds
            except redis.RedisError as error:
                next_beat = now
                self._note_outage(error)
            else:
                self._outage = False
        self._say_goodbye()

    def _opens_or_closes(self) -> bool:
        """Whether its owner wanted the machine back, or lends it again."""
        before, self._closed = self._closed, self._lending.closed()
        if self._closed == before:
            return False
        if self._closed is None:
            _log.info("node_opened")
            self._pool.resume()
        else:
            _log.info("node_closed", why=self._closed.why, at_once=self._closed.at_once)
            self._pool.pause(at_once=self._closed.at_once)
        return True

    def _cancel_asked(self) -> None:
        key = cancel_key(self._identity.node)
        asked = self._broker.smembers(key)
        for attempt_id in asked if isinstance(asked, set) else ():
            # What is not here yet stays in the set, for when it comes.
            if self._pool.cancel(str(attempt_id)):
                self._broker.srem(key, attempt_id)

    def _beat(self) -> None:
        draining = self._draining.is_set() or self._closed is not None
        heartbeat = Heartbeat(
            node=self._identity.node,
            instance=self._identity.instance,
            running=self._pool.running(),
            free_slots=0 if draining else self._pool.free_slots,
            draining=draining,
        )
        lifetime = max(1, round(3 * self._settings.heartbeat_seconds))
        self._broker.set(heartbeat_key(self._identity.node), heartbeat.model_dump_json(), ex=lifetime)

    def _say_goodbye(self) -> None:
        """The next one to lease this node's attempts need not wait for the key to expire."""
        try:
            self._broker.delete(heartbeat_key(self._identity.node))
        except redis.RedisError as error:
            self._note_outage(error)

    def _note_outage(self, error: redis.RedisError) -> None:
        if not self._outage:
            _log.warning("broker_unreachable", kind=type(error).__name__)
        self._outage = True

    def _hello(self) -> None:
        hello = self._offer()
        self._last_hello = hello.model_dump_json()
        self._courier.send(hello)

    def _offers_change(self) -> bool:
        return self._offer().model_dump_json() != self._last_hello

    def _offer(self) -> Hello:
        return say_hello(
            self._identity, self._pool, self._toolchains, gpus=self._cards.cards(), on_demand=self._on_demand
        )


def run_node(settings: NodeSettings) -> int:
    return Node(settings).run()
