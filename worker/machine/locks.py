"""Slots and cards belong to one attempt at a time on the whole machine, whichever process runs it."""

from __future__ import annotations

import contextlib
import fcntl
import os
import stat
import tempfile
from pathlib import Path
from types import TracebackType
from typing import Self


class LockFolderError(Exception):
    """The folder of the locks is somebody else's; the message says whose and what to do."""


def host_folder() -> Path:
    """Where all nodes of this user on this machine lock, whatever their homes: root in /run, others among the temporary files."""
    if os.geteuid() == 0 and os.access("/run", os.W_OK):
        return Path("/run/samehere-locks")
    return Path(tempfile.gettempdir(), f"samehere-locks-{os.geteuid()}")


def prepare_folder(folder: Path) -> None:
    """Make it, and raise LockFolderError where another user could have made it, or may write to it."""
    with contextlib.suppress(FileExistsError):
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    status = folder.lstat()
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.geteuid() or status.st_mode & 0o022:
        raise LockFolderError(
            f"{folder}, in which slots and cards are locked, must be a folder that uid {os.geteuid()} owns and nobody else writes to; "
            "remove it, or name another by SAMEHERE_LOCKS"
        )


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
        while True:
            fd = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
            try:
                fcntl.flock(fd, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
            except BlockingIOError:
                os.close(fd)
                return False
            if self._is_still(fd):
                break
            os.close(fd)
        # Whoever tidies temporary files goes by their age.
        os.utime(fd)
        self._fd = fd
        return True

    def _is_still(self, fd: int) -> bool:
        """Whether the file that was locked is the one that others would lock: it may have been removed meanwhile."""
        try:
            return os.path.samestat(os.fstat(fd), self._path.lstat())
        except FileNotFoundError:
            return False

    def release(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def __enter__(self) -> Self:
        self.acquire(wait=True)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()


class SharedLock:
    """A file lock that many hold at the same time, or one alone; it is gone with its holder, however that ends. Never waits when alone."""

    def __init__(self, path: Path, *, alone: bool = False) -> None:
        self._path = path
        self._alone = alone
        self._fd = -1

    def acquire(self) -> bool:
        """Whether it is held now: shared after a wait; alone only where nobody holds it."""
        self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        fd = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB if self._alone else fcntl.LOCK_SH)
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
        if not self.acquire():
            raise BlockingIOError("somebody holds the lock")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
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
