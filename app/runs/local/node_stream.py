"""The node of a run without a server: `python -m worker` as a child of ours, with messages as lines of JSON."""

from __future__ import annotations

import contextlib
import queue
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from pathlib import Path
from typing import IO

from pydantic import ValidationError

from app.embedded.process import launch_argv
from app.errors import NodeError, SetupError
from worker.contract import FromNode, Hello, Level, Refused, ToNode, from_node, to_node

HELLO_SECONDS = 60.0
STOP_SECONDS = 15.0
LINE_BYTES = 16 * 1024 * 1024
KEPT_LOG_LINES = 20


class NodeStream:
    """One process, in a session of its own so that Ctrl-C reaches only us; it cancels everything and ends when we die."""

    def __init__(self, *, level: Level | None = None) -> None:
        self._process: subprocess.Popen[bytes] = subprocess.Popen(
            launch_argv(
                [sys.executable, "-m", "worker", *(["--level", level.value] if level else [])],
                death_signal=signal.SIGTERM,
                cwd=Path.cwd(),
            ),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        self._messages: queue.SimpleQueue[FromNode | None] = queue.SimpleQueue()
        self._log: deque[str] = deque(maxlen=KEPT_LOG_LINES)
        self._threads = [
            threading.Thread(target=self._read_messages, args=(self._process.stdout,), daemon=True),
            threading.Thread(target=self._read_log, args=(self._process.stderr,), daemon=True),
        ]
        for thread in self._threads:
            thread.start()

    def hello(self) -> Hello:
        """The first word. Raises SetupError where this machine can't isolate, NodeError where the node does not come up."""
        deadline = time.monotonic() + HELLO_SECONDS
        while (left := deadline - time.monotonic()) > 0:
            message = self.receive(left)
            if isinstance(message, Hello):
                return message
            if isinstance(message, Refused):
                raise SetupError(message.detail, code="no_sandbox")
        raise NodeError(
            f"The node on this machine said nothing for {HELLO_SECONDS:g} seconds.{self.last_words()}"
        )

    def send(self, message: ToNode) -> None:
        """Give it a message. Raises NodeError when it has ended."""
        assert self._process.stdin is not None  # noqa: S101  # opened above
        try:
            self._process.stdin.write(to_node.dump_json(message) + b"\n")
            self._process.stdin.flush()
        except (BrokenPipeError, ValueError) as error:
            raise NodeError(f"The node on this machine ended.{self.last_words()}") from error

    def receive(self, seconds: float) -> FromNode | None:
        """The next message; None when none came in time. Raises NodeError when it has ended."""
        try:
            message = self._messages.get(timeout=max(0.0, seconds))
        except queue.Empty:
            return None
        if message is None:
            # Said again to whoever asks again.
            self._messages.put(None)
            raise NodeError(
                f"The node on this machine ended with status {self._process.wait()}.{self.last_words()}"
            )
        return message

    def last_words(self) -> str:
        """The end of its log, to follow a message; empty when it said nothing."""
        self._threads[1].join(1.0 if self._process.poll() is not None else 0.0)
        return "".join(f"\n  {line}" for line in self._log)

    def stop(self) -> None:
        """End it and all it runs, and wait until it is gone; a second Ctrl-C doesn't wait."""
        if self._process.poll() is None:
            self._process.terminate()
        try:
            self._process.wait(STOP_SECONDS)
        except (subprocess.TimeoutExpired, KeyboardInterrupt):
            self._process.kill()
            self._process.wait()
        for thread in self._threads:
            thread.join(1.0)
        for pipe in (self._process.stdin, self._process.stdout, self._process.stderr):
            if pipe is not None:
                with contextlib.suppress(BrokenPipeError):
                    pipe.close()

    def _read_messages(self, output: IO[bytes]) -> None:
        while line := output.readline(LINE_BYTES):
            try:
                self._messages.put(from_node.validate_json(line))
            except ValidationError:
                self._log.append("(a line that is no message)")
        self._messages.put(None)

    def _read_log(self, output: IO[bytes]) -> None:
        while line := output.readline(LINE_BYTES):
            self._log.append(line.decode("utf-8", "replace").rstrip()[:2000])
