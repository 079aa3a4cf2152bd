"""Watches one running job until nothing of it is left: output, time, memory, devices, cancellation."""

from __future__ import annotations

import os
import selectors
import subprocess
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from worker.contract import Level, Limits
from worker.sandbox.job import Ending, SandboxResult
from worker.sandbox.process import stacks, streams
from worker.sandbox.process.launch import Launch
from worker.sandbox.resources import processes
from worker.sandbox.resources.memory import MemoryWatch

_TICK_SECONDS = 0.05
_KILL_SECONDS = 5.0
_IDLE_WINDOW_SECONDS = 1.0
_IDLE_SHARE = 0.05
# Of the time between two looks, at most a fifth goes into looking.
_PAUSE_PER_COST = 5
_PIPE_BYTES = 1 << 21


@dataclass(frozen=True, slots=True, kw_only=True)
class Watched:
    """What the supervision needs to know of the job and its backend."""

    limits: Limits
    level: Level
    memory: MemoryWatch
    devices: dict[int, str]
    cancelled: threading.Event
    kill: Callable[[], None]
    # After pid 1 would not go.
    kill_harder: Callable[[], None]


@dataclass(slots=True)
class _Exit:
    """What pid 1 said of the program's end."""

    status: int
    cpu_seconds: float
    peak_bytes: int
    wall_seconds: float


class Supervision:
    """One job, from the moment its program starts."""

    def __init__(self, launch: Launch, watched: Watched) -> None:
        self._launch = launch
        self._watched = watched
        self._limits = watched.limits
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
        """Until nothing is left. Never waits for the end of a stream: whoever holds it open may outlive the program."""
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
            gone = self._await_end(selector)
        wall = time.monotonic() - began
        if gone:
            for fd, into in self._into.items():
                streams.drain(fd, into, at_most=_PIPE_BYTES)
        return self._result(wall=wall, gone=gone)

    def _step(self, selector: selectors.BaseSelector, began: float) -> bool:
        """Whether the program ended or has to."""
        if self._exit is not None:
            # The rest dies with pid 1; that is no matter of the program's limits any more.
            return True
        now = time.monotonic()
        deadline = began + self._limits.wall_seconds
        if self._watched.cancelled.is_set():
            return self._end(Ending.CANCELLED, "")
        if now >= deadline:
            self._judge_idle(now)
            return self._end(Ending.WALL_LIMIT, "")
        if now >= self._look_at:
            self._look(now, deadline)
            if self._ending is not None:
                return True
        timeout = max(0.0, min(_TICK_SECONDS, deadline - now))
        return self._read(selector, timeout)

    def _end(self, ending: Ending, detail: str) -> bool:
        if self._ending is None:
            self._ending, self._detail = ending, detail
        return True

    def _read(self, selector: selectors.BaseSelector, timeout: float) -> bool:
        """Take what is there; whether pid 1 is gone or a limit was passed."""
        gone = self._take(selector, timeout)
        self._judge_output()
        return gone or self._ending is not None

    def _take(self, selector: selectors.BaseSelector, timeout: float) -> bool:
        """Take what is there; whether pid 1 is gone."""
        gone = False
        for key, _ in selector.select(timeout):
            if key.fd == self._launch.init_fd:
                gone = True
            elif key.fd == self._launch.control.fileno():
                if not self._hear():
                    selector.unregister(key.fileobj)
            elif not streams.read_available(key.fd, self._into[key.fd]):
                selector.unregister(key.fileobj)
        return gone

    def _judge_output(self) -> None:
        most = self._limits.stream_kill_bytes
        for name, into in (
            ("stdout", self._stdout),
            ("stderr", self._stderr),
            ("the report channel", self._report),
        ):
            if into.total_bytes > most:
                self._end(Ending.OUTPUT_LIMIT, f"more than {most} bytes on {name}")

    def _hear(self) -> bool:
        """A message of pid 1; False when there will be none."""
        try:
            message = self._launch.control.recv(256).decode()
        except OSError:
            return False
        word, _, rest = message.partition(" ")
        if word == "failed":
            self._failed = int(rest)
        elif word == "exit":
            status, user, system, peak, wall = rest.split(" ")
            self._exit = _Exit(int(status), float(user) + float(system), int(peak) * 1024, float(wall))
        return bool(message)

    def _look(self, now: float, deadline: float) -> None:
        """At the processes: memory, devices, and their CPU time before the limit."""
        pids = processes.tree(self._launch.init_pid)
        exceeded = self._watched.memory.exceeded(pids)
        if exceeded is not None:
            self._end(Ending.MEMORY_LIMIT, exceeded)
        if self._watched.devices:
            self._devices |= processes.held_open(pids, self._watched.devices)
        window = min(_IDLE_WINDOW_SECONDS, self._limits.wall_seconds / 2)
        if self._idle_sample is None and now >= deadline - window:
            self._idle_sample = (now, processes.cpu_seconds(pids))
        cost = time.monotonic() - now
        self._look_at = now + max(self._watched.memory.interval_seconds, _PAUSE_PER_COST * cost)

    def _judge_idle(self, now: float) -> None:
        pids = processes.tree(self._launch.init_pid)
        self._cpu_seen = processes.cpu_seconds(pids)
        if self._idle_sample is not None:
            since, before = self._idle_sample
            self._idle = self._cpu_seen - before < _IDLE_SHARE * (now - since)

    def _ask_for_stacks(self, selector: selectors.BaseSelector) -> None:
        """What comes on the report channel meanwhile is an answer. The job stays within its memory, or is asked no more."""
        report, interval = self._launch.report, self._watched.memory.interval_seconds
        look_at = time.monotonic() + interval

        def listen(into: streams.Capture, timeout: float) -> bool:
            nonlocal look_at
            self._into[report] = into
            if self._take(selector, timeout) or self._watched.cancelled.is_set():
                return True
            if time.monotonic() < look_at:
                return False
            look_at = time.monotonic() + interval
            return self._watched.memory.exceeded(processes.tree(self._launch.init_pid)) is not None

        self._take(selector, 0.0)
        try:
            below = [pid for pid in processes.tree(self._launch.init_pid) if pid != self._launch.init_pid]
            self._stacks = stacks.collect(below, listen)
        finally:
            self._into[report] = self._report

    def _await_end(self, selector: selectors.BaseSelector) -> bool:
        """Kill what is left, and wait for pid 1's end, which comes after that of all others; whether it came."""
        if self._ending is not None:
            if not self._cpu_seen:
                self._cpu_seen = processes.cpu_seconds(processes.tree(self._launch.init_pid))
            self._watched.kill()
        for harder in (False, True):
            if harder:
                self._watched.kill_harder()
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
        while self._exit is None and self._hear():
            pass

    def _result(self, *, wall: float, gone: bool) -> SandboxResult:
        self._judge_output()
        status, signal = self._status()
        exceeded = self._watched.memory.killed(signal)
        # A kill for memory explains every other end, the program's own exit 0 included.
        if exceeded is not None and self._ending in (None, Ending.WALL_LIMIT):
            self._ending, self._detail = Ending.MEMORY_LIMIT, exceeded
        if not gone:
            self._ending, self._detail = (
                Ending.NOT_REAPED,
                f"killed for {self._ending}, but a process did not go within the time",
            )
        if self._ending is None and self._failed is not None:
            self._ending, self._detail = (
                Ending.SETUP_FAILED,
                f"the program could not be started: {os.strerror(self._failed)}",
            )
        if self._ending is None and self._exit is None:
            self._ending, self._detail = Ending.SETUP_FAILED, "the sandbox was ended from outside"
        counted = self._ending is None
        told = self._exit
        return SandboxResult(
            ending=self._ending or Ending.EXITED,
            level=self._watched.level,
            detail=self._detail,
            exit_status=status if counted else None,
            signal=signal if counted else None,
            stdout=self._stdout.stream(),
            stderr=self._stderr.stream(),
            report=bytes(self._report.kept),
            wall_seconds=told.wall_seconds if told and counted else wall,
            cpu_seconds=told.cpu_seconds if told else self._cpu_seen,
            peak_memory_bytes=max(self._watched.memory.peak_bytes, told.peak_bytes if told else 0),
            idle=self._idle if self._ending is Ending.WALL_LIMIT else None,
            stacks=self._stacks if self._ending is Ending.WALL_LIMIT else "",
            devices_opened=tuple(sorted(self._devices)),
        )

    def _status(self) -> tuple[int | None, int | None]:
        if self._exit is None:
            return None, None
        if os.WIFSIGNALED(self._exit.status):
            return None, os.WTERMSIG(self._exit.status)
        return os.WEXITSTATUS(self._exit.status), None
