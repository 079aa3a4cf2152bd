"""Slots and cards belong to one attempt at a time on the whole machine, whichever process runs it."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path
from types import TracebackType
from typing import Self


class HostLock:
    """A file lock; it is gone with its holder, however that ends."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._fd = -1

    def acquire(self, *, wait: bool = False) -> bool:
        """Whether it is ours now."""
        if self._fd >= 0:
            raise RuntimeError("the lock is already held here")
        self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        fd = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        except BlockingIOError:
            os.close(fd)
            return False
        self._fd = fd
        return True

    def release(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def __enter__(self) -> Self:
        self.acquire(wait=True)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.release()


def slot_lock(folder: Path, number: int) -> HostLock:
    return HostLock(folder / f"slot-{number}.lock")


def acquire_gpus(folder: Path, indexes: list[int], count: int) -> dict[int, HostLock] | None:
    """Locks on `count` of the cards, all or none."""
    held: dict[int, HostLock] = {}
    for index in indexes:
        if len(held) == count:
            break
        lock = HostLock(folder / f"gpu-{index}.lock")
        if lock.acquire():
            held[index] = lock
    if len(held) == count:
        return held
    for lock in held.values():
        lock.release()
    return None
