"""The node's side of a paused interpreter of one slot.

It takes each job in a fork of itself. If the system does not permit that, it takes one job and ends.
`worker/harness/pause.py` is the program and describes the messages.
"""

from __future__ import annotations

import contextlib
import json
import os
import resource
import select
import signal
import socket
import subprocess
import time
from collections.abc import Mapping
from dataclasses import replace

from worker.contract import MIB
from worker.harness import HARNESS_CONFIG_PATH, HARNESS_PATH, paused_sources
from worker.sandbox.errors import SetupError
from worker.sandbox.isolation.bubblewrap import INIT_PATH, Bubblewrap, RunningSandbox
from worker.sandbox.job import SandboxJob
from worker.sandbox.process import launch
from worker.sandbox.process.launch import Channels, Launch
from worker.warm.variables import READ_AT_START

_FILTER_PATH = "/run/samehere/filter"
# Enough to import torch from a cold disk on a busy machine.
_READY_SECONDS = 120.0
_ANSWER_SECONDS = 30.0
_END_SECONDS = 5.0
_MESSAGE_BYTES = 1 << 12
# As in a cold start: the C library reads the stack size of threads from this limit when the process starts.
_STACK = (8 * MIB, 64 * MIB)


class ForksRefusedError(SetupError):
    """This system does not let a fork have its own namespaces."""


class Zygote:
    """A paused interpreter, and a `Backend` that starts jobs from it.

    Create it, and start jobs, in the slot's own thread: it ends with the thread.
    """

    def __init__(
        self, bubblewrap: Bubblewrap, job: SandboxJob, *, forks: bool, modules: tuple[str, ...] = ("torch",)
    ) -> None:
        """Start the interpreter with the job's binds, devices, variables and program. Raises SetupError.

        Returns before the imports are done.
        """
        self.forks = forks
        self.jobs = 0
        self.started_at = time.monotonic()
        self._is_ready = False
        self._template = job
        channels = Channels.make()
        try:
            self._sandbox = self._open(bubblewrap, job, channels, modules)
        except BaseException:
            channels.close()
            raise
        self._control = channels.control
        self._outputs = channels.ours[:2]
        os.close(channels.ours[2])

    def _open(
        self, bubblewrap: Bubblewrap, job: SandboxJob, channels: Channels, modules: tuple[str, ...]
    ) -> RunningSandbox:
        control = channels.their_control.fileno()
        config = {
            "control_fd": control,
            "forks": self.forks,
            "modules": list(modules),
            "read_at_start": READ_AT_START,
            "argv": list(job.argv),
            "variables": self._variables(job),
            "limits": {str(resource.RLIMIT_STACK): _STACK},
        }
        files = {
            **paused_sources(),
            HARNESS_CONFIG_PATH: json.dumps(config).encode(),
            INIT_PATH: launch.INIT_SOURCE.read_bytes(),
            _FILTER_PATH: bubblewrap.filter,
        }
        command = [job.argv[0], "-I", "-S", "-E", HARNESS_PATH]
        return bubblewrap.pause(
            replace(job, files={}), command, files, channels=channels, passed=(control,), nests=self.forks
        )

    @property
    def pid(self) -> int:
        """The process id on the host."""
        return self._sandbox.init_pid

    @property
    def is_spent(self) -> bool:
        """Whether it can take no more jobs."""
        return self._sandbox.process.poll() is not None or (self.jobs > 0 and not self.forks)

    def is_settled(self, seconds: float) -> bool:
        """Whether `await_ready` would return at once; waits for this for some seconds."""
        return self._is_ready or bool(select.select([self._control], [], [], seconds)[0])

    def await_ready(self) -> None:
        """Wait until the imports are done.

        Raises SetupError if a fork would differ from a process of its own.
        """
        if self._is_ready:
            return
        if not select.select([self._control], [], [], _READY_SECONDS)[0]:
            raise SetupError(f"the imports were not done within {_READY_SECONDS:.0f} s")
        message = self._control.recv(_MESSAGE_BYTES)
        if message.startswith(b"alone "):
            raise ForksRefusedError(message.removeprefix(b"alone ").decode(errors="replace"))
        if message != b"ready":
            reason = message.removeprefix(b"trouble ").decode(errors="replace")
            raise SetupError(reason or f"the imports failed: {launch.read_error(self._outputs[1])}")
        if select.select(self._outputs, [], [], 0)[0]:
            # A cold start prints this, and a fork would not.
            raise SetupError("the imports print text")
        self._is_ready = True

    def start(self, job: SandboxJob) -> Launch:
        """Start a process for the job, up to the point where its pid 1 waits for its configuration.

        Raises SetupError.
        """
        self.await_ready()
        self.jobs += 1
        channels = Channels.make()
        memory_files: list[int] = []
        try:
            files = {**launch.files_of(job), INIT_PATH: launch.INIT_SOURCE.read_bytes()}
            memory_files += [launch.memory_file(data) for data in files.values()]
            message = "\0".join([str(job.limits.scratch_bytes), *files]).encode()
            try:
                socket.send_fds(
                    self._control,
                    [message],
                    [channels.their_control.fileno(), *channels.theirs, *memory_files],
                )
            except OSError as error:
                raise SetupError(f"the paused interpreter has ended: {error.strerror}") from error
            channels.close_theirs()
            init_fd, report_inside = self._receive_init(channels)
        except BaseException:
            channels.close()
            raise
        finally:
            for fd in memory_files:
                os.close(fd)
        stdout, stderr, report = channels.ours
        process = _Fork(self, init_fd)
        return Launch(
            process, _pid_behind(init_fd), init_fd, channels.control, stdout, stderr, report, report_inside
        )

    def _receive_init(self, channels: Channels) -> tuple[int, int]:
        """A pidfd of the job's pid 1, and the number of its end of the report channel. Raises SetupError."""
        if not select.select([channels.control], [], [], _ANSWER_SECONDS)[0]:
            raise SetupError("the paused interpreter does not answer")
        message, fds, _, _ = socket.recv_fds(channels.control, _MESSAGE_BYTES, 1)
        word, _, number = message.partition(b" ")
        if word != b"init" or len(fds) != 1:
            raise SetupError(
                f"the paused interpreter could not start the job: {launch.read_error(channels.ours[1])}"
            )
        return fds[0], int(number)

    @staticmethod
    def kill(started: Launch) -> None:
        """Kill pid 1 of the job's namespace, and so all its processes."""
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(started.init_fd, signal.SIGKILL)

    def destroy(self) -> None:
        """Kill the interpreter with all its jobs."""
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(self._sandbox.init_fd, signal.SIGKILL)

    def close(self) -> None:
        """End the interpreter, and close everything that belongs to it."""
        self.destroy()
        try:
            self._sandbox.process.wait(_END_SECONDS)
        except subprocess.TimeoutExpired:
            self._sandbox.process.kill()
            with contextlib.suppress(subprocess.TimeoutExpired):
                # The slot reports a process that hangs in the kernel.
                self._sandbox.process.wait(_END_SECONDS)
        self._control.close()
        for fd in (self._sandbox.init_fd, *self._outputs):
            os.close(fd)

    @staticmethod
    def _variables(job: SandboxJob) -> Mapping[str, str]:
        from worker.sandbox.isolation import gpu

        return launch.variables_of(
            job, library_path=gpu.driver().library_path if gpu.is_nvidia(job.devices) else ()
        )


class _Fork:
    """The launcher of a job in a fork. No process on the host started it: it ends with the job's pid 1."""

    def __init__(self, zygote: Zygote, init_fd: int) -> None:
        self._zygote = zygote
        self._init_fd = init_fd

    def poll(self) -> int | None:
        return 0 if select.select([self._init_fd], [], [], 0)[0] else None

    def wait(self, timeout: float | None = None) -> int:
        if not select.select([self._init_fd], [], [], timeout)[0]:
            raise subprocess.TimeoutExpired("a fork of a paused interpreter", timeout or 0.0)
        return 0

    def kill(self) -> None:
        self._zygote.destroy()


def _pid_behind(pidfd: int) -> int:
    with open(f"/proc/self/fdinfo/{pidfd}", encoding="ascii") as file:  # noqa: PTH123
        pid = next(int(line.split()[1]) for line in file if line.startswith("Pid:"))
    if pid <= 0:
        raise SetupError("the job's first process has ended")
    return pid
