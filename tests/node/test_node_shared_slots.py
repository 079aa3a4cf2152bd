"""Two services on one machine share its slots: the node that waits says for whom."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest
import structlog

from worker.attempt.execute import Executor
from worker.attempt.identity import Identity
from worker.cards.watch import CardWatch
from worker.contract import Attempt, Outcome, Reason, Result, Started
from worker.environment import EnvironmentRecorder
from worker.machine.locks import slot_lock
from worker.machine.settings import NodeSettings
from worker.slots import places
from worker.slots.pool import SlotPool
from worker.toolchains import ToolchainStore

pytestmark = pytest.mark.timeout(30)
IDENTITY = Identity("here", "test")


def eventually(condition: Callable[[], bool]) -> bool:
    end = time.monotonic() + 60
    while not condition() and time.monotonic() < end:
        time.sleep(0.02)
    return condition()


@pytest.fixture
def pool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SlotPool:
    monkeypatch.setattr(places, "_REPORT_SECONDS", 0.2)
    monkeypatch.setattr(places, "Sandbox", lambda **_: SimpleNamespace(is_blocked=lambda: False))

    def execute(executor: Executor, attempt: Attempt, *_: object, **__: object) -> Result:
        return executor.without_run(attempt, Outcome.COMPLETED, Reason(code="x"))

    monkeypatch.setattr(Executor, "execute", execute)
    executor = Executor(IDENTITY, ToolchainStore(tmp_path), EnvironmentRecorder(tmp_path, probe_seconds=1))
    cards = CardWatch([], lambda: None, folder=tmp_path, check_seconds=600, check_memory_bytes=0)

    def deliver(_message: Started | Result) -> None: ...

    settings = NodeSettings(home=tmp_path, locks=tmp_path / "locks", slots=1, node_name="here")
    return SlotPool(settings, executor, identity=IDENTITY, cards=cards, deliver=deliver)


def test_it_says_who_uses_its_slot_once_and_only_meanwhile(pool: SlotPool, tmp_path: Path) -> None:
    other = slot_lock(tmp_path / "locks", 0, owner="other")
    assert other.acquire()
    with structlog.testing.capture_logs() as log:
        pool.start()
        assert pool.waits_for == ""
        done = pool.submit(Attempt(attempt_id="a", script="", toolchain="t"))
        assert done is not None
        assert eventually(lambda: pool.waits_for != "")
        user = f"node other, process {os.getpid()}"
        assert pool.waits_for == f"its slots are in use by another node of this machine: {user}"
        # Looked at many times, logged once.
        assert not done.wait(0.5)
        other.release()
        assert done.wait(10)
    assert pool.waits_for == ""
    pool.finish()
    assert pool.join(10)
    events = [(entry["event"], entry.get("by")) for entry in log if entry["event"].startswith("slot_")]
    assert events == [("slot_used_by_another_node", user), ("slot_free_again", None)]


def test_a_short_use_is_no_news(pool: SlotPool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two nodes that take turns with short attempts must not say so at each turn."""
    monkeypatch.setattr(places, "_REPORT_SECONDS", 60.0)
    other = slot_lock(tmp_path / "locks", 0, owner="other")
    assert other.acquire()
    with structlog.testing.capture_logs() as log:
        pool.start()
        done = pool.submit(Attempt(attempt_id="a", script="", toolchain="t"))
        assert done is not None
        assert not done.wait(0.3)
        other.release()
        assert done.wait(10)
    pool.finish()
    assert pool.join(10)
    assert not [entry for entry in log if entry["event"].startswith("slot_")]


@pytest.mark.parametrize(
    ("text", "holder"),
    [
        ("", "another process"),
        ("node x, process 12", "node x, process 12"),
        ("node <b>x</b>, process 12", "another process"),
        ("node x, process 12\nand more", "another process"),
    ],
)
def test_only_our_own_form_of_a_holder_is_shown(tmp_path: Path, text: str, holder: str) -> None:
    held = slot_lock(tmp_path, 0)
    assert held.acquire()
    (tmp_path / "slot-0.lock").write_text(text)
    lock = slot_lock(tmp_path, 0, owner="me")
    assert not lock.acquire()
    assert lock.holder == holder
    held.release()
    assert lock.acquire()
    assert lock.holder == ""
    assert (tmp_path / "slot-0.lock").read_text() == f"node me, process {os.getpid()}"
    lock.release()
