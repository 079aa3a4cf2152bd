"""The node on a broker. It runs the attempts of its own queue, and delivers each result at least once.

A key on the broker shows that the node is alive.
"""

from __future__ import annotations

import threading
import time
import warnings
from typing import Any

import redis
import structlog
from celery import signals

from worker.contract import Attempt, Draining, Heartbeat
from worker.contract.names import cancel_key, heartbeat_key
from worker.machine.broker import connect
from worker.machine.lending import Closure
from worker.machine.settings import NodeSettings
from worker.node.courier import Courier
from worker.node.parts import build_node
from worker.node.spool import Spool
from worker.node.tasks import make_celery, register_attempt, results_list

_log = structlog.get_logger(__name__)
_TICK_SECONDS = 1.0
_GOODBYE_SECONDS = 5.0
_NEW_KEY = "make a key with `samehere node-key create`, and start the node again with it"


def _keep_log(**_facts: Any) -> None:
    """The log is set up already."""


class Node:
    """One node process. `run` returns after the process was asked to end."""

    def __init__(self, settings: NodeSettings) -> None:
        self._settings = settings
        self._lending = settings.lending(settings.node_name)
        self._closure: Closure | None = None
        url = settings.reveal_broker_url()
        results = results_list(url, settings.node_name)
        self._celery = make_celery(url, settings.node_name)
        self._broker = connect(url)
        spool = Spool(settings.spool_folder(settings.node_name))
        self._courier = Courier(self._celery, spool, results=results)
        self._parts = build_node(settings, self._courier.send, on_broker=True)
        self._identity = self._parts.identity
        self._pool = self._parts.pool
        self._draining = threading.Event()
        self._ended = threading.Event()
        self._draining_lock = threading.Lock()
        self._has_sent_draining = False
        # The last hello as JSON: another one is sent when it changes.
        self._last_hello = ""
        # The kind of error while the broker does not answer; empty while it does.
        self._outage = ""

    def run(self) -> int:
        """The exit status. Raises SandboxUnavailableError if this machine gives no acceptable isolation."""
        self._parts.start()
        self._courier.start()
        _log.info("node_started", level=self._pool.level, slots=self._settings.slots)
        # The dispatcher acts on the hello at once, and gives work only to a node whose heartbeat it sees.
        self._try_heartbeat()
        self._send_hello()
        register_attempt(self._celery, self._run_attempt)
        pulse = threading.Thread(target=self._pulse, name="heartbeat", daemon=True)
        pulse.start()
        # A receiver keeps Celery from setting up a log of its own.
        signals.setup_logging.connect(_keep_log, weak=False)
        signals.worker_shutting_down.connect(self._on_shutdown, weak=False)
        # The node may be root, since the attempts that it runs never are.
        warnings.filterwarnings("ignore", message="You're running the worker with superuser")
        worker = self._celery.Worker(
            pool="threads",
            # The dispatcher sends one attempt for each slot, one preview for each of their places, and one
            # more of each kind that waits.
            concurrency=self._settings.slots + 1 + self._settings.preview_places + 1,
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
        """Run an attempt, or wait for a slot first. The heartbeat names it in both cases.

        Called in a thread of Celery's pool. A message for an earlier start of this node is dropped: our hello
        ends its lease, and the next lease comes in a message of its own.
        """
        if self._draining.is_set():
            return
        if attempt.instance not in {"", self._identity.instance}:
            _log.info("stale_lease_dropped", attempt_id=attempt.attempt_id, lease_no=attempt.lease_no)
            return
        done = self._pool.submit(attempt)
        if done is not None:
            done.wait()

    def _on_shutdown(self, **_: Any) -> None:
        """A signal handler, so it only sets a flag; the thread of the heartbeat acts on it."""
        self._draining.set()

    def _send_draining(self) -> None:
        """Send Draining once. Two threads may call this: an idle node ends before its next heartbeat."""
        with self._draining_lock:
            if not self._has_sent_draining:
                self._has_sent_draining = True
                self._courier.send(Draining(node=self._identity.node, instance=self._identity.instance))

    def _end(self) -> None:
        self._draining.set()
        self._send_draining()
        self._pool.drain()
        self._parts.close()
        self._ended.set()
        self._courier.stop(_GOODBYE_SECONDS)

    def _pulse(self) -> None:
        """Look for cancelled attempts every second, and send heartbeats and hellos, until the node ends.

        An outage of the broker is logged once.
        """
        next_beat = 0.0
        next_hello = time.monotonic() + self._settings.hello_seconds
        drain_ends: float | None = None
        while not self._ended.wait(_TICK_SECONDS if next_beat else 0.0):
            now = time.monotonic()
            if self._draining.is_set() and drain_ends is None:
                drain_ends = now + self._settings.drain_seconds
                self._send_draining()
                self._pool.drain()
                next_beat = now
            if drain_ends is not None and now >= drain_ends:
                _log.warning("drain_time_is_up", running=len(self._pool.running()))
                self._pool.abandon()
            if self._open_or_close():
                next_beat = now
            if drain_ends is None and (now >= next_hello or self._has_new_offer()):
                self._send_hello()
                next_hello = now + self._settings.hello_seconds
            try:
                self._cancel_flagged()
                if now >= next_beat:
                    self._send_heartbeat()
                    next_beat = now + self._settings.heartbeat_seconds
            except redis.RedisError as error:
                next_beat = now
                self._note_outage(error)
            else:
                self._outage = ""
        self._delete_heartbeat()

    def _open_or_close(self) -> bool:
        """Pause or resume the pool if the machine's owner takes it back or lends it. True if that changed."""
        before, self._closure = self._closure, self._lending.closure()
        if self._closure == before:
            return False
        if self._closure is None:
            _log.info("node_opened")
            self._pool.resume()
        else:
            _log.info("node_closed", why=self._closure.why, at_once=self._closure.at_once)
            # Before anything is given back, so that the dispatcher does not send it here again.
            self._try_heartbeat()
            self._pool.pause(at_once=self._closure.at_once)
        return True

    def _cancel_flagged(self) -> None:
        """Cancel the attempts that the service flagged on the broker."""
        key = cancel_key(self._identity.node)
        attempt_ids = self._broker.smembers(key)
        for attempt_id in attempt_ids if isinstance(attempt_ids, set) else ():
            # An attempt that has not arrived yet keeps its flag until it arrives.
            if self._pool.cancel(str(attempt_id)):
                self._broker.srem(key, attempt_id)

    def _send_heartbeat(self) -> None:
        draining = self._draining.is_set() or self._closure is not None
        heartbeat = Heartbeat(
            node=self._identity.node,
            instance=self._identity.instance,
            running=self._pool.running(),
            free_slots=0 if draining else self._pool.free_slots,
            draining=draining,
        )
        lifetime = max(1, round(3 * self._settings.heartbeat_seconds))
        self._broker.set(heartbeat_key(self._identity.node), heartbeat.model_dump_json(), ex=lifetime)

    def _try_heartbeat(self) -> None:
        try:
            self._send_heartbeat()
        except redis.RedisError as error:
            self._note_outage(error)

    def _delete_heartbeat(self) -> None:
        """Delete the key, so that other nodes get this node's attempts before it expires."""
        try:
            self._broker.delete(heartbeat_key(self._identity.node))
        except redis.RedisError as error:
            self._note_outage(error)

    def _note_outage(self, error: redis.RedisError) -> None:
        before, self._outage = self._outage, type(error).__name__
        if isinstance(error, redis.AuthenticationError):
            if before != self._outage:
                # The key was revoked, or the broker has lost its data.
                _log.error("broker_refuses_the_key", remedy=_NEW_KEY)
        elif not before:
            _log.warning("broker_unreachable", kind=self._outage)

    def _send_hello(self) -> None:
        hello = self._parts.make_hello()
        self._last_hello = hello.model_dump_json()
        self._courier.send(hello)

    def _has_new_offer(self) -> bool:
        return self._parts.make_hello().model_dump_json() != self._last_hello


def run_node(settings: NodeSettings) -> int:
    """Run a node until it is asked to end. The exit status."""
    return Node(settings).run()
