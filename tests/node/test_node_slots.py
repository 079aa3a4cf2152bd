"""A slot that cannot be set up ends the node's start, whatever stands in its way."""

from __future__ import annotations

from pathlib import Path
from typing import NoReturn

import pytest

from worker import slots
from worker.cards.watch import watch_cards
from worker.environment import EnvironmentRecorder
from worker.execute import Executor, Identity
from worker.sandbox import SandboxUnavailableError
from worker.settings import NodeSettings
from worker.toolchains import ToolchainStore


@pytest.mark.timeout(20)
def test_a_slot_that_cannot_be_set_up_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(**_: object) -> NoReturn:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(slots, "Sandbox", full)
    identity = Identity("here", "test")
    executor = Executor(identity, ToolchainStore(tmp_path), EnvironmentRecorder(tmp_path, probe_seconds=1))
    settings = NodeSettings(home=tmp_path)
    pool = slots.SlotPool(settings, executor, identity=identity, cards=watch_cards(settings, ToolchainStore(tmp_path)), deliver=print)
    with pytest.raises(SandboxUnavailableError, match="No space left"):
        pool.start()
