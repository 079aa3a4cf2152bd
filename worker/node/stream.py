"""The node as a filter: attempts as lines of JSON on stdin, results as lines of JSON on stdout."""

from __future__ import annotations

import os
import secrets
import signal
import sys
import threading
from types import FrameType
from typing import BinaryIO

import structlog
from pydantic import ValidationError

from worker.attempt.execute import Executor, Identity
from worker.cards.watch import watch_cards
from worker.contract import Attempt, Cancel, Drain, Draining, FromNode, Refused, from_node, to_node
from worker.environment import EnvironmentRecorder
from worker.machine.locks import LockFolderError
from worker.machine.settings import NodeSettings
from worker.node.facts import say_hello
from worker.sandbox import SandboxUnavailableError
from worker.slots.pool import SlotPool
from worker.toolchains import ToolchainStore
from worker.toolchains.demand import make_on_demand
from worker.warm import make_warm_starts

_log = structlog.get_logger(__name__)
EXIT_NO_SANDBOX = 3


class LineWriter:
    """Whole lines only, from any thread. Output that nobody reads any more ends the stream."""

    def __init__(self, output: BinaryIO) -> None:
        self._output = output
        self._lock = threading.Lock()
        self.broken = threading.Event()

    def write(self, message: FromNode) -> None:
        line = from_node.dump_json(message) + b"\n"
        with self._lock:
            if self.broken.is_set():
                return
            try:
                self._output.write(line)
                self._output.flush()
            except (BrokenPipeError, ValueError):
                self.broken.set()


class Stream:
    """Runs until its input ends or it is told to drain."""

    def __init__(self, settings: NodeSettings, *, incoming: BinaryIO, outgoing: BinaryIO) -> None:
        self._settings = settings
        self._incoming = incoming
        self._writer = LineWriter(outgoing)
        self._identity = Identity(settings.node_name, secrets.token_hex(8))
        self._toolchains = ToolchainStore(settings.toolchain_folder)
        self._cards = watch_cards(settings, self._toolchains)
        environments = EnvironmentRecorder(settings.cache_folder, probe_seconds=settings.probe_seconds)
        self._warm = make_warm_starts(settings)
        self._on_demand = make_on_demand(self._toolchains, settings)
        executor = Executor(
            self._identity,
            self._toolchains,
            environments,
            variables=settings.variables,
            warm=self._warm,
            on_demand=self._on_demand,
        )
        self._pool = SlotPool(
            settings, executor, identity=self._identity, deliver=self._deliver, cards=self._cards
        )

    def run(self) -> int:
        self._cards.start()
        try:
            self._pool.start()
        except (SandboxUnavailableError, LockFolderError) as error:
            self._writer.write(Refused(detail=str(error)))
            return EXIT_NO_SANDBOX
        self._writer.write(
            say_hello(
                self._identity,
                self._pool,
                self._toolchains,
                gpus=self._cards.cards(),
                on_demand=self._on_demand,
            )
        )
        signal.signal(signal.SIGTERM, _stop_reading)
        signal.signal(signal.SIGINT, _stop_reading)
        try:
            self._read()
        except _StopReading:
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            self._pool.drain()
            self._pool.cancel_all()
        self._pool.finish()
        self._pool.join()
        if self._warm is not None:
            self._warm.close()
        self._cards.stop()
        return 0

    def _deliver(self, message: FromNode) -> None:
        self._writer.write(message)
        if self._writer.broken.is_set():
            self._pool.cancel_all()

    def _read(self) -> None:
        limit = self._settings.message_bytes
        while line := self._incoming.readline(limit + 1):
            if len(line) > limit and not line.endswith(b"\n"):
                self._skip_line(limit)
                self._writer.write(Refused(detail=f"The line is longer than {limit} bytes."))
            elif line.strip():
                self._take(line)

    def _skip_line(self, limit: int) -> None:
        while (rest := self._incoming.readline(limit)) and not rest.endswith(b"\n"):
            pass

    def _take(self, line: bytes) -> None:
        try:
            message = to_node.validate_json(line)
        except ValidationError as error:
            self._writer.write(
                Refused(detail=f"The line is no message of this contract: {_what_is_wrong(error)}.")
            )
            return
        match message:
            case Attempt():
                if self._pool.submit(message) is None:
                    self._writer.write(Refused(detail="The attempt is here already, or the node drains."))
            case Cancel():
                self._pool.cancel(message.attempt_id)
            case Drain():
                self._writer.write(Draining(node=self._identity.node, instance=self._identity.instance))
                self._pool.drain()


class _StopReading(Exception):  # noqa: N818
    """Somebody asked this process to end."""


def _stop_reading(_number: int, _frame: FrameType | None) -> None:
    raise _StopReading


def _what_is_wrong(error: ValidationError) -> str:
    """Field and kind of the first error; never what was sent."""
    first = error.errors(include_url=False, include_input=False, include_context=False)[0]
    where = ".".join(str(part) for part in first["loc"] if isinstance(part, int) or part in _KNOWN_FIELDS)
    return f"{first['type']}{' at ' + where if where else ''}"


_KNOWN_FIELDS = frozenset(
    {
        *Attempt.model_fields,
        *Cancel.model_fields,
        "attempt",
        "cancel",
        "drain",
        "wall_seconds",
        "memory_bytes",
    }
)


def run_stream(settings: NodeSettings) -> int:
    """Messages keep stdout to themselves: whatever else prints there goes to stderr."""
    outgoing = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    return Stream(settings, incoming=sys.stdin.buffer, outgoing=outgoing).run()
