"""Several attempts are under way for one card: it goes from one to the next at their first touch.

A harmless device node stands for the card, and the sandbox is the real one.
"""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from worker.attempt import sandbox_job
from worker.attempt.execute import Executor
from worker.attempt.identity import Identity
from worker.cards.watch import CardWatch
from worker.contract import (
    Attempt,
    CardReading,
    CardState,
    CardUse,
    Device,
    Gpu,
    Outcome,
    Result,
    Started,
)
from worker.environment import EnvironmentRecorder
from worker.machine.settings import NodeSettings
from worker.slots.pool import SlotPool
from worker.toolchains import ToolchainStore

pytestmark = [pytest.mark.timeout(60), pytest.mark.sandbox]
CARD = "/dev/full"
TOUCH = f"import os, time\nprint(time.time())\nfd = os.open({CARD!r}, os.O_RDWR)\nprint(time.time())\n"


class Cards(CardWatch):
    """A machine with one card."""

    def __init__(self, folder: Path) -> None:
        gpu = Gpu(index=0, model="NVIDIA H200", memory_bytes=1, capability="9.0", driver="1")
        super().__init__([gpu], lambda: None, folder=folder, check_seconds=600, check_memory_bytes=0)
        self.checked: list[int] = []
        self.is_due = False

    def is_alone(self, _index: int) -> bool:
        return True

    def readings(self, indexes: Sequence[int]) -> list[CardReading]:
        return [CardReading(index=index) for index in indexes]

    def due(self) -> list[int]:
        return [0] if self.is_due else []

    def check(self, index: int, _sandbox: object) -> bool:
        self.checked.append(index)
        self.is_due = False
        return True

    def set(self, state: CardState) -> None:
        self._note(self._cards[0], state, "")


class Environments(EnvironmentRecorder):
    """No probe runs: the toolchain's own Python needs none."""

    is_known = True

    def knows(self, *_: object, **__: object) -> bool:
        return self.is_known

    def record(self, *_: object, **__: object) -> dict[str, str]:
        self.is_known = True
        return {}


class Pool:
    """A node with three slots and places for three attempts on its card."""

    def __init__(self, folder: Path, toolchains: Path, toolchain: str, *, places: int, wait: float) -> None:
        self.toolchain = toolchain
        self.cards = Cards(folder)
        self.environments = Environments(folder, probe_seconds=1)
        self.results: queue.Queue[Result] = queue.Queue()
        settings = NodeSettings(
            home=folder, locks=folder / "locks", slots=3, card_places=places, card_wait_seconds=wait
        )
        executor = Executor(Identity("here", "x"), ToolchainStore(toolchains), self.environments)
        self.pool = SlotPool(
            settings,
            executor,
            identity=Identity("here", "x"),
            cards=self.cards,
            deliver=self.deliver,
            gives_back=True,
        )
        self.pool.start()
        self._count = 0

    def deliver(self, message: Started | Result) -> None:
        if isinstance(message, Result):
            self.results.put(message)

    def give(self, script: str, card: CardUse = CardUse.AT_TOUCH) -> threading.Event:
        self._count += 1
        done = self.pool.submit(
            Attempt(
                attempt_id=str(self._count),
                script=script,
                toolchain=self.toolchain,
                device=Device.CUDA,
                gpus=1,
                card=card,
            )
        )
        assert done is not None
        return done

    def take(self, count: int) -> dict[str, Result]:
        """The results of so many attempts, by the id of the attempt."""
        results = [self.results.get(timeout=20) for _ in range(count)]
        for result in results:
            assert result.outcome is Outcome.COMPLETED, result
        return {result.attempt_id: result for result in results}


def times(result: Result) -> list[float]:
    """The times that a script printed."""
    return [float(line) for line in result.observation.stdout.split()]


def waited(result: Result) -> float:
    seconds = result.observation.card_waited_seconds
    assert seconds is not None
    return seconds


MakePool = Callable[..., Pool]


@pytest.fixture
def make_pool(
    tmp_path: Path, toolchains: Path, toolchain: str, monkeypatch: pytest.MonkeyPatch
) -> Iterator[MakePool]:
    monkeypatch.setattr(sandbox_job, "device_nodes", lambda granted: (CARD,) if granted else ())
    tmp_path.chmod(0o755)
    pools = []

    def make(*, places: int = 3, wait: float = 20.0) -> Pool:
        pools.append(Pool(tmp_path, toolchains, toolchain, places=places, wait=wait))
        return pools[-1]

    yield make
    for each in pools:
        each.pool.drain()
        assert each.pool.join(20)


def test_starts_overlap_and_the_card_is_used_in_turn(make_pool: MakePool) -> None:
    pool = make_pool()
    assert pool.pool.card_places == 3
    pool.cards.is_due = True
    for _ in range(3):
        pool.give(TOUCH + "time.sleep(0.5)\nprint(time.time())")
    results = pool.take(3)
    began, got, ended = zip(
        *sorted((times(each) for each in results.values()), key=lambda row: row[1]), strict=True
    )
    # All of them were there before the first one gave the card back.
    assert max(began) < ended[0]
    assert got[1] > ended[0]
    assert got[2] > ended[1]
    assert sorted(waited(each) > 0.4 for each in results.values()) == [False, True, True]
    for each in results.values():
        assert each.observation.wall_seconds < 1.5
        assert each.observation.devices_opened == [CARD]
        assert len(each.observation.cards) == 1
    # Nobody found the card free in between. It is checked where somebody has it.
    assert pool.cards.checked == [0]


def test_what_does_not_touch_the_card_needs_no_card(make_pool: MakePool) -> None:
    pool = make_pool()
    holder = pool.give(TOUCH + "time.sleep(1.5)")
    pool.give("print(1)")
    (first,) = pool.take(1).values()
    assert first.attempt_id == "2"
    assert not holder.is_set()
    assert (first.observation.cards, first.observation.card_waited_seconds) == ([], 0.0)
    pool.take(1)


def test_alone_from_the_start(make_pool: MakePool) -> None:
    """Nothing that waits for a card runs beside an attempt that has it from the start."""
    pool = make_pool()
    pool.give(TOUCH + "time.sleep(0.3)\nprint(time.time())")
    time.sleep(0.2)
    pool.give(TOUCH + "time.sleep(0.3)\nprint(time.time())", CardUse.FROM_START)
    pool.give(TOUCH + "print(time.time())")
    results = pool.take(3)
    first, alone, last = (times(results[name]) for name in "123")
    assert first[-1] < alone[0]
    assert alone[-1] < last[0]
    assert results["2"].observation.card_waited_seconds is None
    assert len(results["2"].observation.cards) == 1


@pytest.mark.parametrize("state", [None, CardState.FAULTY])
def test_an_attempt_without_its_card_goes_back(make_pool: MakePool, state: CardState | None) -> None:
    pool = make_pool(wait=0.5)
    pool.give(TOUCH + "time.sleep(2)")
    time.sleep(0.3)
    pool.give(TOUCH)
    if state is not None:
        time.sleep(0.2)
        pool.cards.set(state)
    result = pool.results.get(timeout=20)
    assert result.attempt_id == "2"
    assert (result.outcome, result.reason and result.reason.code) == (Outcome.SETUP_FAILED, "card_not_free")
    pool.pool.cancel_all()


def test_an_unknown_environment_takes_the_card_first(make_pool: MakePool) -> None:
    pool = make_pool()
    pool.give(TOUCH + "time.sleep(0.5)\nprint(time.time())")
    time.sleep(0.3)
    pool.environments.is_known = False
    pool.give(TOUCH)
    results = pool.take(2)
    first, second = times(results["1"]), times(results["2"])
    assert first[-1] < second[0]
    assert waited(results["2"]) > 0.2


def test_one_place_is_as_ever(make_pool: MakePool) -> None:
    pool = make_pool(places=1)
    for _ in range(2):
        pool.give(TOUCH + "time.sleep(0.3)\nprint(time.time())")
    results = pool.take(2)
    first, second = sorted(times(each) for each in results.values())
    assert first[-1] < second[0]
    assert [each.observation.card_waited_seconds for each in results.values()] == [None, None]
