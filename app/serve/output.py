"""The log of `samehere serve`: its own events, and the lines of its children and of the embedded servers.

Children write the same form of log, so their lines are passed on as they are. Any other line is wrapped.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import structlog

from app.settings import ServiceSettings
from worker.contract.log import log_to_stderr, without_password
from worker.contract.log_settings import LogForm

log = structlog.get_logger(__name__)

CHUNK_BYTES = 256 * 1024


class Output:
    """Writes to standard error. A reader that is gone changes nothing for the service."""

    def __init__(self, settings: ServiceSettings) -> None:
        self.form: LogForm = settings.log_form or ("text" if sys.stderr.isatty() else "json")
        log_to_stderr("serve", settings, form=self.form)

    def pass_on(self, origin: str, line: str) -> None:
        """Write a line of a child or of a server."""
        if self.form == "text":
            self._write(f"{origin:<8} | {without_password(line)}\n")
        elif is_event(line):
            self._write(line + "\n")
        else:
            log.info("output", process=origin, line=without_password(line))

    @staticmethod
    def _write(text: str) -> None:
        try:
            sys.stderr.write(text)
        except (BrokenPipeError, OSError):
            sys.stderr = Path(os.devnull).open("w")  # noqa: SIM115


def is_event(line: str) -> bool:
    """Whether a line is an event of our log in JSON."""
    if not line.startswith("{"):
        return False
    try:
        parsed = json.loads(line)
    except ValueError:
        return False
    return isinstance(parsed, dict) and "event" in parsed


def short_line(line: str) -> str:
    """The line of a child for a message to people: the event and the error of a JSON line, else the line."""
    if not is_event(line):
        return without_password(line)
    parsed = json.loads(line)
    return ": ".join(str(parsed[name]) for name in ("event", "error") if parsed.get(name))


class Follower:
    """Reads the new lines of a server's log file. It skips the lines that were there before."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._place = self._size()
        self._rest = b""

    def _size(self) -> int:
        try:
            return self._path.stat().st_size
        except OSError:
            return 0

    def lines(self) -> list[str]:
        """The whole lines since the last call."""
        size = self._size()
        if size < self._place:
            # The server has started again with a new file.
            self._place, self._rest = 0, b""
        if size == self._place:
            return []
        try:
            with self._path.open("rb") as file:
                file.seek(self._place)
                chunk = file.read(CHUNK_BYTES)
        except OSError:
            return []
        self._place += len(chunk)
        *whole, self._rest = (self._rest + chunk).split(b"\n")
        if len(self._rest) > CHUNK_BYTES:
            whole.append(self._rest)
            self._rest = b""
        return [line.decode("utf-8", "replace") for line in whole if line.strip()]
