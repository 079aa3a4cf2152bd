"""What a sandbox is asked to run, and what it answers; knows nothing of torch, scripts or verdicts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from worker.contract import Level, Limits


@dataclass(frozen=True, slots=True)
class Bind:
    """A folder of the host, shown read-only inside."""

    source: str
    destination: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxJob:
    """One program to run. Paths are those inside the sandbox unless said otherwise."""

    argv: tuple[str, ...]
    files: Mapping[str, bytes] = field(default_factory=dict)
    variables: Mapping[str, str] = field(default_factory=dict)
    binds: tuple[Bind, ...] = ()
    # Device nodes of the host to show, such as /dev/nvidia0; empty for a CPU job.
    devices: tuple[str, ...] = ()
    limits: Limits = field(default_factory=Limits)
    working_directory: str = "/home/u"


class Ending(StrEnum):
    """Why a job ended. Everything but EXITED is ours, not the program's."""

    EXITED = "exited"
    WALL_LIMIT = "wall_limit"
    OUTPUT_LIMIT = "output_limit"
    MEMORY_LIMIT = "memory_limit"
    CANCELLED = "cancelled"
    SETUP_FAILED = "setup_failed"
    NOT_REAPED = "not_reaped"


@dataclass(frozen=True, slots=True)
class Stream:
    """What was kept of an output stream: its beginning and its end; the digest is of all that was read."""

    head: bytes = b""
    tail: bytes = b""
    total_bytes: int = 0
    digest: str = ""

    @property
    def truncated(self) -> bool:
        """Whether bytes between head and tail were dropped."""
        return self.total_bytes > len(self.head) + len(self.tail)


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxResult:
    """What became of a job; `report` is what the program's side wrote on its own channel: hostile bytes, capped."""

    ending: Ending
    level: Level
    detail: str = ""
    exit_status: int | None = None
    signal: int | None = None
    stdout: Stream = field(default_factory=Stream)
    stderr: Stream = field(default_factory=Stream)
    report: bytes = b""
    wall_seconds: float = 0.0
    cpu_seconds: float = 0.0
    peak_memory_bytes: int = 0
    # At the wall limit: whether all processes were idle for the last second.
    idle: bool | None = None
    # At the wall limit: where the processes stood, in part by their own words.
    stacks: str = ""
    devices_opened: tuple[str, ...] = ()
