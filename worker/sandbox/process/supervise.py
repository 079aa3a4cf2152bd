"""Watches one running job until no process of it is left: output, time, memory, devices, cancellation."""

from __future__ import annotations

import os
import selectors
import socket
import subprocess
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from worker.contract import Level, Limits
from worker.sandbox.job import Ending, SandboxResult
from worker.sandbox.process import stacks, streams
from worker.sandbox.process.gate import Gate
from worker.sandbox.process.launch import Launch
from worker.sandbox.resources import processes
from worker.sandbox.resources.memory import MemoryWatch

_TICK_SECONDS = 0.05
_KILL_SECONDS = 5.0
_IDLE_WINDOW_SECONDS = 1.0
_IDLE_SHARE = 0.05
# Reading /proc takes at most a fifth of the time: the pause after a look is this many times its duration.
_PAUSE_PER_COST = 5
_PIPE_BYTES = 1 << 21


@dataclass(frozen=True, slots=True, kw_only=True)
class SupervisedJob:
    """The facts about a job and its backend that the supervision needs. `devices`: path by device number."""

    limits: Limits
    level: Level
    memory: MemoryWatch
    devices: dict[int, str]
    cancelled: threading.Event
    kill: Callable[[], None]
    # Used if pid 1 does not end after `kill`.
    kill_harder: Callable[[], None]
    gate: Gate | None = None


@dataclass(slots=True)
class _Exit:
    """pid 1's report of the program's end; `status` is the wait status."""

    status: int
    cpu_seconds: float
    peak_bytes: int
    wall_seconds: float


class Supervision:
    """The supervision of one job, from the moment its program starts."""

    def __init__(self, launch: Launch, job: SupervisedJob) -> None:
        self._launch = launch
        self._job = job
        self._limits = job.limits
        self._stdout = streams.Capture(keep_bytes=self._limits.stream_bytes)
        self._stderr = streams.Capture(keep_bytes=self._limits.stream_bytes)
        self._report = streams.Report(keep_bytes=self._limits.result_bytes)
        self._into: dict[int, streams.Capture | streams.Report] = {
            launch.stdout: self._stdout,
            launch.stderr: self._stderr,
            launch.report: self._report,
        }
        self._ending: Ending | None = None
        self._detail = ""
        self._idle: bool | None = None
        self._stacks = ""
        self._exit: _Exit | None = None
        self._failed: int | None = None
        self._devices: set[str] = set()
        self._look_at = 0.0
        self._idle_sample: tuple[float, float] | None = None
        self._cpu_seen = 0.0

    def watch(self) -> SandboxResult:
        """Watch until no process is left.

        Never waits for the end of a stream, which a leaked descriptor may delay.
        """
        began = time.monotonic()
        with selectors.DefaultSelector() as selector:
            for fd in self._into:
                selector.register(fd, selectors.EVENT_READ)
            selector.register(self._launch.control, selectors.EVENT_READ)
            selector.register(self._launch.init_fd, selectors.EVENT_READ)
            while not self._step(selector, began):
                pass
            if self._ending is Ending.WALL_LIMIT:
                self._ask_for_stacks(selector)
            is_gone = self._await_end(selector)
        wall = time.monotonic() - began
        if is_gone:
            for fd, into in self._into.items():
                streams.drain(fd, into, at_most=_PIPE_BYTES)
        return self._result(wall=wall, is_gone=is_gone)

    def _step(self, selector: selectors.BaseSelector, began: float) -> bool:
        """One round of reading and checking. Returns whether the program has ended or must be ended."""
        if self._exit is not None:
            # The other processes die with pid 1. The program's limits no longer matter.
            return True
        # The time at the gate counts against no limit. It is read first: it must not be longer than `now`.
        waited = self._waited
        now = time.monotonic()
        deadline = began + self._limits.wall_seconds + waited
        if self._job.cancelled.is_set():
            return self._end(Ending.CANCELLED, "")
        if self._check_gate():
            return True
        if now >= deadline:
            self._measure_idleness(now)
            return self._end(Ending.WALL_LIMIT, "")
        if now >= self._look_at:
            self._look(now, deadline)
            if self._ending is not None:
                return True
        timeout = max(0.0, min(_TICK_SECONDS, deadline - now))
        return self._read(selector, timeout)

    @property
    def _waited(self) -> float:
        return 0.0 if self._job.gate is None else self._job.gate.waited_seconds

    def _check_gate(self) -> bool:
        """Whether the job must end because of its gate."""
        gate = self._job.gate
        if gate is None:
            return False
        gate.check()
        if gate.fault:
            return self._end(Ending.GATE_FAILED, gate.fault)
        if gate.refusal:
            return self._end(Ending.CARD_NOT_FREE, gate.refusal)
        if gate.is_waiting:
            # Waiting is no idleness.
            self._idle_sample = None
        return False

    def _end(self, ending: Ending, detail: str) -> bool:
        if self._ending is None:
            self._ending, self._detail = ending, detail
        return True

    def _read(self, selector: selectors.BaseSelector, timeout: float) -> bool:
        """Read available data; whether pid 1 has ended or the job must end."""
        is_gone = self._take(selector, timeout)
        self._check_output()
        return is_gone or self._ending is not None

    def _take(self, selector: selectors.BaseSelector, timeout: float) -> bool:
        """Read available data; whether pid 1 has ended."""
        is_gone = False
        for key, _ in selector.select(timeout):
            if key.fd == self._launch.init_fd:
                is_gone = True
            elif key.fd == self._launch.control.fileno():
                if not self._read_control():
                    selector.unregister(key.fileobj)
            elif not streams.read_available(key.fd, self._into[key.fd]):
                selector.unregister(key.fileobj)
        return is_gone

    def _check_output(self) -> None:
        most = self._limits.stream_kill_bytes
        for name, into in (
            ("stdout", self._stdout),
            ("stderr", self._stderr),
            ("the report channel", self._report),
        ):
            if into.total_bytes > most:
                self._end(Ending.OUTPUT_LIMIT, f"more than {most} bytes on {name}")

    def _read_control(self) -> bool:
        """Read a message of pid 1; False if there will be no more."""
        try:
            data, fds, _, _ = socket.recv_fds(self._launch.control, 256, 1)
        except OSError:
            return False
        message = data.decode()
        word, _, rest = message.partition(" ")
        if word == "gate" and self._job.gate is not None:
            self._job.gate.listen(fds[0])
        elif word == "failed":
            self._failed = int(rest)
        elif word == "exit":
            status, user, system, peak, wall = rest.split(" ")
            self._exit = _Exit(int(status), float(user) + float(system), int(peak) * 1024, float(wall))
        return bool(message)

    def _look(self, now: float, deadline: float) -> None:
        """Check the processes' memory and devices; measure their CPU time shortly before the limit."""
        pids = processes.tree(self._launch.init_pid)
        exceeded = self._job.memory.check_limits(pids)
        if exceeded is not None:
            self._end(Ending.MEMORY_LIMIT, exceeded)
        if self._job.devices:
            self._devices |= processes.open_devices(pids, self._job.devices)
        window = min(_IDLE_WINDOW_SECONDS, self._limits.wall_seconds / 2)
        if self._idle_sample is None and now >= deadline - window:
            self._idle_sample = (now, processes.cpu_seconds(pids))
        cost = time.monotonic() - now
        self._look_at = now + max(self._job.memory.interval_seconds, _PAUSE_PER_COST * cost)

    def _measure_idleness(self, now: float) -> None:
        pids = processes.tree(self._launch.init_pid)
        self._cpu_seen = processes.cpu_seconds(pids)
        if self._idle_sample is not None:
            since, before = self._idle_sample
            self._idle = self._cpu_seen - before < _IDLE_SHARE * (now - since)

    def _ask_for_stacks(self, selector: selectors.BaseSelector) -> None:
        """Collect the stacks: data on the report channel is now an answer.

        Stops if the job exceeds its memory limit.
        """
        report, interval = self._launch.report, self._job.memory.interval_seconds
        look_at = time.monotonic() + interval

        def listen(into: streams.Capture, timeout: float) -> bool:
            nonlocal look_at
            self._into[report] = into
            if self._take(selector, timeout) or self._job.cancelled.is_set():
                return True
            if time.monotonic() < look_at:
                return False
            look_at = time.monotonic() + interval
            return self._job.memory.check_limits(processes.tree(self._launch.init_pid)) is not None

        self._take(selector, 0.0)
        try:
            below = [pid for pid in processes.tree(self._launch.init_pid) if pid != self._launch.init_pid]
            self._stacks = stacks.collect(below, listen)
        finally:
            self._into[report] = self._report

    def _await_end(self, selector: selectors.BaseSelector) -> bool:
        """Kill what is left, and wait for the end of pid 1, which ends last. Returns whether it ended."""
        if self._ending is not None:
            if not self._cpu_seen:
                self._cpu_seen = processes.cpu_seconds(processes.tree(self._launch.init_pid))
            self._job.kill()
        for harder in (False, True):
            if harder:
                self._job.kill_harder()
            until = time.monotonic() + _KILL_SECONDS
            while time.monotonic() < until:
                if self._take(selector, _TICK_SECONDS):
                    return self._await_launcher()
        return False

    def _await_launcher(self) -> bool:
        self._drain_control()
        try:
            self._launch.process.wait(_KILL_SECONDS)
        except subprocess.TimeoutExpired:
            self._launch.process.kill()
            try:
                self._launch.process.wait(_KILL_SECONDS)
            except subprocess.TimeoutExpired:
                return False
        return True

    def _drain_control(self) -> None:
        self._launch.control.setblocking(False)
        while self._exit is None and self._read_control():
            pass

    def _result(self, *, wall: float, is_gone: bool) -> SandboxResult:
        self._check_output()
        status, signal = self._status()
        exceeded = self._job.memory.check_kernel_kill(signal)
        # A kill for memory explains every other end, even the program's own exit status 0.
        if exceeded is not None and self._ending in (None, Ending.WALL_LIMIT):
            self._ending, self._detail = Ending.MEMORY_LIMIT, exceeded
        if not is_gone:
            detail = f"killed for {self._ending}, but a process did not end in time"
            self._ending, self._detail = Ending.NOT_REAPED, detail
        if self._ending is None and self._failed is not None:
            detail = f"the program could not be started: {os.strerror(self._failed)}"
            self._ending, self._detail = Ending.SETUP_FAILED, detail
        if self._ending is None and self._exit is None:
            self._ending, self._detail = Ending.SETUP_FAILED, "something outside ended the sandbox"
        # The program may have seen the fault before we did, and ended because of it.
        if self._ending is None:
            self._check_gate()
        by_itself = self._ending is None
        report = self._exit
        gate = self._job.gate
        opened = self._devices if gate is None else self._devices | gate.opened
        wall = report.wall_seconds if report and by_itself else wall
        return SandboxResult(
            ending=self._ending or Ending.EXITED,
            level=self._job.level,
            detail=self._detail,
            exit_status=status if by_itself else None,
            signal=signal if by_itself else None,
            stdout=self._stdout.stream(),
            stderr=self._stderr.stream(),
            report=bytes(self._report.data),
            wall_seconds=max(0.0, wall - self._waited),
            cpu_seconds=report.cpu_seconds if report else self._cpu_seen,
            peak_memory_bytes=max(self._job.memory.peak_bytes, report.peak_bytes if report else 0),
            idle=self._idle if self._ending is Ending.WALL_LIMIT else None,
            stacks=self._stacks if self._ending is Ending.WALL_LIMIT else "",
            devices_opened=tuple(sorted(opened)),
        )

    def _status(self) -> tuple[int | None, int | None]:
        if self._exit is None:
            return None, None
        if os.WIFSIGNALED(self._exit.status):
            return None, os.WTERMSIG(self._exit.status)
        return os.WEXITSTATUS(self._exit.status), None
