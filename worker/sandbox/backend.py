"""The sandbox of one slot: chooses the strongest level the machine gives, proves it once, and runs jobs at it."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from pathlib import Path

from worker.contract import Level
from worker.sandbox.errors import SandboxUnavailableError
from worker.sandbox.job import SandboxJob, SandboxResult


@dataclass(frozen=True, slots=True)
class Detected:
    """The level a machine gives; None when there is none, and the detail says how to get it."""

    level: Level | None
    detail: str


class Sandbox:
    """Construct it once per slot in a thread that lives as long as the slot, and run from that thread: the jobs die with it."""

    def __init__(self, *, slot: int, home: Path, level: Level | None = None) -> None:
        self.slot = slot
        self.home = home
        self.level: Level = level or Level.NAMESPACES
        self.level_detail = ""
        raise SandboxUnavailableError("not built yet")

    def run(self, job: SandboxJob, *, cancelled: threading.Event) -> SandboxResult:
        """Run one job to its end; blocks."""
        raise NotImplementedError

    def self_test(self) -> list[str]:
        """What does not hold here, in plain words; empty when all holds."""
        raise NotImplementedError


def detect(*, home: Path) -> Detected:
    """Probe this machine with the real policy."""
    try:
        sandbox = Sandbox(slot=0, home=home)
    except SandboxUnavailableError as error:
        return Detected(None, str(error))
    return Detected(sandbox.level, sandbox.level_detail)
