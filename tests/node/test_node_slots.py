"""Slots that cannot be set up, and those that an attempt holds for longer than it should."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import NoReturn

import pytest

from worker import slots
from worker.contract import Attempt, Outcome, Reason, Result, Started
from worker.environment import EnvironmentRecorder
from worker.execute import Executor, Identity
from worker.sandbox import SandboxUnavailableError
from worker.settings import NodeSettings
from worker.toolchains import ToolchainStore

pytestmark = pytest.mark.timeout(30)
IDENTITY = Identity("here", "test")


def make_pool(folder: Path, deliver: slots.Deliver) -> slots.SlotPool:
    executor = Executor(IDENTITY, ToolchainStore(folder), EnvironmentRecorder(folder, probe_seconds=1))
    return slots.SlotPool(NodeSettings(home=folder, slots=1), executor, identity=IDENTITY, gpus=[], deliver=deliver)


def test_a_slot_that_cannot_be_set_up_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(**_: object) -> NoReturn:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(slots, "Sandbox", full)
    with pytest.raises(SandboxUnavailableError, match="No space left"):
        make_pool(tmp_path, print).start()


def test_a_slot_comes_back_with_the_end_of_what_held_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A program can see to it that its processes take long to go."""
    gone = threading.Event()
    outcomes: list[Outcome] = []

    class Held:
        def __init__(self, **_: object) -> None: ...

        def is_held(self) -> bool:
            return not gone.is_set()

    def deliver(message: Started | Result) -> None:
        if isinstance(message, Result):
            outcomes.append(message.outcome)

    def execute(executor: Executor, attempt: Attempt, *_: object, **__: object) -> Result:
        return executor.without_run(attempt, Outcome.COMPLETED if gone.is_set() else Outcome.LOST, Reason(code="x"))

    monkeypatch.setattr(slots, "Sandbox", Held)
    monkeypatch.setattr(Executor, "execute", execute)
    pool = make_pool(tmp_path, deliver)
    pool.start()
    first, second = (pool.submit(Attempt(attempt_id=name, script="", toolchain="t")) for name in "ab")
    assert first is not None
    assert second is not None
    assert first.wait(10)
    assert not second.wait(0.3)
    assert pool.slots == 0
    gone.set()
    assert second.wait(10)
    assert (pool.slots, outcomes) == (1, [Outcome.LOST, Outcome.COMPLETED])
    pool.finish()
    assert pool.join(10)
