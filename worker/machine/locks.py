"""File locks: on the whole machine only one attempt at a time uses a slot or a card."""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import secrets
import stat
import tempfile
import time
from pathlib import Path
from types import TracebackType
from typing import Self


class LockFolderError(Exception):
    """The folder of the locks is not safe. The message says what to do."""


def host_folder() -> Path:
    """The folder of the locks for all nodes of this user on this machine.

    It is in /run for root, and among the temporary files for others.
    """
    if os.geteuid() == 0 and os.access("/run", os.W_OK):
        return Path("/run/samehere-locks")
    return Path(tempfile.gettempdir(), f"samehere-locks-{os.geteuid()}")


def prepare_folder(folder: Path) -> None:
    """Create the folder. Raises LockFolderError if another user owns it or may write to it."""
    with contextlib.suppress(FileExistsError):
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    status = folder.lstat()
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.geteuid() or status.st_mode & 0o022:
        raise LockFolderError(
            f"{folder}, in which slots and cards are locked, must be a folder that "
            f"uid {os.geteuid()} owns and nobody else writes to; "
            "remove it, or name another by SAMEHERE_LOCKS"
        )


# The text of a lock file: who holds the lock. Other programs may have written something else.
_HOLDER = re.compile(r"node [A-Za-z0-9][A-Za-z0-9._-]{0,62}, process [0-9]{1,10}")


class HostLock:
    """An exclusive file lock. The kernel releases it when the process ends.

    `owner` is the name of the node that locks. `holder` says who had the lock at the last attempt to take it;
    it is empty if that succeeded.
    """

    def __init__(self, path: Path, *, owner: str = "") -> None:
        self._path = path
        self._owner = owner
        self._fd = -1
        self.holder = ""

    def acquire(self, *, wait: bool = False) -> bool:
        """Take the lock. False if somebody else has it and `wait` is False."""
        if self._fd >= 0:
            raise RuntimeError("the lock is already held here")
        self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        while True:
            fd = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
            try:
                fcntl.flock(fd, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
            except BlockingIOError:
                self.holder = _read_holder(fd)
                os.close(fd)
                return False
            if self._is_current(fd):
                break
            os.close(fd)
        # Programs that delete old temporary files go by the age of a file.
        os.utime(fd)
        self._fd = fd
        self.holder = ""
        if self._owner:
            os.ftruncate(fd, 0)
            os.pwrite(fd, f"node {self._owner}, process {os.getpid()}".encode(), 0)
        return True

    def _is_current(self, fd: int) -> bool:
        """False if the locked file was removed or replaced meanwhile: others would then lock another file."""
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


def _read_holder(fd: int) -> str:
    """The holder of a lock, by the text of its file."""
    text = os.pread(fd, 200, 0).decode("ascii", "replace")
    return text if _HOLDER.fullmatch(text) else "another process"


class SharedLock:
    """A file lock that several processes share, or that one has `alone`.

    The kernel releases it when the process ends.
    """

    def __init__(self, path: Path, *, alone: bool = False) -> None:
        self._path = path
        self._alone = alone
        self._fd = -1

    def acquire(self) -> bool:
        """Take the lock. A shared lock waits. With `alone`: False if somebody else has the lock."""
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


def slot_lock(folder: Path, number: int, *, owner: str = "") -> HostLock:
    """The lock of a slot of this machine. `owner` is the name of the node that takes it."""
    return HostLock(folder / f"slot-{number}.lock", owner=owner)


# A wish is this old at most: whoever waits renews it all the time.
_WISH_SECONDS = 1.0
_WISH = "wish-"
_own_wish = f"{_WISH}{os.getpid()}-{secrets.token_hex(4)}"


def wish_for_gpus(folder: Path) -> None:
    """Let the other processes of this machine take no single card for a moment.

    An attempt of this process waits for several. It would wait forever while others take each card that
    becomes free.
    """
    path = folder / _own_wish
    path.touch(mode=0o600)
    os.utime(path)


def _others_wish(folder: Path) -> bool:
    """True if an attempt of another process waits for several cards. Removes wishes that are over."""
    others = [path for path in folder.glob(f"{_WISH}*") if path.name != _own_wish]
    fresh = 0
    for path in others:
        with contextlib.suppress(FileNotFoundError):
            if abs(time.time() - path.lstat().st_mtime) < _WISH_SECONDS:
                fresh += 1
            else:
                path.unlink()
    return fresh > 0


def acquire_gpus(folder: Path, indexes: list[int], count: int) -> dict[int, HostLock] | None:
    """Locks on `count` of the cards, by index. None, and no lock, if fewer are free.

    A single card is left to an attempt of another process that waits for several.
    """
    if count == 1 and _others_wish(folder):
        return None
    locks: dict[int, HostLock] = {}
    for index in indexes:
        if len(locks) == count:
            break
        lock = HostLock(folder / f"gpu-{index}.lock")
        if lock.acquire():
            locks[index] = lock
    if len(locks) == count:
        return locks
    for lock in locks.values():
        lock.release()
    return None
