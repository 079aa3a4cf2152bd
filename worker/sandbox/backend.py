"""The sandbox of one slot: chooses the strongest level that works here, tests it, and runs jobs."""

from __future__ import annotations

import contextlib
import ctypes
import os
import select
import subprocess
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from worker.contract import FIRST_UID, MIB, Level, Limits
from worker.sandbox import gate_test, self_test
from worker.sandbox.errors import SandboxUnavailableError, SetupError
from worker.sandbox.isolation import advice, binary, gpu
from worker.sandbox.isolation.bubblewrap import Bubblewrap, Identity
from worker.sandbox.isolation.gate_filter import build_gate_filter
from worker.sandbox.isolation.landlock import LandlockBackend
from worker.sandbox.isolation.landlock import require as require_landlock
from worker.sandbox.isolation.plain import Plain
from worker.sandbox.job import Ending, SandboxJob, SandboxResult
from worker.sandbox.process import launch, supervise
from worker.sandbox.process.gate import Gate
from worker.sandbox.process.init import GATE_PATH
from worker.sandbox.process.launch import Backend, Launch
from worker.sandbox.resources import cgroup, limits, processes
from worker.sandbox.resources.memory import CountedMemory, PolledMemory

# The slot for examining a machine while a node may run on
# it. No node has it, and its uid is not the service's.
PROBE_SLOT = 97
_PROBE_LIMITS = Limits(wall_seconds=30, memory_bytes=256 * MIB, scratch_bytes=16 * MIB)
_PR_SET_CHILD_SUBREAPER = 36
_END_SECONDS = 5.0
_LIMITS_ONLY = (
    "no isolation: the program can see and reach everything that its user can; only its resources are limited"
)


@dataclass(frozen=True, slots=True)
class Detection:
    """The strongest level that works on this machine, or None. The detail says how to get a stronger one."""

    level: Level | None
    detail: str


@dataclass(frozen=True, slots=True)
class _Unkillable:
    """Pid 1 of a job that could not be killed, as a pidfd, and the job's cgroup."""

    init_fd: int
    leaf: cgroup.Leaf | None


class Sandbox:
    """The sandbox of one slot.

    Create it and run jobs in one thread that lives as long as the slot: jobs die with it.

    Each slot has its own uid, so that no two jobs share the kernel's limits per uid.

    `level`: the level to use; None chooses the strongest one with namespaces. `first_uid`: the uid of slot 0;
    slot N has this uid plus N if this process is root. Raises SandboxUnavailableError if this machine can't
    give that level.
    """

    def __init__(
        self, *, slot: int, home: Path, level: Level | None = None, first_uid: int = FIRST_UID
    ) -> None:
        self.slot = slot
        self.level: Level = Level.LIMITS_ONLY
        self.level_detail = ""
        self._identity = Identity(first_uid + slot if os.geteuid() == 0 else None)
        self._jobs = 0
        self._unkillable: list[_Unkillable] = []
        self._parents: cgroup.Parents | None = None
        self._backend: Bubblewrap | Plain
        if not sys.platform.startswith("linux"):
            raise SandboxUnavailableError("a node needs Linux: the sandbox uses its namespaces")
        # A killed job's process in an uninterruptible call
        # then becomes our child, so that we can recover it later.
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
                f"memory is checked by polling; {self.level_detail or 'the level was named without a cgroup'}"
            )
        bubblewrap = binary.find(uid=self._identity.effective, home=home)
        self._backend = Bubblewrap(
            bubblewrap, identity=self._identity, memory_is_counted=self._parents is not None
        )
        self._try()

    @property
    def bubblewrap(self) -> Bubblewrap | None:
        """The backend that starts this slot's jobs, if it uses namespaces."""
        return self._backend if isinstance(self._backend, Bubblewrap) else None

    def _use_landlock(self) -> None:
        self._find_cgroup()
        backend = LandlockBackend(
            identity=self._identity, slot=self.slot, memory_is_counted=self._parents is not None
        )
        self._backend, self.level = backend, Level.LANDLOCK
        memory = (
            "counted by a cgroup" if self._parents is not None else f"checked by polling; {self.level_detail}"
        )
        self.level_detail = (
            f"restricted by Landlock (version {backend.abi}), without namespaces; memory is {memory}"
        )
        if self._identity.uid is None:
            self.level_detail += (
                "; since programs share the node's uid, they may neither connect to sockets nor change "
                "file modes: a DataLoader with workers fails"
            )
        self._try()

    def _offer_landlock(self) -> str:
        """How to use the weaker level Landlock, if it works here; it is never chosen by itself."""
        try:
            require_landlock(self._identity)
        except SandboxUnavailableError:
            return ""
        return (
            f". The weaker level {Level.LANDLOCK} works here, but only if you name it: for your own file by "
            f"`samehere reproduce --isolation {Level.LANDLOCK}`, for a node by SAMEHERE_LEVEL, and for "
            "untrusted submissions also by SAMEHERE_REQUIRED_LEVEL; docs/security.md lists its gaps"
        )

    def _find_cgroup(self) -> None:
        support = cgroup.find()
        self._parents, self.level_detail = support.parents, support.detail

    def _try(self) -> None:
        """Run an empty job with the whole policy. Raises SandboxUnavailableError if it fails."""
        result = self.run(
            SandboxJob(argv=("/usr/bin/env", "true"), limits=_PROBE_LIMITS), cancelled=threading.Event()
        )
        if result.ending is not Ending.EXITED or result.exit_status != 0:
            message = (
                result.detail
                or result.stderr.head.decode(errors="replace")
                or f"the test job ended with exit status {result.exit_status}"
            )
            raise SandboxUnavailableError(advice.explain(message))

    def run(
        self,
        job: SandboxJob,
        *,
        cancelled: threading.Event,
        backend: Backend | None = None,
        gate: Gate | None = None,
    ) -> SandboxResult:
        """Run one job to its end, and remove all traces of it.

        Blocks. Raises SandboxUnavailableError if blocked.

        `backend` starts the job in another way than the slot's own backend, such as from a paused
        interpreter. `gate` opens the device nodes of a gated job, and of no other.
        """
        backend = backend or self._backend
        if job.gated != (gate is not None):
            raise ValueError("a gated job needs a gate, and no other job has one")
        if self.is_blocked():
            raise SandboxUnavailableError(
                f"slot {self.slot} is blocked by a process of an earlier job that can't be killed"
            )
        leaf: cgroup.Leaf | None = None
        started: Launch | None = None
        self._jobs += 1
        try:
            if gate is not None:
                job = self._with_gate(job)
            leaf = self._make_leaf(job)
            if leaf is not None:
                threading.Thread(target=leaf.expect, name="expect-a-move", daemon=True).start()
            started = backend.start(job)
            return self._watch(job, started, leaf, backend=backend, cancelled=cancelled, gate=gate)
        except SetupError as error:
            return SandboxResult(ending=Ending.SETUP_FAILED, level=self.level, detail=str(error))
        finally:
            if started is not None and not _end(started, backend):
                self._unkillable.append(_Unkillable(os.dup(started.init_fd), leaf))
            elif leaf is not None:
                leaf.remove()
            if started is not None:
                started.close()
            if gate is not None:
                gate.close()
            self._backend.clean()

    def _with_gate(self, job: SandboxJob) -> SandboxJob:
        """The job with the file of its gate. Raises SetupError."""
        if self.bubblewrap is None:
            raise SetupError("a job has a gate only in namespaces of its own")
        return replace(job, files={**job.files, GATE_PATH: build_gate_filter()})

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
            raise SetupError(f"could not create the job's cgroup: {error.strerror}") from error

    def _watch(
        self,
        job: SandboxJob,
        started: Launch,
        leaf: cgroup.Leaf | None,
        *,
        backend: Backend,
        cancelled: threading.Event,
        gate: Gate | None,
    ) -> SandboxResult:
        nodes = gpu.nodes(job.devices)
        process_limits = limits.process_limits(
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
            raise SetupError(f"could not move the job into its cgroup: {error.strerror}") from error
        launch.await_ready(started)
        memory = (
            CountedMemory(leaf)
            if leaf
            else PolledMemory(limit_bytes=job.limits.memory_bytes, folders=started.folders)
        )
        argv, variables, folder = self._backend.program(job)
        launch.hand_over(started, argv=argv, variables=variables, folder=folder, limits=process_limits)
        supervised = supervise.SupervisedJob(
            limits=job.limits,
            level=self.level,
            memory=self._backend.memory_watch(memory, job),
            devices=processes.device_numbers(nodes),
            cancelled=cancelled,
            kill=lambda: backend.kill(started),
            kill_harder=_harder(started, leaf),
            gate=gate,
        )
        return supervise.Supervision(started, supervised).watch()

    def is_blocked(self) -> bool:
        """Whether a process of an earlier job could not be killed and still exists."""
        self._reap_unkillable()
        return bool(self._unkillable)

    def _reap_unkillable(self) -> None:
        alive: list[_Unkillable] = []
        for process in self._unkillable:
            if not _has_ended(process.init_fd):
                alive.append(process)
                continue
            os.close(process.init_fd)
            if process.leaf is not None:
                process.leaf.remove()
        self._unkillable = alive

    def test_gate(self) -> str:
        """Why jobs can't get their cards through a gate here; empty if they can. Runs a small job."""
        if self.bubblewrap is None:
            return f"the isolation level {self.level} has no namespaces"
        return gate_test.problem(self)

    def self_test(self) -> list[str]:
        """The weaknesses that an attack from inside shows, as sentences; empty if there are none."""
        return self_test.problems(self)


def _end(started: Launch, backend: Backend) -> bool:
    """Kill what is left of a job, however it ended; whether no process of it is left."""
    if started.process.poll() is None:
        backend.kill(started)
        try:
            started.process.wait(_END_SECONDS)
        except subprocess.TimeoutExpired:
            started.process.kill()
            started.process.wait(_END_SECONDS)
    return _has_ended(started.init_fd)


def _has_ended(pidfd: int) -> bool:
    """Whether the process has ended; reaps it if it became our child."""
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


def detect(*, home: Path) -> Detection:
    """Find the strongest level with namespaces that works here, by running a job with the real policy."""
    try:
        sandbox = Sandbox(slot=PROBE_SLOT, home=home)
    except SandboxUnavailableError as error:
        return Detection(None, str(error))
    return Detection(sandbox.level, sandbox.level_detail)
