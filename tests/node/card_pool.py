"""A pool of slots on a machine with emulated cards: harmless device nodes stand for them."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from emulated_cards import EmulatedCards

from worker.attempt.execute import Executor
from worker.attempt.identity import Identity
from worker.attempt.sandbox_job import SCRIPT_PATH
from worker.contract import (
    Attempt,
    AttemptKind,
    CardUse,
    Device,
    Gpu,
    Outcome,
    Reason,
    Result,
    Start,
    Started,
)
from worker.environment import EnvironmentRecorder
from worker.machine.settings import NodeSettings
from worker.sandbox import Sandbox, SandboxJob
from worker.slots.pool import SlotPool
from worker.toolchains import ToolchainStore
from worker.warm import WarmRun, WarmStarts

# The device nodes that stand for card 0 and card 1.
NODES = ("/dev/full", "/dev/zero")


def device_nodes(granted: list[Gpu]) -> tuple[str, ...]:
    """The device nodes of these cards."""
    return tuple(NODES[gpu.index] for gpu in granted)


class NewProcesses(WarmStarts):
    """Warm starts that are new processes in truth. All else is as with paused interpreters."""

    def __init__(self) -> None:
        """There is no pool, and no audit."""

    @property
    def latest(self) -> None:
        return None

    def why_cold(self, *_: object, **__: object) -> Reason | None:
        return None

    def prepare(self, *_: object, **__: object) -> None:
        """There is nothing to prepare."""

    def run(self, job: SandboxJob, sandbox: Sandbox, **options: Any) -> WarmRun | Reason:
        if b"COLD" in job.files[SCRIPT_PATH]:
            return Reason(code="unavailable")
        result = sandbox.run(job, cancelled=options["cancelled"], gate=options["gate"])
        return WarmRun(result, "0")

    def remember(self, *_: object) -> None:
        """Nothing is prepared."""

    def is_to_audit(self) -> bool:
        return False

    def audit_preview(self, *_: object, **__: object) -> None:
        """Previews are not compared."""

    def store_preview(self, *_: object, **__: object) -> None:
        """As above."""


class Environments(EnvironmentRecorder):
    """No probe runs: the toolchain's own Python needs none."""

    is_known = True

    def knows(self, *_: object, **__: object) -> bool:
        return self.is_known

    def record(self, *_: object, **__: object) -> dict[str, str]:
        self.is_known = True
        return {}


class Pool:
    """A node with three slots and so many places for attempts on each of its cards."""

    def __init__(
        self,
        folder: Path,
        toolchains: Path,
        toolchain: str,
        *,
        cards: EmulatedCards,
        places: int,
        wait: float,
        sharing: bool = False,
        previews: bool = False,
    ) -> None:
        self.toolchain = toolchain
        self.cards = cards
        self.environments = Environments(folder, probe_seconds=1)
        self.results: queue.Queue[Result] = queue.Queue()
        settings = NodeSettings(
            home=folder,
            locks=folder / "locks",
            slots=3,
            card_places=places,
            card_wait_seconds=wait,
            card_sharing=sharing,
        )
        executor = Executor(
            Identity("here", "x"), ToolchainStore(toolchains), self.environments, warm=NewProcesses()
        )
        self.pool = SlotPool(
            settings,
            executor,
            identity=Identity("here", "x"),
            cards=self.cards,
            deliver=self.deliver,
            previews=previews,
            gives_back=True,
        )
        self.pool.start()
        self._count = 0

    def deliver(self, message: Started | Result) -> None:
        if isinstance(message, Result):
            self.results.put(message)

    def give(
        self,
        script: str,
        card: CardUse = CardUse.AT_TOUCH,
        *,
        gpus: int = 1,
        start: Start = Start.COLD,
        kind: AttemptKind = AttemptKind.REPEAT,
    ) -> threading.Event:
        self._count += 1
        done = self.pool.submit(
            Attempt(
                attempt_id=str(self._count),
                script=script,
                toolchain=self.toolchain,
                device=Device.CUDA,
                gpus=gpus,
                card=card,
                start=start,
                kind=kind,
            )
        )
        assert done is not None
        return done

    def take(self, count: int) -> dict[str, Result]:
        """The results of so many attempts, by the id of the attempt."""
        results = [self.results.get(timeout=60) for _ in range(count)]
        for result in results:
            assert result.outcome is Outcome.COMPLETED, result
        return {result.attempt_id: result for result in results}


MakePool = Callable[..., Pool]
