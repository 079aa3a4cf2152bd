"""The paused interpreters of one node process, one for each slot and toolchain.

When memory is short, the least recently used one ends.
"""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from worker.contract import MIB
from worker.sandbox import Sandbox
from worker.sandbox.errors import SetupError
from worker.sandbox.job import SandboxJob
from worker.warm.zygote import ForksRefusedError, Zygote

# The memory that an interpreter is assumed to take before it is measured.
SLOT_BYTES = 250 * MIB
HASH_SEED = "PYTHONHASHSEED"
# After an interpreter could not be started, it is not tried again for this long.
_PAUSE_SECONDS = 300.0
# An interpreter that is started in advance replaces only interpreters that were unused for this long.
_STALE_SECONDS = 300.0
# A start in advance delays its slot for at most this long.
_PREPARE_SECONDS = 10.0
_LOOK_SECONDS = 0.05


class NotWarmError(Exception):
    """There is no paused interpreter for the job; the message says why."""


@dataclass(slots=True)
class _Entry:
    zygote: Zygote
    job: SandboxJob
    used_at: float = field(default_factory=time.monotonic)
    busy: bool = True
    ready: bool = False
    bytes: int = SLOT_BYTES


@dataclass(frozen=True, slots=True)
class Loan:
    """A paused interpreter for one job, and the job with the hash seed that it started with."""

    zygote: Zygote
    job: SandboxJob


class WarmPool:
    """The interpreters of all slots. Each slot's thread starts its own interpreters and borrows only these.

    `memory_bytes`: limit for all together. `jobs`, `seconds`: an interpreter ends after so many jobs or so
    much time. `forks`: whether to try one fork for each job; else an interpreter takes one job.
    """

    def __init__(self, *, memory_bytes: int, jobs: int, seconds: float, forks: bool = True) -> None:
        self._memory_bytes = memory_bytes
        self._jobs = jobs
        self._seconds = seconds
        self._forks = forks
        self._lock = threading.Lock()
        self._entries: dict[object, _Entry] = {}
        self._failures: dict[object, tuple[float, str]] = {}

    @contextmanager
    def lend(
        self, sandbox: Sandbox, job: SandboxJob, *, build: str = "", only_ready: bool = False
    ) -> Iterator[Loan]:
        """Lend an interpreter for one job, in the slot's thread.

        Raises NotWarmError. It ends if the caller raises.

        `build` identifies the toolchain's content. `only_ready`: raise instead of starting an interpreter
        now.
        """
        key = _key(sandbox, job, build)
        entry = self._take(key)
        if entry is None and only_ready:
            raise NotWarmError("no interpreter is paused for this toolchain yet")
        entry = entry or self._begin(key, sandbox, job)
        try:
            self._make_ready(key, entry)
            variables = {**job.variables, HASH_SEED: entry.job.variables[HASH_SEED]}
            yield Loan(entry.zygote, replace(job, variables=variables))
        except BaseException:
            self._drop(key, entry)
            raise
        self._put_back(key, entry)

    def prepare(
        self, sandbox: Sandbox, job: SandboxJob, *, build: str = "", ending: Callable[[], bool]
    ) -> None:
        """Start an interpreter for jobs like this one, in the slot's thread between two jobs.

        Raises NotWarmError.

        Waits for its imports until `ending` returns True.
        """
        key = _key(sandbox, job, build)
        entry = self._take(key) or self._begin(key, sandbox, job, stale_seconds=_STALE_SECONDS)
        try:
            until = time.monotonic() + _PREPARE_SECONDS
            while (
                not (settled := entry.zygote.is_settled(_LOOK_SECONDS))
                and time.monotonic() < until
                and not ending()
            ):
                pass
            if settled:
                self._make_ready(key, entry)
        except BaseException:
            self._drop(key, entry)
            raise
        with self._lock:
            entry.busy = False

    def close(self) -> None:
        """End all interpreters. Call it when no slot runs a job."""
        with self._lock:
            entries, self._entries = list(self._entries.values()), {}
        for entry in entries:
            entry.zygote.close()

    def pids(self) -> list[int]:
        """The process ids on the host of all interpreters."""
        with self._lock:
            return [entry.zygote.pid for entry in self._entries.values()]

    def _take(self, key: object) -> _Entry | None:
        with self._lock:
            entry = self._entries.get(key)
            if entry is None:
                return None
            entry.busy = True
        if self._is_over(entry):
            self._drop(key, entry)
            return None
        return entry

    def _is_over(self, entry: _Entry) -> bool:
        old = time.monotonic() - entry.zygote.started_at > self._seconds
        return old or entry.zygote.jobs >= self._jobs or entry.zygote.is_spent

    def _begin(self, key: object, sandbox: Sandbox, job: SandboxJob, *, stale_seconds: float = 0.0) -> _Entry:
        """Start an interpreter without waiting for its imports. Raises NotWarmError."""
        failed_at, reason = self._failures.get(key, (0.0, ""))
        if reason and time.monotonic() - failed_at < _PAUSE_SECONDS:
            raise NotWarmError(reason)
        bubblewrap = sandbox.bubblewrap
        if bubblewrap is None:
            raise NotWarmError("warm starts do not work with this node's isolation")
        self._make_room(stale_seconds)
        seeded = replace(
            job, files={}, variables={**job.variables, HASH_SEED: str(1 + secrets.randbelow(2**32 - 1))}
        )
        try:
            entry = _Entry(Zygote(bubblewrap, seeded, forks=self._forks), seeded)
        except SetupError as error:
            self._failures[key] = (time.monotonic(), str(error))
            raise NotWarmError(str(error)) from error
        with self._lock:
            self._entries[key] = entry
        return entry

    def _make_ready(self, key: object, entry: _Entry) -> None:
        if entry.ready:
            return
        try:
            entry.zygote.await_ready()
        except ForksRefusedError as error:
            # From now on, each interpreter takes one job, and the next one is started in advance.
            self._forks = False
            raise NotWarmError(str(error)) from error
        except SetupError as error:
            self._failures[key] = (time.monotonic(), str(error))
            raise NotWarmError(str(error)) from error
        entry.bytes = proportional_bytes(entry.zygote.pid)
        entry.ready = True

    def _make_room(self, stale_seconds: float) -> None:
        """End the least recently used interpreters, until there is memory for one more.

        Those that were used within `stale_seconds` stay. Raises NotWarmError if they leave too little memory.
        """
        while True:
            with self._lock:
                used = sum(entry.bytes for entry in self._entries.values())
                if used + SLOT_BYTES <= self._memory_bytes:
                    return
                before = time.monotonic() - stale_seconds
                idle = [
                    (entry.used_at, key)
                    for key, entry in self._entries.items()
                    if not entry.busy and entry.used_at <= before
                ]
                if not idle:
                    raise NotWarmError("all memory for warm starts is in use")
                _, oldest = min(idle, key=lambda pair: pair[0])
                entry = self._entries.pop(oldest)
            entry.zygote.close()

    def _put_back(self, key: object, entry: _Entry) -> None:
        if self._is_over(entry):
            self._drop(key, entry)
            return
        with self._lock:
            entry.used_at = time.monotonic()
            entry.busy = False

    def _drop(self, key: object, entry: _Entry) -> None:
        with self._lock:
            if self._entries.get(key) is entry:
                del self._entries[key]
        entry.zygote.close()


def _key(sandbox: Sandbox, job: SandboxJob, build: str) -> object:
    """The properties that a paused interpreter shares with the jobs that it can take."""
    variables = tuple(sorted((name, value) for name, value in job.variables.items() if name != HASH_SEED))
    return (sandbox.slot, build, job.argv, job.binds, job.devices, job.gated, variables)


def proportional_bytes(pid: int) -> int:
    """The memory of a process, with its share of shared pages; SLOT_BYTES if it can't be read."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii").splitlines()
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:"))
    except (OSError, StopIteration):
        return SLOT_BYTES
