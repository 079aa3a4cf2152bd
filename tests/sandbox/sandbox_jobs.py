"""Runs Python programs as jobs, and reads the host's processes."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from sandbox_runner import NODE_PYTHON, Runner, readable_prefix

from worker.contract import MIB, Level, Limits
from worker.sandbox import Bind, SandboxJob, SandboxResult

# Without namespaces, a program has the same path inside.
SYSTEM_PYTHON = "/usr/bin/python3"
# The lowest limit of processes on any number of cores, so
# that a fork bomb does not hit the memory limit first.
SMALL = Limits(wall_seconds=20, memory_bytes=512 * MIB, scratch_bytes=32 * MIB, processes_per_core=1)


def python_job(
    source: str,
    *arguments: str,
    uid: int | None,
    limits: Limits = SMALL,
    variables: Mapping[str, str] | None = None,
    devices: tuple[str, ...] = (),
    files: Mapping[str, bytes] | None = None,
    system: bool = False,
) -> SandboxJob:
    """A job on the node's own Python, or on the system's, which every uid can read."""
    python = SYSTEM_PYTHON if system else NODE_PYTHON
    binds = () if system or sys.base_prefix == "/usr" else (Bind(readable_prefix(uid=uid), sys.base_prefix),)
    return SandboxJob(
        argv=(python, "/home/u/script.py", *arguments),
        files={"/home/u/script.py": source.encode(), **(files or {})},
        binds=binds,
        limits=limits,
        variables=variables or {},
        devices=devices,
    )


@dataclass(frozen=True)
class Jobs:
    runner: Runner

    @property
    def level(self) -> Level:
        return self.runner.level

    @property
    def counted(self) -> bool:
        return self.level is Level.NAMESPACES_CGROUP

    def job(self, source: str, *arguments: str, **options: object) -> SandboxJob:
        return python_job(
            source, *arguments, uid=self.runner.uid, system=self.level is Level.LANDLOCK, **options
        )  # type: ignore[arg-type]

    def run(
        self, source: str, *arguments: str, cancel_after: float | None = None, **options: object
    ) -> SandboxResult:
        return self.runner.run(self.job(source, *arguments, **options), cancel_after=cancel_after)

    def output_of(self, source: str, *arguments: str, **options: object) -> str:
        result = self.run(source, *arguments, **options)
        assert (result.ending, result.exit_status) == ("exited", 0), (
            result.detail,
            result.stderr.head.decode(errors="replace"),
        )
        return result.stdout.head.decode()


def marked(marker: str) -> list[int]:
    """The host's processes that have this word among their arguments."""
    pids = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if int(folder.name) != os.getpid() and marker.encode() in (folder / "cmdline").read_bytes():
                pids.append(int(folder.name))
        except OSError:
            continue
    return pids


def until_marked(marker: str, *, count: int = 1, seconds: float = 10.0) -> list[int]:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        pids = marked(marker)
        if len(pids) >= count:
            return pids
        time.sleep(0.01)
    raise AssertionError(f"{marker} did not come up")


def until_gone(marker: str, *, seconds: float = 5.0) -> None:
    end = time.monotonic() + seconds
    while marked(marker):
        assert time.monotonic() < end, marked(marker)
        time.sleep(0.01)


def fields(pid: int) -> dict[str, str]:
    """A field of /proc/<pid>/status."""
    return dict(
        line.split(":\t", 1)
        for line in Path("/proc", str(pid), "status").read_text().splitlines()
        if ":\t" in line
    )
