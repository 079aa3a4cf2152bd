"""The node as a filter: attempts as lines of JSON on stdin, results as lines of JSON on stdout."""

from __future__ import annotations

import os
import signal
import sys
import threading
from types import FrameType
from typing import BinaryIO

from pydantic import ValidationError

from worker.contract import Attempt, Cancel, Drain, Draining, FromNode, Refused, from_node, to_node
from worker.machine.locks import LockFolderError
from worker.machine.settings import NodeSettings
from worker.node.parts import build_node
from worker.sandbox import SandboxUnavailableError

EXIT_NO_SANDBOX = 3


class LineWriter:
    """Writes whole lines, from any thread. `broken` is set once nobody reads the output any more."""

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
    """Runs the attempts of its input until the input ends or the node drains."""

    def __init__(self, settings: NodeSettings, *, incoming: BinaryIO, outgoing: BinaryIO) -> None:
        self._settings = settings
        self._incoming = incoming
        self._writer = LineWriter(outgoing)
        self._parts = build_node(settings, self._deliver, on_broker=False)
        self._identity = self._parts.identity
        self._pool = self._parts.pool

    def run(self) -> int:
        """The exit status: 0, or EXIT_NO_SANDBOX if this machine can't run attempts."""
        try:
            self._parts.start()
        except (SandboxUnavailableError, LockFolderError) as error:
            self._writer.write(Refused(detail=str(error)))
            return EXIT_NO_SANDBOX
        self._writer.write(self._parts.make_hello())
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
        self._parts.close()
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
                Refused(detail=f"The line is no message of this contract: {_first_error(error)}.")
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
    """A signal asked this process to end."""


def _stop_reading(_number: int, _frame: FrameType | None) -> None:
    raise _StopReading


def _first_error(error: ValidationError) -> str:
    """The kind of the first error and its field. Never the value: it may be part of a script."""
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
    """Run the stream on standard input and output. The exit status.

    Whatever else prints to standard output goes to standard error, so that only messages are there.
    """
    outgoing = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    return Stream(settings, incoming=sys.stdin.buffer, outgoing=outgoing).run()
