"""A job for the sandbox and its result. Knows nothing of torch, scripts or verdicts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from worker.contract import Level, Limits


@dataclass(frozen=True, slots=True)
class Bind:
    """A folder of the host that the sandbox shows read-only; both are absolute paths."""

    source: str
    destination: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxJob:
    """One program to run. All paths but those of devices are paths inside the sandbox."""

    argv: tuple[str, ...]
    files: Mapping[str, bytes] = field(default_factory=dict)
    variables: Mapping[str, str] = field(default_factory=dict)
    binds: tuple[Bind, ...] = ()
    # Device nodes of the host to show inside, such as /dev/nvidia0. A CPU job has none.
    devices: tuple[str, ...] = ()
    # Whether the program gets the device nodes through a gate: it can't open them itself.
    gated: bool = False
    limits: Limits = field(default_factory=Limits)
    working_directory: str = "/home/u"


class Ending(StrEnum):
    """Why a job ended. Only EXITED is the program's own end; the sandbox caused all others."""

    EXITED = "exited"
    WALL_LIMIT = "wall_limit"
    OUTPUT_LIMIT = "output_limit"
    MEMORY_LIMIT = "memory_limit"
    CANCELLED = "cancelled"
    # The job waited for a card in vain. It did not touch it.
    CARD_NOT_FREE = "card_not_free"
    GATE_FAILED = "gate_failed"
    SETUP_FAILED = "setup_failed"
    NOT_REAPED = "not_reaped"


@dataclass(frozen=True, slots=True)
class Stream:
    """The beginning and the end of an output stream; `digest` is the SHA-256 (hex) of all of it."""

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
    """How a job ended.

    `report` holds the bytes on the report channel, up to a limit. They are untrusted, as both streams are.
    """

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
    # At the wall limit only: whether all processes were idle for the last second.
    idle: bool | None = None
    # At the wall limit only: the stacks of the processes. Partly written by them, so untrusted.
    stacks: str = ""
    devices_opened: tuple[str, ...] = ()
