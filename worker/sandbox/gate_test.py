"""Tries whether a job can get its device nodes through a gate here, before any job depends on it."""

from __future__ import annotations

import errno
import os
import threading
from typing import Protocol

from worker.contract import MIB, Limits
from worker.sandbox.job import Ending, SandboxJob, SandboxResult
from worker.sandbox.process.gate import Answer, Gate
from worker.sandbox.resources.limits import kernel_version
from worker.sandbox.self_test import find_python

# SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV.
_OLDEST_KERNEL = (5, 19)
_LIMITS = Limits(wall_seconds=30, memory_bytes=256 * MIB, scratch_bytes=16 * MIB)
# A node that every machine has stands for a card. The exit status says what went wrong.
_NODE = "/dev/full"
_WAYS_AROUND = """
import os, sys
try:
    os.close(os.open(NODE, os.O_RDWR | os.O_CLOEXEC))
except OSError:
    sys.exit(3)
try:
    os.open(NODE, os.O_RDONLY)
except PermissionError:
    sys.exit(0)
sys.exit(4)
"""
_MEANINGS = {
    3: "the program did not get a device node through the gate",
    4: "a program can open device nodes without the gate",
}


def _explain(detail: str) -> str:
    """The known cause of a failed start, in brackets."""
    if os.strerror(errno.EBUSY) in detail:
        return " (a program further out, such as a container runtime, already listens to system calls)"
    return ""


class Testable(Protocol):
    """A sandbox in which a gated job can be tried."""

    def run(self, job: SandboxJob, *, cancelled: threading.Event, gate: Gate) -> SandboxResult:
        """Run one job to its end."""


class _FreeCards:
    """Cards that are always free."""

    def touch(self) -> Answer:
        return Answer.OPEN

    def fail(self, why: str) -> None:
        """Nothing is to be taken out of use."""

    def leave(self) -> None:
        """Nothing to leave."""


def problem(sandbox: Testable) -> str:
    """Why a gated job does not work in this sandbox, as the end of a sentence; empty if it works."""
    if kernel_version() < _OLDEST_KERNEL:
        return "Linux 5.19 or newer is needed"
    python, binds = find_python()
    job = SandboxJob(
        argv=(python, "-I", "/home/u/script.py"),
        files={"/home/u/script.py": _WAYS_AROUND.replace("NODE", repr(_NODE)).encode()},
        binds=binds,
        devices=(_NODE,),
        gated=True,
        limits=_LIMITS,
    )
    gate = Gate((_NODE,), _FreeCards(), most_seconds=_LIMITS.wall_seconds)
    result = sandbox.run(job, cancelled=threading.Event(), gate=gate)
    if result.ending is not Ending.EXITED:
        return f"{result.detail or f'the test job ended with {result.ending}'}{_explain(result.detail)}"
    if result.exit_status == 0 and gate.opened == {_NODE}:
        return ""
    return _MEANINGS.get(result.exit_status or 0) or (
        f"the test job ended with exit status {result.exit_status}: "
        f"{result.stderr.head.decode(errors='replace')[-300:]}"
    )
