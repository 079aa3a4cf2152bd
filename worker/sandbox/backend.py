"""The sandbox of one slot: chooses the strongest level the machine gives, proves it once, and runs jobs at it."""

from __future__ import annotations

import contextlib
import ctypes
import os
import select
import subprocess
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from worker.contract import MIB, Level, Limits
from worker.sandbox import self_test
from worker.sandbox.errors import SandboxUnavailableError, SetupError
from worker.sandbox.isolation import advice, binary, gpu
from worker.sandbox.isolation.bubblewrap import Bubblewrap, Identity
from worker.sandbox.isolation.landlock import Landlocked
from worker.sandbox.isolation.landlock import require as require_landlock
from worker.sandbox.isolation.plain import Plain
from worker.sandbox.job import Ending, SandboxJob, SandboxResult
from worker.sandbox.process import launch, supervise
from worker.sandbox.process.launch import Backend, Launch
from worker.sandbox.resources import cgroup, limits, processes
from worker.sandbox.resources.memory import CountedMemory, PolledMemory

# One uid per slot: no two strangers share what the kernel counts per uid. The operator keeps the range free.
FIRST_SLOT_UID = 47001
# For looking at a machine while a node may run on it: of no node's slots, and below the uid that the service drops to.
PROBE_SLOT = 97
_PROBE_LIMITS = Limits(wall_seconds=30, memory_bytes=256 * MIB, scratch_bytes=16 * MIB)
_PR_SET_CHILD_SUBREAPER = 36
_END_SECONDS = 5.0
_LIMITS_ONLY = (
    "no isolation: the program sees and reaches everything that its user does; only its resources are limited"
)


@dataclass(frozen=True, slots=True)
class Detected:
    """The level a machine gives; None when there is none, and the detail says how to get it."""

    level: Level | None
    detail: str


@dataclass(frozen=True, slots=True)
class _Lost:
    """Pid 1 of a job that could not be killed, and the job's cgroup."""

    init_fd: int
    leaf: cgroup.Leaf | None


class Sandbox:
    """Construct it once per slot in a thread that lives as long as the slot, and run from that thread: the jobs die with it.

    Raises `SandboxUnavailableError` where the level named, or any isolation, cannot be had.
    """

    def __init__(self, *, slot: int, home: Path, level: Level | None = None) -> None:
        self.slot = slot
        self.level: Level = Level.LIMITS_ONLY
        self.level_detail = ""
        self._identity = Identity(FIRST_SLOT_UID + slot if os.geteuid() == 0 else None)
        self._jobs = 0
        self._lost: list[_Lost] = []
        self._parents: cgroup.Parents | None = None
        self._backend: Bubblewrap | Plain
        if not sys.platform.startswith("linux"):
            raise SandboxUnavailableError("nodes are Linux only: a sandbox needs its namespaces")
        # So that what a killed job leaves in an uninterruptible call is ours to reap once it ends.
        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        if level is Level.LIMITS_ONLY:
            self.level_detail = _LIMITS_ONLY
            self._backend = Plain(identity=self._identity)
            return
        if level is Level.LANDLOCK:
            self._use_landlock()
            return
        try:
            self._use_namespaces(level, home=home)
        except SandboxUnavailableError as error:
            raise SandboxUnavailableError(f"{error}{self._offer_landlock()}") from error

    def _use_namespaces(self, level: Level | None, *, home: Path) -> None:
        if level is not Level.NAMESPACES:
            self._find_cgroup()
            if level is Level.NAMESPACES_CGROUP and self._parents is None:
                raise SandboxUnavailableError(self.level_detail)
        self.level = Level.NAMESPACES if self._parents is None else Level.NAMESPACES_CGROUP
        if self._parents is None:
            self.level_detail = (
                f"memory is watched by polling; {self.level_detail or 'no cgroup was asked for'}"
            )
        bubblewrap = binary.find(uid=self._identity.effective, home=home)
        self._backend = Bubblewrap(
            bubblewrap, identity=self._identity, memory_is_counted=self._parents is not None
        )
        self._prove()

    @property
    def bubblewrap(self) -> Bubblewrap | None:
        """What starts this slot's jobs, where it has namespaces."""
        return self._backend if isinstance(self._backend, Bubblewrap) else None

    def _use_landlock(self) -> None:
        self._find_cgroup()
        backend = Landlocked(
            identity=self._identity, slot=self.slot, memory_is_counted=self._parents is not None
        )
        self._backend, self.level = backend, Level.LANDLOCK
        memory = (
            "counted by a cgroup" if self._parents is not None else f"watched by polling; {self.level_detail}"
        )
        self.level_detail = (
            f"closed in by Landlock (version {backend.abi}), without namespaces; memory is {memory}"
        )
        if self._identity.uid is None:
            self.level_detail += (
                "; with the node's own uid a program may connect to no socket and change no mode of a file, which a DataLoader with "
                "workers does not survive"
            )
        self._prove()

    def _offer_landlock(self) -> str:
        """Never taken by itself."""
        try:
            require_landlock(self._identity)
        except SandboxUnavailableError:
            return ""
        return (
            f". The weaker level {Level.LANDLOCK} can be had here if it is named: for a file of your own by "
            f"`samehere reproduce --isolation {Level.LANDLOCK}`, for a node by SAMEHERE_LEVEL and, for what strangers submit, "
            "SAMEHERE_REQUIRED_LEVEL; docs/security.md says what it does not hold"
        )

    def _find_cgroup(self) -> None:
        found = cgroup.find()
        self._parents, self.level_detail = found.parents, found.detail

    def _prove(self) -> None:
        """Run the whole policy once, on nothing."""
        result = self.run(
            SandboxJob(argv=("/usr/bin/env", "true"), limits=_PROBE_LIMITS), cancelled=threading.Event()
        )
        if result.ending is not Ending.EXITED or result.exit_status != 0:
            said = (
                result.detail
                or result.stderr.head.decode(errors="replace")
                or f"the probe ended with {result.exit_status}"
            )
            raise SandboxUnavailableError(advice.explain(said))

    def run(
        self, job: SandboxJob, *, cancelled: threading.Event, backend: Backend | None = None
    ) -> SandboxResult:
        """Run one job to its end and leave nothing of it; blocks. `backend` starts it otherwise than by a program of its own."""
        backend = backend or self._backend
        if self.is_held():
            raise SandboxUnavailableError(
                f"slot {self.slot} is held by a process of an earlier job that cannot be killed"
            )
        leaf: cgroup.Leaf | None = None
        started: Launch | None = None
        self._jobs += 1
        try:
            leaf = self._make_leaf(job)
            if leaf is not None:
                threading.Thread(target=leaf.expect, name="expect-a-move", daemon=True).start()
            started = backend.start(job)
            return self._watch(job, started, leaf, backend=backend, cancelled=cancelled)
        except SetupError as error:
            return SandboxResult(ending=Ending.SETUP_FAILED, level=self.level, detail=str(error))
        finally:
            if started is not None and not _end(started, backend):
                self._lost.append(_Lost(os.dup(started.init_fd), leaf))
            elif leaf is not None:
                leaf.remove()
            if started is not None:
                started.close()
            self._backend.clean()

    def _make_leaf(self, job: SandboxJob) -> cgroup.Leaf | None:
        if self._parents is None:
            return None
        name = cgroup.leaf_name(f"slot{self.slot}", self._jobs)
        try:
            return cgroup.Leaf(
                self._parents,
                name,
                memory_bytes=job.limits.memory_bytes,
                processes=limits.process_limit(job.limits),
            )
        except OSError as error:
            raise SetupError(f"the job's cgroup could not be made: {error.strerror}") from error

    def _watch(
        self,
        job: SandboxJob,
        started: Launch,
        leaf: cgroup.Leaf | None,
        *,
        backend: Backend,
        cancelled: threading.Event,
    ) -> SandboxResult:
        nodes = gpu.nodes(job.devices)
        wanted = limits.process_limits(
            job.limits,
            uid=self._identity.effective,
            has_devices=bool(nodes),
            memory_is_counted=leaf is not None,
            confined=isinstance(self._backend, Bubblewrap),
        )
        try:
            if leaf is not None:
                leaf.add(started.init_pid)
        except OSError as error:
            raise SetupError(f"the job could not be moved into its cgroup: {error.strerror}") from error
        launch.await_ready(started)
        memory = (
            CountedMemory(leaf)
            if leaf
            else PolledMemory(limit_bytes=job.limits.memory_bytes, folders=started.folders)
        )
        argv, variables, folder = self._backend.program(job)
        launch.hand_over(started, argv=argv, variables=variables, folder=folder, limits=wanted)
        watched = supervise.Watched(
            limits=job.limits,
            level=self.level,
            memory=self._backend.watched(memory, job),
            devices=processes.device_numbers(nodes),
            cancelled=cancelled,
            kill=lambda: backend.kill(started),
            kill_harder=_harder(started, leaf),
        )
        return supervise.Supervision(started, watched).watch()

    def is_held(self) -> bool:
        """Whether a process of an earlier job is still there, which could not be killed."""
        self._reap_lost()
        return bool(self._lost)

    def _reap_lost(self) -> None:
        still: list[_Lost] = []
        for lost in self._lost:
            if not _ended(lost.init_fd):
                still.append(lost)
                continue
            os.close(lost.init_fd)
            if lost.leaf is not None:
                lost.leaf.remove()
        self._lost = still

    def self_test(self) -> list[str]:
        """What does not hold here, in plain words; empty when all holds."""
        return self_test.problems(self)


def _end(started: Launch, backend: Backend) -> bool:
    """Whatever happened: whether nothing of the job goes on."""
    if started.process.poll() is None:
        backend.kill(started)
        try:
            started.process.wait(_END_SECONDS)
        except subprocess.TimeoutExpired:
            started.process.kill()
            started.process.wait(_END_SECONDS)
    return _ended(started.init_fd)


def _ended(pidfd: int) -> bool:
    """Whether the process is gone; reaps it where it became our child."""
    if not select.select([pidfd], [], [], 0)[0]:
        return False
    with contextlib.suppress(ChildProcessError):
        os.waitid(os.P_PIDFD, pidfd, os.WEXITED | os.WNOHANG)
    return True


def _harder(started: Launch, leaf: cgroup.Leaf | None) -> Callable[[], None]:
    def kill() -> None:
        started.process.kill()
        if leaf is not None:
            leaf.kill()

    return kill


def detect(*, home: Path) -> Detected:
    """Probe this machine with the real policy."""
    try:
        sandbox = Sandbox(slot=PROBE_SLOT, home=home)
    except SandboxUnavailableError as error:
        return Detected(None, str(error))
    return Detected(sandbox.level, sandbox.level_detail)
