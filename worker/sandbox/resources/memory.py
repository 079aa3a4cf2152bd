"""Whether a job uses more memory than it may: counted by its cgroup, or else polled."""

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
# An exact count walks page tables; one that found nothing wrong is not repeated at once.
_EXACT_PAUSE_SECONDS = 0.25
_SIGKILL = 9
_FOLDER_PAUSE_SECONDS = 0.2
# Of the time between two looks at a folder, at most a tenth goes into looking.
_PAUSE_PER_COST = 10


class MemoryWatch(Protocol):
    """Asked at each look, and once after the end."""

    interval_seconds: float

    @property
    def peak_bytes(self) -> int:
        """The most that was seen."""

    def exceeded(self, pids: Sequence[int]) -> str | None:
        """What was exceeded, in plain words."""

    def killed(self, signal: int | None) -> str | None:
        """After the end, which the program's own signal tells: whether the kernel killed for memory."""


class CountedMemory:
    """The job's cgroup holds the limit; the kernel kills, and this sees that it did, also when only a child died."""

    interval_seconds = 0.1

    def __init__(self, leaf: Leaf) -> None:
        self._leaf = leaf
        self.peak_bytes = 0

    def exceeded(self, pids: Sequence[int]) -> str | None:
        """Count kills, sample the peak without the page cache."""
        del pids
        self.peak_bytes = max(self.peak_bytes, self._leaf.used_bytes())
        return self.killed(None)

    def killed(self, signal: int | None) -> str | None:
        """Of any process: a program may well exit 0 after its child was killed."""
        del signal
        return (
            "the kernel killed a process of the job at its memory limit" if self._leaf.oom_kills() else None
        )


class PolledMemory:
    """Private and shared memory of all processes, and what the scratch folders hold; a floor for what nothing shows."""

    interval_seconds = 0.05

    def __init__(self, *, limit_bytes: int, folders: Sequence[int]) -> None:
        self._limit = limit_bytes
        self._folders = folders
        self._floor = memory_floor_bytes()
        self._exact_again_at = 0.0
        self._kills_before = processes.machine_oom_kills()
        # What no folder of the job's own holds.
        self.beside: SharedFiles | None = None
        self.peak_bytes = 0

    def exceeded(self, pids: Sequence[int]) -> str | None:
        """Compare a cheap upper bound first, and an exact count only above the limit."""
        stored = self._stored_bytes()
        used = processes.resident_bytes(pids) + stored
        if used > self._limit and time.monotonic() >= self._exact_again_at:
            private, shared = processes.proportional_bytes(pids)
            # Files in memory that are also mapped would count twice.
            used = private + max(shared, stored)
            if used > self._limit:
                self.peak_bytes = max(self.peak_bytes, used)
                return "the processes of the job used more memory than the limit"
            self._exact_again_at = time.monotonic() + _EXACT_PAUSE_SECONDS
        self.peak_bytes = max(self.peak_bytes, min(used, self._limit))
        if processes.available_bytes() < self._floor:
            return "the machine was about to run out of memory"
        return None

    def killed(self, signal: int | None) -> str | None:
        """Only the machine counts its kills: taken for this job's when the program itself ended so."""
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
    """A user's files in the machine's shared memory, but for those that were there before the job."""

    def __init__(self, uid: int, *, folder: str) -> None:
        self._uid = uid
        self._folder = folder
        self._before = frozenset(self._files())

    def stored_bytes(self) -> int:
        return sum(_INODE_BYTES + size for file, size in self._files().items() if file not in self._before)

    def _files(self) -> dict[int, int]:
        found = {}
        try:
            with os.scandir(self._folder) as entries:
                for entry in entries:
                    try:
                        status = entry.stat(follow_symlinks=False)
                    except FileNotFoundError:
                        continue
                    if status.st_uid == self._uid:
                        found[status.st_ino] = 512 * status.st_blocks
        except OSError:
            return {}
        return found


class WatchedFolder:
    """Beside another watch: a scratch folder on the host's disk, whose use nothing bounds, looked at as often as is cheap.

    Files that are open and have no name any more are not seen.
    """

    def __init__(self, memory: MemoryWatch, folder: Path, *, limit_bytes: int) -> None:
        self._memory = memory
        self._folder = folder
        self._limit = limit_bytes
        self._again_at = 0.0
        self.interval_seconds = memory.interval_seconds

    @property
    def peak_bytes(self) -> int:
        """Of memory."""
        return self._memory.peak_bytes

    def exceeded(self, pids: Sequence[int]) -> str | None:
        """Memory first."""
        now = time.monotonic()
        exceeded = self._memory.exceeded(pids)
        if exceeded is None and now >= self._again_at:
            used = stored_bytes(self._folder, most=self._limit)
            self._again_at = time.monotonic() + max(
                _FOLDER_PAUSE_SECONDS, _PAUSE_PER_COST * (time.monotonic() - now)
            )
            if used > self._limit:
                return f"the scratch folder held more than {self._limit} bytes, or what cannot be counted"
        return exceeded

    def killed(self, signal: int | None) -> str | None:
        """Of memory."""
        return self._memory.killed(signal)


def stored_bytes(folder: Path, *, most: int) -> int:
    """What lies in a folder, files and their names; stops counting above `most`, which all that cannot be counted is. Follows no link."""
    total = 0
    waiting = [folder]
    while waiting and total <= most:
        looked_at = waiting.pop()
        try:
            with os.scandir(looked_at) as entries:
                for entry in entries:
                    total += _INODE_BYTES + 512 * entry.stat(follow_symlinks=False).st_blocks
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append(Path(entry.path))
        except OSError as error:
            if error.errno == errno.ENAMETOOLONG or (error.errno == errno.EACCES and _takes_files(looked_at)):
                return most + 1
    return total


def _takes_files(folder: Path) -> bool:
    """Whether its owner may put files into it."""
    try:
        return folder.lstat().st_mode & _ENTER_AND_WRITE == _ENTER_AND_WRITE
    except OSError:
        return False
