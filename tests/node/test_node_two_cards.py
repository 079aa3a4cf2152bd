"""Two cards in one node: who gets which one, and nobody waits for several forever."""

from __future__ import annotations

import heapq
import random
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest
from card_pool import NODES, MakePool
from emulated_cards import EmulatedCards

from worker.cards.health import Answer
from worker.cards.watch import CardWatch
from worker.cards.witness import Witness
from worker.contract import Attempt, CardReading, CardState, CardUse, Device, Gpu, Result
from worker.machine import locks
from worker.slots.next_attempt import Entry, Grant, Grants
from worker.toolchains import Toolchain

pytestmark = pytest.mark.timeout(60)
OPEN = f"""
import os, time
print(time.time())
fds = [os.open(path, os.O_RDWR) for path in {NODES!r}]
time.sleep(0.4)
print(time.time())
"""


def entry(name: str, gpus: int = 1, *, kind: str | None = None, card: CardUse = CardUse.FROM_START) -> Entry:
    attempt = Attempt(
        attempt_id=name, script="", toolchain="x", device=Device.CUDA, gpus=gpus, capability=kind, card=card
    )
    return Entry(attempt)


def name_of(grant: Grant) -> str:
    return grant.entry.attempt.attempt_id


class Node:
    """The grants of a node, without slots: a test starts and ends attempts."""

    def __init__(self, folder: Path, *capabilities: str, places: int = 1, gives_back: bool = False) -> None:
        self.cards = EmulatedCards(folder, *capabilities)
        self.grants = Grants(self.cards, folder / "locks", gives_back=gives_back, card_places=places)
        self.queue: list[Entry] = []

    def take(self, *refused: str) -> Grant | None:
        """Start the next attempt that the place accepts."""
        return self.grants.take(self.queue, lambda each: each.attempt.attempt_id not in refused)

    def take_all(self) -> dict[str, list[int]]:
        """Start all that can start: the numbers of their cards, by attempt."""
        started = {}
        while (grant := self.take()) is not None:
            started[name_of(grant)] = [gpu.index for gpu in grant.gpus]
        return started

    def simulate(self, seconds: dict[str, float]) -> dict[str, float]:
        """The time at which each attempt starts, if it takes so many seconds."""
        now, starts = 0.0, {}
        running: list[tuple[float, int, Grant]] = []
        while self.queue or running:
            while (grant := self.take()) is not None:
                starts[name_of(grant)] = now
                heapq.heappush(running, (now + seconds[name_of(grant)], len(starts), grant))
            now, _, ended = heapq.heappop(running)
            self.grants.release(ended)
        return starts


def test_two_cards_among_twenty_of_one(tmp_path: Path) -> None:
    """It starts within the time of the two longest from its turn on, and nobody starves."""
    for seed in range(50):
        order = random.Random(seed)  # noqa: S311  # no secret
        node = Node(tmp_path, "9.0", "9.0")
        names = [str(number) for number in range(20)]
        place = order.randint(0, 20)
        names.insert(place, "pair")
        seconds = {name: order.choice([0.1, 1.0, order.uniform(0.1, 60.0)]) for name in names}
        node.queue = [entry(name, 2 if name == "pair" else 1) for name in names]
        starts = node.simulate(seconds)
        assert len(starts) == 21
        turn = max((starts[name] for name in names[:place]), default=0.0)
        assert starts["pair"] - turn <= sum(sorted(seconds.values())[-2:])
        assert all(starts[name] >= starts["pair"] + seconds["pair"] for name in names[place + 1 :])


def test_previews_do_not_keep_it_from_its_cards(tmp_path: Path) -> None:
    """The place for previews takes no repeats. A preview does not overtake one that waits for both cards."""
    node = Node(tmp_path, "9.0", "9.0")
    node.queue = [entry("one")]
    first = node.take()
    assert first is not None
    node.queue = [entry("pair", 2), entry("preview")]
    assert node.take("pair") is None
    node.grants.release(first)
    assert node.take_all() == {"pair": [0, 1]}


def test_starts_that_wait_for_a_card_do_not_keep_it_either(tmp_path: Path) -> None:
    node = Node(tmp_path, "9.0", "9.0", places=3)
    touch = CardUse.AT_TOUCH
    node.queue = [entry("one", card=touch), entry("two", card=touch)]
    held = [node.take(), node.take()]
    assert [each and [gpu.index for gpu in each.gpus] for each in held] == [[0], [1]]
    node.queue = [entry("pair", 2), entry("three", card=touch)]
    for each in held:
        assert node.take() is None
        assert each is not None
        node.grants.release(each)
    pair = node.take()
    assert pair is not None
    assert name_of(pair) == "pair"
    assert node.take() is None
    node.grants.release(pair)
    assert node.take_all() == {"three": [0]}


def test_another_process_leaves_both_cards_to_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two nodes on one machine: without the wish of the first, the second would take each card in turn."""
    one, other = Node(tmp_path, "9.0", "9.0"), Node(tmp_path, "9.0", "9.0")
    one.queue = [entry("pair", 2)]
    other.queue = [entry(str(number)) for number in range(9)]
    running = [other.take(), other.take()]
    for ended in running:
        assert one.take() is None
        with monkeypatch.context() as another_process:
            another_process.setattr(locks, "_own_wish", "wish-of-another")
            assert ended is not None
            other.grants.release(ended)
            assert other.take() is None
    assert one.take_all() == {"pair": [0, 1]}
    # A process that died wishes for nothing.
    with monkeypatch.context() as later:
        later.setattr(locks, "_own_wish", "wish-of-another")
        later.setattr(locks, "_WISH_SECONDS", 0.0)
        assert locks.acquire_gpus(tmp_path / "locks", [0], 1) is None
        assert list((tmp_path / "locks").glob("wish-*")) == []


def test_the_kind_that_was_asked_for(tmp_path: Path) -> None:
    """Two cells that differ in the card only get different cards. Only equal kinds wait for each other."""
    node = Node(tmp_path, "8.0", "9.0")
    node.queue = [entry("a", kind="sm90"), entry("b", kind="sm80"), entry("c", kind="sm90"), entry("d")]
    assert node.take_all() == {"a": [1], "b": [0]}
    touched = Node(tmp_path / "touch", "8.0", "9.0", places=2)
    touched.queue = [entry(str(number), kind="sm90", card=CardUse.AT_TOUCH) for number in range(3)]
    touched.queue.append(entry("other", kind="sm80", card=CardUse.AT_TOUCH))
    assert touched.take_all() == {"0": [1], "1": [1], "other": [0]}


def test_a_kind_that_is_out_of_use_goes_back(tmp_path: Path) -> None:
    node = Node(tmp_path, "8.0", "9.0", gives_back=True)
    node.cards.set(1, CardState.FAULTY)
    first, second = entry("a", kind="sm90"), entry("b")
    node.queue = [first, second]
    assert node.take_all() == {"b": [0]}
    assert first.done.is_set()


def test_a_card_whose_attempt_can_not_be_stopped(tmp_path: Path) -> None:
    """It goes out of use: one that needs both cards does not wait for it, and keeps nobody waiting."""
    node = Node(tmp_path, "9.0", "9.0", gives_back=True)
    node.queue = [entry("stuck")]
    stuck = node.take()
    assert stuck is not None
    node.grants.hold_back(stuck)
    assert node.cards.cards()[0].state is CardState.IN_USE
    node.queue = [entry("pair", 2), entry("one")]
    assert node.take_all() == {"one": [1]}
    node.grants.release(stuck)
    node.cards.set(0, CardState.SOUND)
    node.queue = [entry("two")]
    assert node.take_all() == {"two": [0]}


class Watched(EmulatedCards):
    """Cards on which somebody always computes, as the driver says."""

    def witness(self, indexes: Sequence[int]) -> Witness:
        @contextmanager
        def looker() -> Iterator[object]:
            yield lambda index: [100 + index]

        return Witness(indexes, looker=looker)  # type: ignore[arg-type]


def span(result: Result) -> tuple[float, float]:
    began, ended = (float(line) for line in result.observation.stdout.split())
    return began, ended


@pytest.mark.sandbox
@pytest.mark.parametrize(("places", "use"), [(1, CardUse.FROM_START), (3, CardUse.AT_TOUCH)])
def test_two_at_once_on_two_cards(make_pool: MakePool, tmp_path: Path, places: int, use: CardUse) -> None:
    """Each sees one card, as number 0, and the evidence names the right one. Then one has both."""
    pool = make_pool(cards=Watched(tmp_path, "9.0", "9.0"), places=places)
    pool.give(OPEN, use)
    pool.give(OPEN, use)
    results = pool.take(2)
    first, second = sorted(results.values(), key=lambda each: each.observation.cards[0].index)
    assert max(span(first)[0], span(second)[0]) < min(span(first)[1], span(second)[1])
    for index, each in enumerate((first, second)):
        assert [reading.index for reading in each.observation.cards] == [index]
        assert each.observation.devices_opened == [NODES[index]]
        assert each.observation.devices_computed == ["cuda:0"]
    pool.give(OPEN, CardUse.FROM_START, gpus=2)
    (both,) = pool.take(1).values()
    assert [reading.index for reading in both.observation.cards] == [0, 1]
    assert set(both.observation.devices_opened) == set(NODES)
    assert both.observation.devices_computed == ["cuda:0", "cuda:1"]


class Checked(EmulatedCards):
    """Cards whose checks with known answers give what a test sets."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder, "9.0", "9.0")
        self.wrong: set[int] = {0}
        self.asked: list[int] = []

    def due(self) -> list[int]:
        return CardWatch.due(self)

    def check(self, index: int, sandbox: object) -> bool:
        self._toolchain = lambda: Toolchain  # type: ignore[assignment, return-value]
        return CardWatch.check(self, index, sandbox)  # type: ignore[arg-type]

    def read(self, index: int) -> CardReading:
        return CardReading(index=index)

    def _ask(self, gpu: Gpu, *_: object) -> tuple[Answer, str]:
        self.asked.append(gpu.index)
        wrong = ["0: product float32"] if gpu.index in self.wrong else []
        return Answer(wrong=wrong, varies=[], digests={"0": {"exp": "0" * 16}}, build=["2"]), ""

    def await_states(self, *states: CardState) -> None:
        until = time.monotonic() + 60
        while [card.state for card in self.cards()] != list(states):
            assert time.monotonic() < until, self.cards()
            time.sleep(0.02)


@pytest.mark.sandbox
def test_one_card_is_held_back_and_the_other_goes_on(make_pool: MakePool, tmp_path: Path) -> None:
    cards = Checked(tmp_path)
    pool = make_pool(cards=cards, places=1)
    cards.await_states(CardState.FAULTY, CardState.SOUND)
    assert cards.cards()[0].detail == "card 0: product float32 is wrong"
    given: list[threading.Event] = [pool.give(OPEN), pool.give(OPEN)]
    results = list(pool.take(2).values())
    assert [each.observation.cards[0].index for each in results] == [1, 1]
    assert span(results[0])[1] < span(results[1])[0]
    assert all(each.wait(5) for each in given)
    # Nobody here can run one that needs both: it goes back.
    assert pool.give(OPEN, gpus=2).wait(5)
    cards.wrong = set()
    cards._cards[0].check_at = 0.0
    cards.await_states(CardState.SOUND, CardState.SOUND)
    pool.give(OPEN, gpus=2)
    (both,) = pool.take(1).values()
    assert [reading.index for reading in both.observation.cards] == [0, 1]
    assert set(cards.asked) == {0, 1}
