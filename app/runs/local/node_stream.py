"""The node of a run on this machine: `python -m worker` as a child process, with one JSON message a line."""

from __future__ import annotations

import contextlib
import queue
import signal
import subprocess
import threading
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO

from pydantic import ValidationError

from app.embedded.server import launch_argv
from app.errors import NodeError, SetupError
from app.extras import require_node
from app.targets.fleet import usable
from worker.contract import FromNode, Hello, Level, Refused, ToNode, from_node, to_node
from worker.contract.own_process import WORKING_FOLDER, own_environment, python_command

HELLO_SECONDS = 60.0
STOP_SECONDS = 15.0
LINE_BYTES = 16 * 1024 * 1024
LOG_LINES = 20


@contextmanager
def open_node(level: Level | None) -> Iterator[NodeStream]:
    """Start the node of this machine, and stop it at the end. Raises SetupError if it is not installed."""
    require_node(otherwise=", or --server URL")
    node = NodeStream(level=level)
    try:
        yield node
    finally:
        node.stop()


def require_toolchain(hello: Hello) -> None:
    """Raise SetupError if the node has no toolchain that is ready."""
    if usable(hello):
        return
    states = "".join(
        f"\n  {toolchain.name} is {toolchain.state}: {toolchain.detail}" for toolchain in hello.toolchains
    )
    raise SetupError(
        "This machine has no toolchain that is ready. A toolchain is an interpreter with packages, such as"
        f" torch, in which scripts run.{states}\n"
        "Build one with: samehere toolchain add torch-2.13-cpu torch==2.13.0 numpy\n"
        "or use one that you have: samehere toolchain adopt NAME --python /path/to/venv/bin/python",
        code="no_toolchain",
    )


class NodeStream:
    """The process of a node.

    It has its own session, so that Ctrl-C reaches only us. If we die, it cancels everything and ends.
    """

    def __init__(self, *, level: Level | None = None) -> None:
        self._process: subprocess.Popen[bytes] = subprocess.Popen(
            launch_argv(
                python_command("-m", "worker", *(["--level", level.value] if level else [])),
                death_signal=signal.SIGTERM,
                cwd=WORKING_FOLDER,
            ),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=own_environment(),
            cwd=WORKING_FOLDER,
            start_new_session=True,
        )
        self._messages: queue.SimpleQueue[FromNode | None] = queue.SimpleQueue()
        self._log: deque[str] = deque(maxlen=LOG_LINES)
        self._threads = [
            threading.Thread(target=self._read_messages, args=(self._process.stdout,), daemon=True),
            threading.Thread(target=self._read_log, args=(self._process.stderr,), daemon=True),
        ]
        for thread in self._threads:
            thread.start()

    def hello(self) -> Hello:
        """Wait for the node's first message.

        Raises SetupError if this machine can't isolate, NodeError if none comes.
        """
        deadline = time.monotonic() + HELLO_SECONDS
        while (seconds_left := deadline - time.monotonic()) > 0:
            message = self.receive(seconds_left)
            if isinstance(message, Hello):
                return message
            if isinstance(message, Refused):
                raise SetupError(message.detail, code="no_sandbox")
        raise NodeError(
            f"The node on this machine sent nothing for {HELLO_SECONDS:g} seconds.{self.log_tail()}"
        )

    def send(self, message: ToNode) -> None:
        """Send a message. Raises NodeError if the node has ended."""
        assert self._process.stdin is not None  # noqa: S101  # opened above
        try:
            self._process.stdin.write(to_node.dump_json(message) + b"\n")
            self._process.stdin.flush()
        except (BrokenPipeError, ValueError) as error:
            raise NodeError(f"The node on this machine ended.{self.log_tail()}") from error

    def receive(self, seconds: float) -> FromNode | None:
        """The next message, or None if none came in time. Raises NodeError if the node has ended."""
        try:
            message = self._messages.get(timeout=max(0.0, seconds))
        except queue.Empty:
            return None
        if message is None:
            # The next call has to see the end too.
            self._messages.put(None)
            raise NodeError(
                f"The node on this machine ended with status {self._process.wait()}.{self.log_tail()}"
            )
        return message

    def log_tail(self) -> str:
        """The last lines of the node's log, to be appended to a message."""
        self._threads[1].join(1.0 if self._process.poll() is not None else 0.0)
        return "".join(f"\n  {line}" for line in self._log)

    def stop(self) -> None:
        """End the node and its attempts, and wait for the end. A second Ctrl-C kills it at once."""
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
                self._log.append("(a line that is not a message)")
        self._messages.put(None)

    def _read_log(self, output: IO[bytes]) -> None:
        while line := output.readline(LINE_BYTES):
            self._log.append(line.decode("utf-8", "replace").rstrip()[:2000])
