"""Runs pip, uv and the byte compiler: each within what is left of a build's time and size, and with its words kept when it fails."""

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
from worker.toolchains.errors import CancelledError, ToolchainError

_LOOK_SECONDS = 0.05
_MEASURE_SECONDS = 1.0
_MOST_ANSWER = 64 * 1024 * 1024
_MOST_WORDS = 4_000
_SHOWN_LINES = 40
# Whatever is no printable text, escapes of terminals included; who passed for whom on the way to an index.
_CONTROL = re.compile(
    r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|.)|[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]"
)
_CREDENTIALS = re.compile(r"(?<=://)[^\s/@]+@")


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildLimits:
    """How long one build may take, and how large what it makes may be."""

    seconds: float = 1800.0
    bytes: int = 24 * GIB


class Budget:
    """What is left of a build's limits; threads of one build share it."""

    def __init__(self, limits: BuildLimits, *, cancelled: threading.Event | None = None) -> None:
        self._limits = limits
        self._cancelled = cancelled or threading.Event()
        self._ends = time.monotonic() + limits.seconds

    @property
    def seconds_left(self) -> float:
        return self._ends - time.monotonic()

    def check_time(self) -> None:
        """Raise ToolchainError when it is used up, CancelledError when nobody waits for the build any more."""
        if self._cancelled.is_set():
            raise CancelledError("Nobody waits for it any more.")
        if self.seconds_left <= 0:
            raise ToolchainError(f"It was not done within {self._limits.seconds:g} seconds.")

    def check_size(self, used: int) -> None:
        """Raise ToolchainError when that is too much."""
        if used > self._limits.bytes:
            raise ToolchainError(f"It is larger than {self._limits.bytes} bytes (SAMEHERE_TOOLCHAIN_BYTES).")

    def run(
        self,
        command: Sequence[str],
        *,
        grows: Path | None = None,
        variables: Mapping[str, str] | None = None,
        given: str = "",
    ) -> str:
        """What it printed. Raise ToolchainError in its own words when it fails, or in ours when it passes a limit.

        `grows` is measured; `variables` are all that it gets, else ours; `given` is its standard input.
        """
        with (
            tempfile.TemporaryFile() as words,
            tempfile.TemporaryFile() as answer,
            tempfile.TemporaryFile() as asked,
        ):
            asked.write(given.encode())
            asked.seek(0)
            process = subprocess.Popen(
                command,
                stdin=asked,
                stdout=answer,
                stderr=words,
                env=None if variables is None else dict(variables),
                start_new_session=True,
            )
            try:
                status = self._watch(process, grows)
            finally:
                _end(process)
            said = _read(answer, _MOST_ANSWER)
            if status:
                raise ToolchainError(
                    cleaned(_read(words, 1024 * 1024))
                    or cleaned(said)
                    or f"{Path(command[0]).name} failed without a word."
                )
            return said

    def _watch(self, process: subprocess.Popen[bytes], grows: Path | None) -> int:
        measured = time.monotonic()
        while True:
            with contextlib.suppress(subprocess.TimeoutExpired):
                return process.wait(_LOOK_SECONDS)
            self.check_time()
            if grows is not None and time.monotonic() - measured > _MEASURE_SECONDS:
                self.check_size(size_of(grows))
                measured = time.monotonic()


def _end(process: subprocess.Popen[bytes]) -> None:
    """With all that it started."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _read(file: IO[bytes], most: int) -> str:
    size = file.seek(0, os.SEEK_END)
    file.seek(max(0, size - most))
    return file.read(most).decode("utf-8", "replace")


def size_of(folder: Path) -> int:
    """The bytes of all files, a file with several names once."""
    seen: dict[tuple[int, int], int] = {}
    for parent, _, names in os.walk(folder):
        for name in names:
            with contextlib.suppress(FileNotFoundError):
                status = os.lstat(os.path.join(parent, name))  # noqa: PTH118  # thousands of files
                seen[status.st_dev, status.st_ino] = status.st_size
    return sum(seen.values())


def cleaned(text: str) -> str:
    """The last lines of what a program said, as plain text without credentials: it quotes names and files that others chose."""
    lines = [line.rstrip() for line in _CREDENTIALS.sub("", _CONTROL.sub("", text)).splitlines()]
    told = [line[:500] for line in lines if line.strip() and not line.startswith("WARNING")]
    return "\n".join(told[-_SHOWN_LINES:])[-_MOST_WORDS:]
