"""A child process of the supervisor, and the growing waits before it is started again."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import BinaryIO

import app
from app.embedded.server import launch_argv
from worker.contract.own_process import WORKING_FOLDER, own_environment, python_command

FIRST_WAIT_SECONDS = 0.5
LONGEST_WAIT_SECONDS = 30.0
# A child that ran so long is healthy, so the next wait is short again.
HEALTHY_SECONDS = 60.0
LINE_BYTES = 64 * 1024


def installation() -> list[Path]:
    """The folders that our Python processes read: interpreter, packages and sources."""
    return [Path(sys.prefix), Path(sys.base_prefix), Path(app.__file__).resolve().parents[1]]


def can_drop_to(uid: int, view: Sequence[Path]) -> bool:
    """Whether a process with this uid can reach the folders of the view."""
    # This module only defines the settings, so running it shows that the installation can be imported.
    argv = python_command("-m", "app.settings")
    probe = launch_argv(argv, death_signal=signal.SIGKILL, cwd=WORKING_FOLDER, uid=uid, view=view)
    ended = subprocess.run(
        probe,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
        env=own_environment(),
        cwd=WORKING_FOLDER,
    )
    return ended.returncode == 0


class Backoff:
    """The wait before a new start. It doubles with each failure, up to a limit."""

    def __init__(self) -> None:
        self.failures = 0
        self.start_at = 0.0

    def note_end(self, now: float, *, ran_seconds: float) -> float:
        """Note that the process has ended. Returns the seconds to wait before the next start."""
        self.failures = 1 if ran_seconds > HEALTHY_SECONDS else self.failures + 1
        wait = min(LONGEST_WAIT_SECONDS, FIRST_WAIT_SECONDS * 2.0 ** (self.failures - 1))
        self.start_at = now + wait
        return wait


class Child:
    """One program in its own session. It dies with the supervisor."""

    def __init__(
        self,
        name: str,
        module: Sequence[str],
        *,
        environment: Mapping[str, str],
        grace_seconds: float,
        keep: Sequence[int] = (),
        drop_to: int | None = None,
        view: Sequence[Path] = (),
    ) -> None:
        self.name = name
        self.grace_seconds = grace_seconds
        self.process: subprocess.Popen[bytes] | None = None
        self.backoff = Backoff()
        self.last_line = ""
        self._module = module
        self._environment = dict(environment)
        self._keep = keep
        self._drop_to = drop_to
        self._view = view
        self._started_at = 0.0
        self._rest = b""

    def start(self) -> BinaryIO:
        """Start the program. Returns the pipe with its output."""
        argv = python_command("-m", *self._module, unbuffered=True)
        self.process = subprocess.Popen(
            launch_argv(
                argv, death_signal=signal.SIGKILL, cwd=WORKING_FOLDER, uid=self._drop_to, view=self._view
            ),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=own_environment(self._environment),
            cwd=WORKING_FOLDER,
            pass_fds=self._keep,
            start_new_session=True,
            bufsize=0,
        )
        self._started_at = time.monotonic()
        self._rest = b""
        output: BinaryIO = self.process.stdout  # type: ignore[assignment]
        os.set_blocking(output.fileno(), False)
        return output

    def lines(self, chunk: bytes) -> list[str]:
        """The whole lines of the output so far. A line without an end is cut."""
        *whole, self._rest = (self._rest + chunk).split(b"\n")
        if len(self._rest) > LINE_BYTES:
            whole.append(self._rest)
            self._rest = b""
        lines = [line.decode("utf-8", "replace") for line in whole if line.strip()]
        if lines:
            self.last_line = lines[-1]
        return lines

    def poll(self, now: float) -> int | None:
        """The exit status if the program has just ended, else None. Then `backoff` has the next start."""
        if self.process is None:
            return None
        status = self.process.poll()
        if status is None:
            return None
        self._end_group()
        self.process = None
        self.backoff.note_end(now, ran_seconds=now - self._started_at)
        return status

    def is_running(self) -> bool:
        """Whether the process is alive."""
        return self.process is not None and self.process.poll() is None

    def terminate(self) -> None:
        """Ask the program to end."""
        if self.process is not None and self.is_running():
            self.process.terminate()

    def kill(self) -> None:
        """Kill the program and all processes of its session."""
        if self.process is not None:
            self._end_group()
            self.process.wait()
            self.process = None

    def _end_group(self) -> None:
        if self.process is None:
            return
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            return
