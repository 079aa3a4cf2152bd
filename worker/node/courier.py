"""Sends a node's messages to the recorder, in order, also after an outage of the broker."""

from __future__ import annotations

import queue
import threading
from pathlib import Path

import structlog
from celery import Celery
from kombu.exceptions import OperationalError

from worker.contract import Draining, FromNode, Hello, Result, Started, from_node
from worker.contract.names import TASK_FROM_NODE
from worker.node.spool import Spool
from worker.node.tasks import own_queue

_RETRY_SECONDS = 1.0
_log = structlog.get_logger(__name__)

Ephemeral = Hello | Started | Draining


class Courier:
    """Sends from one thread. Results wait on disk, other messages in memory."""

    def __init__(self, app: Celery, spool: Spool, *, results: str) -> None:
        self._app = app
        # The list to which everything is sent.
        self._results = own_queue(results)
        self._spool = spool
        self._outgoing: queue.SimpleQueue[Path | Ephemeral | None] = queue.SimpleQueue()
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="courier", daemon=True)
        # Results that an earlier process of this node could not deliver go first.
        for path in spool.pending():
            self._outgoing.put(path)

    def start(self) -> None:
        self._thread.start()

    def send(self, message: Ephemeral | Result) -> None:
        """Queue a message. A result is safe on disk when this returns."""
        self._outgoing.put(self._spool.add(message) if isinstance(message, Result) else message)

    def stop(self, seconds: float) -> None:
        """Wait until all messages are sent, but at most `seconds`. Results that are not sent stay on disk."""
        self._outgoing.put(None)
        self._thread.join(seconds)
        self._stopped.set()

    def _run(self) -> None:
        while (item := self._outgoing.get()) is not None:
            message = self._spool.read(item) if isinstance(item, Path) else item
            if message is not None and not self._deliver(message):
                return
            if isinstance(item, Path):
                self._spool.remove(item)

    def _deliver(self, message: FromNode) -> bool:
        """Send one message, and try again until it works. False if the node ends first."""
        body = from_node.dump_python(message, mode="json")
        failures = 0
        while not self._stopped.is_set():
            try:
                self._app.send_task(
                    TASK_FROM_NODE,
                    args=[body],
                    queue=self._results,  # type: ignore[arg-type]  # the stub knows names only
                    retry=False,
                    ignore_result=True,
                )
            except (OperationalError, OSError) as error:
                failures += 1
                if failures == 1:
                    _log.warning("broker_unreachable", kind=type(error).__name__)
                self._stopped.wait(_RETRY_SECONDS)
                continue
            if failures:
                _log.info("broker_reachable_again", failures=failures)
            return True
        return False
