"""A slot that cannot be set up, and one that is held too long; an attempt gets cards that may be used, and
waits for no faulty one.
"""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import NoReturn

import pytest

from worker.attempt.execute import Executor
from worker.attempt.identity import Identity
from worker.cards.watch import CardWatch
from worker.contract import Attempt, CardReading, CardState, Device, Gpu, Outcome, Reason, Result, Started
from worker.environment import EnvironmentRecorder
from worker.machine.settings import NodeSettings
from worker.sandbox import SandboxUnavailableError
from worker.slots import places
from worker.slots.pool import SlotPool
from worker.slots.runner import Deliver
from worker.toolchains import ToolchainStore

pytestmark = pytest.mark.timeout(30)
IDENTITY = Identity("here", "test")


def make_pool(folder: Path, deliver: Deliver) -> SlotPool:
    executor = Executor(IDENTITY, ToolchainStore(folder), EnvironmentRecorder(folder, probe_seconds=1))
    cards = CardWatch([], lambda: None, folder=folder, check_seconds=600, check_memory_bytes=0)
    return SlotPool(
        NodeSettings(home=folder, slots=1), executor, identity=IDENTITY, cards=cards, deliver=deliver
    )


def test_a_slot_that_cannot_be_set_up_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(**_: object) -> NoReturn:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(places, "Sandbox", full)
    with pytest.raises(SandboxUnavailableError, match="No space left"):
        make_pool(tmp_path, print).start()


def test_a_slot_comes_back_with_the_end_of_what_held_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A program can see to it that its processes take long to go."""
    gone = threading.Event()
    outcomes: list[Outcome] = []

    class Held:
        def __init__(self, **_: object) -> None: ...

        def is_blocked(self) -> bool:
            return not gone.is_set()

    def deliver(message: Started | Result) -> None:
        if isinstance(message, Result):
            outcomes.append(message.outcome)

    def execute(executor: Executor, attempt: Attempt, *_: object, **__: object) -> Result:
        return executor.without_run(
            attempt, Outcome.COMPLETED if gone.is_set() else Outcome.LOST, Reason(code="x")
        )

    monkeypatch.setattr(places, "Sandbox", Held)
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


class Cards(CardWatch):
    """A machine with two cards, of which a test says how they are."""

    def __init__(self, folder: Path) -> None:
        cards = [
            Gpu(index=index, model="NVIDIA H200", memory_bytes=1, capability="9.0", driver="1")
            for index in range(2)
        ]
        super().__init__(cards, lambda: None, folder=folder, check_seconds=600, check_memory_bytes=0)
        self.others: set[int] = set()

    def take(self, index: int) -> bool:
        self.set(index, CardState.IN_USE if index in self.others else CardState.UNCHECKED)
        return index not in self.others

    def readings(self, indexes: Sequence[int]) -> list[CardReading]:
        return [CardReading(index=index, ecc_uncorrected=self.errors) for index in indexes]

    def due(self) -> list[int]:
        return [card.index for card in self.cards() if card.state is CardState.IN_USE]

    def check(self, index: int, _sandbox: object) -> bool:
        return self.take(index)

    errors = 0

    def set(self, index: int, state: CardState) -> None:
        self._note(self._cards[index], state, "")


class Pool:
    """A pool whose attempts only say which cards they were given."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch, *, gives_back: bool) -> None:
        monkeypatch.setattr(places, "Sandbox", lambda **_: SimpleNamespace(is_blocked=lambda: False))
        self.cards = Cards(folder)
        self.gives_back = gives_back
        self.results: queue.Queue[Result] = queue.Queue()
        settings = NodeSettings(home=folder, locks=folder / "locks", slots=1)
        self.pool = SlotPool(
            settings,
            self,
            identity=IDENTITY,
            cards=self.cards,
            deliver=self.deliver,
            gives_back=gives_back,  # type: ignore[arg-type]
        )
        self.pool.start()

    def deliver(self, message: Started | Result) -> None:
        if isinstance(message, Result):
            self.results.put(message)

    def execute(self, attempt: Attempt, _sandbox: object, *, granted: Sequence[Gpu], **_: object) -> Result:
        self.cards.errors += attempt.script == "breaks"
        return self.without_run(
            attempt, Outcome.COMPLETED, Reason(code=" ".join(str(gpu.index) for gpu in granted))
        )

    def without_run(self, attempt: Attempt, outcome: Outcome, reason: Reason) -> Result:
        return Result(
            node="here",
            instance="x",
            attempt_id=attempt.attempt_id,
            lease_no=1,
            outcome=outcome,
            reason=reason,
        )

    def give(self, gpus: int = 1, script: str = "") -> threading.Event:
        done = self.pool.submit(
            Attempt(
                attempt_id=str(time.monotonic()), script=script, toolchain="t", device=Device.CUDA, gpus=gpus
            )
        )
        assert done is not None
        return done

    def granted(self) -> str:
        reason = self.results.get(timeout=60).reason
        assert reason is not None
        return reason.code


@pytest.fixture(params=[False, True], ids=["waits", "gives back"])
def pool(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Pool]:
    made = Pool(tmp_path, monkeypatch, gives_back=request.param)
    yield made
    made.pool.drain()
    assert made.pool.join(5)


def test_a_faulty_card_is_not_given(pool: Pool) -> None:
    pool.cards.set(0, CardState.FAULTY)
    pool.give()
    assert pool.granted() == "1"


def test_more_cards_than_there_are_is_refused(pool: Pool) -> None:
    pool.give(3)
    assert pool.granted() == ""


def test_what_needs_a_faulty_card(pool: Pool) -> None:
    pool.cards.set(0, CardState.FAULTY)
    assert pool.give(2).wait(5) or not pool.gives_back
    if pool.gives_back:
        assert pool.results.empty()
        assert pool.pool.running() == []
    else:
        assert pool.granted() == ""


def test_what_needs_a_card_that_others_have(pool: Pool) -> None:
    pool.cards.others = {0, 1}
    done = pool.give()
    if pool.gives_back:
        assert done.wait(5)
        assert pool.results.empty()
    else:
        assert not done.wait(0.5)
    pool.cards.others = set()
    if not pool.gives_back:
        # The pool looks at one card after the other, so it may see the second one free first.
        assert pool.granted() in {"0", "1"}


def test_a_card_that_others_gave_back_is_offered_again(pool: Pool) -> None:
    """Nobody sends an attempt to a node whose cards are in use: it must look by itself."""
    pool.cards.others = {0, 1}
    done = pool.give()
    assert done.wait(5) or not pool.gives_back
    pool.cards.others = set()
    end = time.monotonic() + 60
    while any(card.state is CardState.IN_USE for card in pool.cards.cards()) and time.monotonic() < end:
        time.sleep(0.05)
    assert [card.state for card in pool.cards.cards()] == [CardState.UNCHECKED] * 2


def test_a_card_that_fails_meanwhile_gives_no_evidence(pool: Pool) -> None:
    pool.give(script="breaks")
    result = pool.results.get(timeout=60)
    assert (result.outcome, result.reason and result.reason.code) == (Outcome.SETUP_FAILED, "card_faulty")
    assert [card.state for card in pool.cards.cards()] == [CardState.FAULTY, CardState.UNCHECKED]
    pool.give()
    assert pool.granted() == "1"
