"""Watches whether a job uses more memory than it may: by its cgroup, or else by polling."""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from worker.contract import KIB
from worker.sandbox.resources import processes
from worker.sandbox.resources.cgroup import Leaf
from worker.sandbox.resources.limits import memory_floor_bytes

_INODE_BYTES = KIB
_ENTER_AND_WRITE = 0o300
# An exact count walks page tables. After one below the limit, the next one waits.
_EXACT_PAUSE_SECONDS = 0.25
_SIGKILL = 9
_FOLDER_PAUSE_SECONDS = 0.2
# Reading a folder takes at most a tenth of the time: the pause after a look is this many times its duration.
_PAUSE_PER_COST = 10


class MemoryWatch(Protocol):
    """Watches a job's memory.

    Call `check_limits` at each look, every `interval_seconds`, and `check_kernel_kill` after the end.
    """

    interval_seconds: float

    @property
    def peak_bytes(self) -> int:
        """The most memory that was seen so far, in bytes."""

    def check_limits(self, pids: Sequence[int]) -> str | None:
        """A sentence if the processes exceeded a limit, else None."""

    def check_kernel_kill(self, signal: int | None) -> str | None:
        """A sentence if the kernel killed a process for memory, else None.

        `signal` is that of the program's end.
        """


class CountedMemory:
    """The job's cgroup limits the memory and the kernel kills.

    This class notices it, even if only a child died.
    """

    interval_seconds = 0.1

    def __init__(self, leaf: Leaf) -> None:
        self._leaf = leaf
        self.peak_bytes = 0

    def check_limits(self, pids: Sequence[int]) -> str | None:
        """Check for kills, and measure the memory without the page cache."""
        del pids
        self.peak_bytes = max(self.peak_bytes, self._leaf.used_bytes())
        return self.check_kernel_kill(None)

    def check_kernel_kill(self, signal: int | None) -> str | None:
        """Whether any process was killed: a program may exit with 0 after its child was killed."""
        del signal
        return (
            "the kernel killed a process of the job at its memory limit" if self._leaf.oom_kills() else None
        )


class PolledMemory:
    """Polls the private and shared memory of all processes, and the content of the scratch folders.

    A floor for the machine's available memory limits uses that no process shows. `beside` counts shared
    memory outside of the job's folders, if it is set.
    """

    interval_seconds = 0.05

    def __init__(self, *, limit_bytes: int, folders: Sequence[int]) -> None:
        self._limit = limit_bytes
        self._folders = folders
        self._floor = memory_floor_bytes()
        self._next_exact_at = 0.0
        self._kills_before = processes.machine_oom_kills()
        self.beside: SharedFiles | None = None
        self.peak_bytes = 0

    def check_limits(self, pids: Sequence[int]) -> str | None:
        """Compare a cheap upper bound with the limit; count exactly only if it is above."""
        stored = self._stored_bytes()
        used = processes.resident_bytes(pids) + stored
        if used > self._limit and time.monotonic() >= self._next_exact_at:
            private, shared = processes.proportional_bytes(pids)
            # A file in memory that a process maps is part of both numbers.
            used = private + max(shared, stored)
            if used > self._limit:
                self.peak_bytes = max(self.peak_bytes, used)
                return "the processes of the job used more memory than the limit"
            self._next_exact_at = time.monotonic() + _EXACT_PAUSE_SECONDS
        self.peak_bytes = max(self.peak_bytes, min(used, self._limit))
        if processes.available_bytes() < self._floor:
            return "the machine was about to run out of memory"
        return None

    def check_kernel_kill(self, signal: int | None) -> str | None:
        """Assume a kill of this job if the machine's count of kills grew and SIGKILL ended the program."""
        if signal == _SIGKILL and processes.machine_oom_kills() > self._kills_before:
            return "the kernel killed the program because the machine ran out of memory"
        return None

    def _stored_bytes(self) -> int:
        total = 0 if self.beside is None else self.beside.stored_bytes()
        for folder in self._folders:
            try:
                use = os.fstatvfs(folder)
            except OSError:
                continue
            total += (use.f_blocks - use.f_bfree) * use.f_frsize + (use.f_files - use.f_ffree) * _INODE_BYTES
        return total


class SharedFiles:
    """A user's files in the machine's shared memory, without those that existed before the job."""

    def __init__(self, uid: int, *, folder: str) -> None:
        self._uid = uid
        self._folder = folder
        self._before = frozenset(self._files())

    def stored_bytes(self) -> int:
        """Bytes of the files and their names."""
        return sum(_INODE_BYTES + size for file, size in self._files().items() if file not in self._before)

    def _files(self) -> dict[int, int]:
        sizes = {}
        try:
            with os.scandir(self._folder) as entries:
                for entry in entries:
                    try:
                        status = entry.stat(follow_symlinks=False)
                    except FileNotFoundError:
                        continue
                    if status.st_uid == self._uid:
                        sizes[status.st_ino] = 512 * status.st_blocks
        except OSError:
            return {}
        return sizes


class WatchedFolder:
    """Another watch, and also a limit for a scratch folder on the host's disk.

    The folder is read as often as is cheap.

    This does not see files that are open and have no name.
    """

    def __init__(self, memory: MemoryWatch, folder: Path, *, limit_bytes: int) -> None:
        self._memory = memory
        self._folder = folder
        self._limit = limit_bytes
        self._next_look_at = 0.0
        self.interval_seconds = memory.interval_seconds

    @property
    def peak_bytes(self) -> int:
        """The peak of memory, without the folder."""
        return self._memory.peak_bytes

    def check_limits(self, pids: Sequence[int]) -> str | None:
        """Check memory first, then the folder."""
        now = time.monotonic()
        exceeded = self._memory.check_limits(pids)
        if exceeded is None and now >= self._next_look_at:
            used = stored_bytes(self._folder, most=self._limit)
            self._next_look_at = time.monotonic() + max(
                _FOLDER_PAUSE_SECONDS, _PAUSE_PER_COST * (time.monotonic() - now)
            )
            if used > self._limit:
                return (
                    f"the scratch folder held more than {self._limit} bytes, or files that can't be counted"
                )
        return exceeded

    def check_kernel_kill(self, signal: int | None) -> str | None:
        """Whether the kernel killed a process for memory."""
        return self._memory.check_kernel_kill(signal)


def stored_bytes(folder: Path, *, most: int) -> int:
    """Bytes of all files in a folder and their names. Follows no link.

    Stops counting above `most`. A folder that can't be read counts as more than `most` if files could be in
    it.
    """
    total = 0
    waiting = [folder]
    while waiting and total <= most:
        current = waiting.pop()
        try:
            with os.scandir(current) as entries:
                for entry in entries:
                    total += _INODE_BYTES + 512 * entry.stat(follow_symlinks=False).st_blocks
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append(Path(entry.path))
        except OSError as error:
            if error.errno == errno.ENAMETOOLONG or (
                error.errno == errno.EACCES and _is_writable_by_owner(current)
            ):
                return most + 1
    return total


def _is_writable_by_owner(folder: Path) -> bool:
    """Whether the folder's owner may put files into it."""
    try:
        return folder.lstat().st_mode & _ENTER_AND_WRITE == _ENTER_AND_WRITE
    except OSError:
        return False
