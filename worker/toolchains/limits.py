"""Runs pip, uv and the byte compiler within a build's limits, and reports their error messages."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from worker.contract import GIB
from worker.contract.own_process import WORKING_FOLDER, own_environment
from worker.toolchains.errors import CancelledError, ToolchainError

_LOOK_SECONDS = 0.05
_MEASURE_SECONDS = 1.0
_MOST_OUTPUT = 64 * 1024 * 1024
_MOST_CHARACTERS = 4_000
_SHOWN_LINES = 40
# Escape sequences of terminals, and all characters that are not printable.
_CONTROL = re.compile(
    r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|.)"
    r"|[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]"
)
# User name and password in the address of an index.
_CREDENTIALS = re.compile(r"(?<=://)[^\s/@]+@")


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildLimits:
    """The time that one build may take, and the bytes that it may write."""

    seconds: float = 1800.0
    bytes: int = 24 * GIB


class Budget:
    """The rest of a build's limits. Threads of one build share it."""

    def __init__(self, limits: BuildLimits, *, cancelled: threading.Event | None = None) -> None:
        self._limits = limits
        self._cancelled = cancelled or threading.Event()
        self._ends = time.monotonic() + limits.seconds

    @property
    def seconds_left(self) -> float:
        """Negative if the time is over."""
        return self._ends - time.monotonic()

    def check_time(self) -> None:
        """Raise ToolchainError if the time is over, and CancelledError if the build was cancelled."""
        if self._cancelled.is_set():
            raise CancelledError("Nobody waits for the build any more.")
        if self.seconds_left <= 0:
            raise ToolchainError(f"The build was not done within {self._limits.seconds:g} seconds.")

    def check_size(self, used: int) -> None:
        """Raise ToolchainError if this is more than the limit."""
        if used > self._limits.bytes:
            limit = f"{self._limits.bytes} bytes (SAMEHERE_TOOLCHAIN_BYTES)"
            raise ToolchainError(f"The build is larger than {limit}.")

    def run(
        self,
        command: Sequence[str],
        *,
        measured_folder: Path | None = None,
        variables: Mapping[str, str] | None = None,
        input_text: str = "",
    ) -> str:
        """Run a command and return its output. Raises ToolchainError, with its message, if it fails.

        Also raises if the command exceeds a limit. `measured_folder`: counts for the size. `variables`: all
        environment variables, or None for those of a process of ours. `input_text`: its standard input.
        """
        with (
            tempfile.TemporaryFile() as stderr,
            tempfile.TemporaryFile() as stdout,
            tempfile.TemporaryFile() as stdin,
        ):
            stdin.write(input_text.encode())
            stdin.seek(0)
            process = subprocess.Popen(
                command,
                stdin=stdin,
                stdout=stdout,
                stderr=stderr,
                env=own_environment() if variables is None else dict(variables),
                cwd=WORKING_FOLDER,
                start_new_session=True,
            )
            try:
                status = self._watch(process, measured_folder)
            finally:
                _end(process)
            output = _read(stdout, _MOST_OUTPUT)
            if status:
                error = clean_message(_read(stderr, 1024 * 1024)) or clean_message(output)
                raise ToolchainError(error or f"{Path(command[0]).name} failed without a message.")
            return output

    def _watch(self, process: subprocess.Popen[bytes], measured_folder: Path | None) -> int:
        measured_at = time.monotonic()
        while True:
            with contextlib.suppress(subprocess.TimeoutExpired):
                return process.wait(_LOOK_SECONDS)
            self.check_time()
            if measured_folder is not None and time.monotonic() - measured_at > _MEASURE_SECONDS:
                self.check_size(size_of(measured_folder))
                measured_at = time.monotonic()


def _end(process: subprocess.Popen[bytes]) -> None:
    """Kill the process and all of its process group, and recover it."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _read(file: IO[bytes], most: int) -> str:
    size = file.seek(0, os.SEEK_END)
    file.seek(max(0, size - most))
    return file.read(most).decode("utf-8", "replace")


def size_of(folder: Path) -> int:
    """The bytes of all files in a folder; a file with several names counts once."""
    sizes: dict[tuple[int, int], int] = {}
    for parent, _, names in os.walk(folder):
        for name in names:
            with contextlib.suppress(FileNotFoundError):
                status = os.lstat(os.path.join(parent, name))  # noqa: PTH118  # thousands of files
                sizes[status.st_dev, status.st_ino] = status.st_size
    return sum(sizes.values())


def clean_message(text: str) -> str:
    """The last lines of a program's message, as plain text without credentials.

    It may quote text of strangers.
    """
    lines = [line.rstrip() for line in _CREDENTIALS.sub("", _CONTROL.sub("", text)).splitlines()]
    important = [line[:500] for line in lines if line.strip() and not line.startswith("WARNING")]
    return "\n".join(important[-_SHOWN_LINES:])[-_MOST_CHARACTERS:]
