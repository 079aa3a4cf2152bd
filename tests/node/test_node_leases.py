"""Messages of several leases of one attempt, in every order: the newest lease gets the result, and an older
one is not run.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from worker.attempt.identity import Identity
from worker.cards.watch import CardWatch
from worker.contract import Attempt, AttemptKind, Outcome, Reason, Result, Start, Started
from worker.contract.names import NODE_PAUSED, plain_waits_for
from worker.machine.settings import NodeSettings
from worker.slots import places, work_queue
from worker.slots.pool import SlotPool

pytestmark = pytest.mark.timeout(30)
IDENTITY = Identity("here", "now")


class Node:
    """A pool whose attempts run until the test ends them, with what it delivers."""

    def __init__(self, folder: Path, *, slots: int = 1) -> None:
        self.delivered: queue.Queue[Started | Result] = queue.Queue()
        self.begun: queue.Queue[tuple[str, int]] = queue.Queue()
        self.may_end = threading.Semaphore(0)
        # A stopped attempt takes its time to end.
        self.may_stop = threading.Event()
        self.may_stop.set()
        self.pool = SlotPool(
            NodeSettings(home=folder, locks=folder / "locks", slots=slots),
            self,  # type: ignore[arg-type]  # It has the two methods of an executor that a pool calls.
            identity=IDENTITY,
            cards=CardWatch([], lambda: None, folder=folder, check_seconds=600, check_memory_bytes=0),
            deliver=self.delivered.put,
        )
        self.pool.start()

    def execute(
        self, attempt: Attempt, _sandbox: object, *, cancelled: threading.Event, **_: object
    ) -> Result:
        self.begun.put((attempt.attempt_id, attempt.lease_no))
        while not self.may_end.acquire(timeout=0.01):
            if cancelled.is_set():
                self.may_stop.wait(10)
                return self.without_run(attempt, Outcome.CANCELLED, Reason(code="cancelled"))
        return self.without_run(attempt, Outcome.COMPLETED, Reason(code="x"))

    def prepare(self, *_: object, **__: object) -> None: ...

    def without_run(self, attempt: Attempt, outcome: Outcome, reason: Reason) -> Result:
        return Result(
            node="here",
            instance="now",
            attempt_id=attempt.attempt_id,
            lease_no=attempt.lease_no,
            kind=attempt.kind,
            outcome=outcome,
            reason=reason,
        )

    def give(self, attempt_id: str, lease_no: int = 1, script: str = "") -> threading.Event | None:
        return self.pool.submit(
            Attempt(attempt_id=attempt_id, lease_no=lease_no, script=script, toolchain="t")
        )

    def take(self, attempt_id: str, lease_no: int = 1) -> threading.Event:
        done = self.give(attempt_id, lease_no)
        assert done is not None
        return done

    def hear(self) -> tuple[str, str, int, Outcome | None]:
        message = self.delivered.get(timeout=60)
        outcome = message.outcome if isinstance(message, Result) else None
        return message.type, message.attempt_id, message.lease_no, outcome

    def is_quiet(self) -> bool:
        return self.delivered.empty() and self.begun.empty()


@pytest.fixture
def node(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Node]:
    monkeypatch.setattr(places, "Sandbox", lambda **_: SimpleNamespace(is_blocked=lambda: False))
    node = Node(tmp_path)
    yield node
    node.may_stop.set()
    node.pool.abandon()
    assert node.pool.join(10)


def started(attempt_id: str, lease_no: int) -> tuple[str, str, int, None]:
    return "started", attempt_id, lease_no, None


def completed(attempt_id: str, lease_no: int) -> tuple[str, str, int, Outcome]:
    return "result", attempt_id, lease_no, Outcome.COMPLETED


def test_a_newer_lease_takes_over_what_runs(node: Node) -> None:
    older = node.take("a", 1)
    assert node.hear() == started("a", 1)
    newer = node.take("a", 2)
    assert older.wait(10), "the message of the older lease still holds a thread"
    assert node.hear() == started("a", 2)
    assert not newer.is_set()
    node.may_end.release()
    assert node.hear() == completed("a", 2)
    assert newer.wait(10)
    assert node.begun.get() == ("a", 1)
    assert node.is_quiet(), "it ran twice"


def test_a_newer_lease_takes_over_what_waits(node: Node) -> None:
    node.take("first")
    assert node.hear() == started("first", 1)
    older, newer = node.take("a", 1), node.take("a", 2)
    assert older.wait(10)
    assert node.pool.running() == ["first", "a"]
    for _ in range(2):
        node.may_end.release()
    assert [node.hear() for _ in range(3)] == [completed("first", 1), started("a", 2), completed("a", 2)]
    assert newer.wait(10)
    assert node.pool.running() == []


@pytest.mark.parametrize("lease_no", [1, 2])
def test_an_older_or_equal_lease_changes_nothing(node: Node, lease_no: int) -> None:
    node.take("a", 2)
    assert node.hear() == started("a", 2)
    assert node.give("a", lease_no) is None
    node.take("b", 2)
    assert node.give("b", lease_no) is None
    for _ in range(2):
        node.may_end.release()
    assert [node.hear() for _ in range(3)] == [completed("a", 2), started("b", 2), completed("b", 2)]


def test_an_older_lease_that_comes_after_the_end_is_not_run(node: Node) -> None:
    done = node.take("a", 2)
    node.may_end.release()
    assert done.wait(10)
    assert node.give("a", 1) is None
    assert node.give("a", 3) is not None, "a newer lease is run again: the result of the older one was lost"


def test_only_the_last_ended_attempts_are_remembered(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(work_queue, "MOST_ENDED", 2)
    for name in "abc":
        done = node.take(name, 2)
        node.may_end.release()
        assert done.wait(10)
    assert node.give("c", 1) is None
    assert node.give("b", 1) is None
    assert node.give("a", 1) is not None


def test_a_lease_of_another_work_starts_after_what_runs(node: Node) -> None:
    """The service may have changed its limits in between: the result must be of the newer message."""
    node.take("a", 1)
    assert node.hear() == started("a", 1)
    done = node.give("a", 2, script="print(1)")
    assert done is not None
    assert node.pool.running() == ["a"]
    for _ in range(2):
        node.may_end.release()
    assert [node.hear() for _ in range(3)] == [completed("a", 1), started("a", 2), completed("a", 2)]
    assert done.wait(10)


def test_two_slots_do_not_run_one_attempt_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(places, "Sandbox", lambda **_: SimpleNamespace(is_blocked=lambda: False))
    node = Node(tmp_path, slots=2)
    node.take("a", 1)
    assert node.hear() == started("a", 1)
    assert node.begun.get(timeout=60) == ("a", 1)
    node.give("a", 2, script="print(1)")
    # The free slot runs what came later instead.
    node.take("b")
    assert node.begun.get(timeout=60) == ("b", 1)
    assert node.begun.empty()
    node.pool.abandon()
    assert node.pool.join(10)


@pytest.mark.parametrize("newer", [True, False])
def test_a_request_to_stop_is_for_every_lease(node: Node, *, newer: bool) -> None:
    """The flag names the attempt, and the service gives no lease of a cancelled attempt."""
    node.may_stop.clear()
    node.take("a", 1)
    assert node.hear() == started("a", 1)
    if newer:
        node.take("a", 2)
        assert node.hear() == started("a", 2)
    assert node.pool.cancel("a")
    assert node.give("a", 3) is None
    node.may_stop.set()
    assert node.hear() == ("result", "a", 2 if newer else 1, Outcome.CANCELLED)


def test_a_request_to_stop_reaches_the_lease_that_waits_for_the_older_one(node: Node) -> None:
    node.take("a", 1)
    assert node.hear() == started("a", 1)
    waiting = node.give("a", 2, script="print(1)")
    assert waiting is not None
    assert node.pool.cancel("a")
    assert waiting.wait(10)
    assert {node.hear()[:3], node.hear()[:3]} == {("result", "a", 1), ("result", "a", 2)}


def given_back(attempt_id: str, lease_no: int) -> tuple[str, str, int, Outcome]:
    return "result", attempt_id, lease_no, Outcome.CANCELLED


def test_a_newer_lease_waits_for_the_end_of_what_the_owner_stopped(node: Node) -> None:
    """The machine's owner took it back and lent it again, while the attempt was being stopped."""
    node.may_stop.clear()
    older = node.take("a", 1)
    assert node.hear() == started("a", 1)
    node.pool.pause(at_once=True)
    assert node.give("a", 2) is None, "a paused node takes nothing"
    assert node.hear() == given_back("a", 2)
    node.pool.resume()
    newer = node.take("a", 3)
    assert not older.is_set()
    node.may_stop.set()
    assert node.hear() == given_back("a", 1)
    assert node.hear() == started("a", 3)
    node.may_end.release()
    assert node.hear() == completed("a", 3)
    assert newer.wait(10)


def test_what_waits_at_a_paused_node_is_given_back(node: Node) -> None:
    node.take("first")
    assert node.hear() == started("first", 1)
    waiting = node.take("a", 1)
    node.pool.pause(at_once=False)
    assert node.hear() == given_back("a", 1)
    assert waiting.wait(10)
    assert node.give("late", 1) is None
    assert node.hear() == given_back("late", 1)
    assert node.pool.waits_for == NODE_PAUSED == plain_waits_for(NODE_PAUSED)
    # A newer lease of what still runs is no new work.
    node.take("first", 2)
    assert node.hear() == started("first", 2)
    node.pool.resume()
    assert node.pool.waits_for == ""
    node.take("a", 2)
    assert node.pool.running() == ["first", "a"]


def test_a_warm_attempt_is_taken_over_like_a_cold_one(node: Node) -> None:
    for lease_no in (1, 2):
        node.pool.submit(
            Attempt(attempt_id="a", lease_no=lease_no, script="", toolchain="t", start=Start.WARM)
        )
        assert node.hear() == started("a", lease_no)
    node.may_end.release()
    assert node.hear() == completed("a", 2)


def test_for_a_preview_nothing_is_said_at_its_start(tmp_path: Path, node: Node) -> None:
    # Without a place for previews, a preview runs in a slot.
    for lease_no in (1, 2):
        node.pool.submit(
            Attempt(attempt_id="a", lease_no=lease_no, script="", toolchain="t", kind=AttemptKind.PREVIEW)
        )
    node.may_end.release()
    assert node.hear()[:3] == ("result", "a", 2)
