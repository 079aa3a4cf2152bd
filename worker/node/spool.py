"""Stores results on disk until the broker has them."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import structlog
from pydantic import ValidationError

from worker.contract import Result

_SUFFIX = ".result.json"
_log = structlog.get_logger(__name__)


class Spool:
    """A folder of results. Each is written and synced before it is sent; the order is that of writing."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._lock = threading.Lock()
        self._next = 1 + max((_number(path) for path in self._folder.glob(f"*{_SUFFIX}")), default=0)

    def add(self, result: Result) -> Path:
        with self._lock:
            number = self._next
            self._next += 1
        path = self._folder / f"{number:012d}{_SUFFIX}"
        fresh = path.with_suffix(".writing")
        with fresh.open("wb") as file:
            file.write(result.model_dump_json().encode())
            file.flush()
            os.fsync(file.fileno())
        fresh.replace(path)
        self._sync_folder()
        return path

    def pending(self) -> list[Path]:
        """The files of all results, the oldest first. Removes the rest of an interrupted write."""
        for leftover in self._folder.glob("*.writing"):
            leftover.unlink(missing_ok=True)
        return sorted(self._folder.glob(f"*{_SUFFIX}"), key=_number)

    def read(self, path: Path) -> Result | None:
        """The result in a file. None if the file is gone, or is not a valid result; then it is renamed."""
        try:
            return Result.model_validate_json(path.read_bytes())
        except FileNotFoundError:
            return None
        except ValidationError:
            _log.warning("spool_file_unreadable", file=path.name)
            path.rename(path.with_suffix(".unreadable"))
            return None

    def remove(self, path: Path) -> None:
        path.unlink(missing_ok=True)

    def _sync_folder(self) -> None:
        fd = os.open(self._folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)


def _number(path: Path) -> int:
    digits = path.name.partition(".")[0]
    return int(digits) if digits.isdecimal() else 0
