"""Faults of cards and drivers: the card goes out of use, the attempt says the truth, and the node goes on."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from card_pool import NODES, MakePool, Pool
from emulated_cards import EmulatedCards
from emulated_driver import GIB, DrivenCards, EmulatedDriver

from worker.cards import nvml, watch
from worker.contract import Attempt, CardState, CardUse, Device, Outcome, Result, Start
from worker.machine.locks import acquire_gpus
from worker.sandbox import Sandbox
from worker.sandbox.process import gate

pytestmark = [pytest.mark.timeout(60)]
SOUND = (CardState.SOUND, "")
LOST = (CardState.FAULTY, "the driver no longer knows the card")


@pytest.fixture
def driver(monkeypatch: pytest.MonkeyPatch) -> EmulatedDriver:
    monkeypatch.setattr(nvml, "_questions", nvml._Questions())
    return EmulatedDriver(monkeypatch)


def until(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


def touch(node: str = NODES[0]) -> str:
    return f"import os, time\nfd = os.open({node!r}, os.O_RDWR)\ntime.sleep(0.6)\nprint('touched')"


def one(pool: Pool) -> Result:
    return pool.results.get(timeout=60)


def code(result: Result) -> str:
    return result.reason.code if result.reason is not None else ""


def run_on_cpu(pool: Pool) -> Result:
    attempt = Attempt(attempt_id="cpu", script="print(1)", toolchain=pool.toolchain, device=Device.CPU)
    assert pool.pool.submit(attempt) is not None
    return one(pool)


def in_the_middle(cards: DrivenCards, act: Callable[[], None]) -> None:
    """Act once an attempt has its card."""
    readings = cards.readings

    def read(indexes: Any) -> Any:
        found = readings(indexes)
        cards.readings = readings  # type: ignore[method-assign]
        threading.Timer(0.2, act).start()
        return found

    cards.readings = read  # type: ignore[method-assign]


@pytest.mark.sandbox
@pytest.mark.parametrize(("places", "use"), [(1, CardUse.FROM_START), (3, CardUse.AT_TOUCH)])
def test_a_card_that_falls_off_the_bus(
    make_pool: MakePool, tmp_path: Path, driver: EmulatedDriver, places: int, use: CardUse
) -> None:
    cards = DrivenCards(tmp_path)
    pool = make_pool(cards=cards, places=places)
    in_the_middle(cards, lambda: setattr(driver.cards[0], "is_lost", True))
    pool.give(touch(), use)
    result = one(pool)
    assert (result.outcome, code(result)) == (Outcome.SETUP_FAILED, "card_faulty")
    assert result.reason is not None
    assert result.reason.detail == f"The GPU failed meanwhile: {LOST[1]}."
    assert cards.states()[0][0] is CardState.FAULTY
    # The other card and the processor go on, and nothing is given to the lost one.
    pool.give(touch(NODES[1]), use)
    result = one(pool)
    assert (result.outcome, [each.index for each in result.observation.cards]) == (Outcome.COMPLETED, [1])
    assert run_on_cpu(pool).outcome is Outcome.COMPLETED


@pytest.mark.sandbox
@pytest.mark.parametrize(("places", "use"), [(1, CardUse.FROM_START), (3, CardUse.AT_TOUCH)])
def test_an_attempt_that_would_get_a_lost_card_is_no_evidence(
    make_pool: MakePool, tmp_path: Path, driver: EmulatedDriver, places: int, use: CardUse
) -> None:
    """The script would report "no GPU", which is no fault of the library."""
    cards = DrivenCards(tmp_path, count=1)
    pool = make_pool(cards=cards, places=places)
    driver.cards[0].is_lost = True
    pool.give(touch(), use)
    result = one(pool)
    expected = "card_faulty" if use is CardUse.FROM_START else "card_not_free"
    assert (result.outcome, code(result)) == (Outcome.SETUP_FAILED, expected)
    assert result.observation.stdout == ""
    assert cards.states()[0][0] is CardState.FAULTY


@pytest.mark.sandbox
def test_a_context_that_stays_poisoned(make_pool: MakePool, tmp_path: Path, driver: EmulatedDriver) -> None:
    """After the fault of a program the card is checked before anybody else gets it."""
    cards = DrivenCards(tmp_path)
    pool = make_pool(cards=cards, places=3)
    cards.wrong = {0}
    in_the_middle(cards, lambda: driver.cards[0].xids.append(31))
    pool.give(touch())
    pool.give(touch(NODES[1]))
    results = {each.observation.cards[0].index: each for each in (one(pool), one(pool))}
    # The fault is what a script can show.
    assert results[0].outcome is Outcome.COMPLETED
    until(lambda: cards.states()[0] == (CardState.FAULTY, "card 0: product float32 is wrong"))
    assert cards.asked == [0]
    pool.give(touch(NODES[1]))
    assert one(pool).observation.cards[0].index == 1


@pytest.mark.sandbox
def test_a_fault_of_a_program_costs_one_check_a_minute(
    make_pool: MakePool, tmp_path: Path, driver: EmulatedDriver
) -> None:
    cards = DrivenCards(tmp_path, count=1)
    pool = make_pool(cards=cards, places=3)
    for number in range(3):
        in_the_middle(cards, lambda: driver.cards[0].xids.append(13))
        pool.give(touch())
        assert one(pool).outcome is Outcome.COMPLETED, number
    assert cards.asked == [0]
    assert cards.states() == [SOUND]


@pytest.mark.sandbox
def test_memory_that_is_not_given_back(
    make_pool: MakePool, tmp_path: Path, driver: EmulatedDriver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watch, "_GIVE_BACK_SECONDS", 0.3)
    cards = DrivenCards(tmp_path)
    pool = make_pool(cards=cards, places=3)
    in_the_middle(cards, lambda: setattr(driver.cards[0], "used", 30 * GIB))
    pool.give(touch())
    result = one(pool)
    assert result.outcome is Outcome.COMPLETED
    words = "29.5 GiB of its memory were not given back"
    assert cards.states() == [(CardState.IN_USE, words), SOUND]
    pool.give(touch(NODES[1]))
    assert one(pool).observation.cards[0].index == 1
    # A look again finds it so, and the card comes back with its memory.
    assert not cards.take(0)
    assert cards.states()[0] == (CardState.IN_USE, words)
    driver.cards[0].used = GIB
    cards.look_again()
    until(lambda: cards.states()[0] == SOUND)


@pytest.mark.sandbox
def test_memory_of_others_on_a_shared_card_is_no_leak(
    make_pool: MakePool, tmp_path: Path, driver: EmulatedDriver
) -> None:
    """The end of an attempt does not wait for it: those that want the card alone would wait, too."""
    cards, is_there = DrivenCards(tmp_path, 1), threading.Event()
    pool = make_pool(cards=cards, places=3, sharing=True)
    in_the_middle(cards, is_there.set)
    pool.give(touch() + "\ntime.sleep(3)", start=Start.WARM)
    assert is_there.wait(30)
    in_the_middle(cards, lambda: setattr(driver.cards[0], "used", 30 * GIB))
    pool.give(touch(), start=Start.WARM)
    assert one(pool).attempt_id == "2"
    assert pool.results.empty()
    # The last one looks whether all is given back.
    driver.cards[0].used = GIB // 2
    assert one(pool).observation.card_shared
    assert cards.states() == [SOUND]


def test_memory_that_comes_back_a_moment_later_is_no_leak(tmp_path: Path, driver: EmulatedDriver) -> None:
    cards = DrivenCards(tmp_path)
    before = cards.readings([0])
    driver.cards[0].used = 9 * GIB
    after = cards.readings([0])
    threading.Timer(0.1, lambda: setattr(driver.cards[0], "used", GIB)).start()
    cards.await_memory(before, after)
    assert cards.states()[0] == SOUND


@pytest.mark.sandbox
def test_a_driver_that_answers_no_more(
    make_pool: MakePool, tmp_path: Path, driver: EmulatedDriver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(nvml, "_ANSWER_SECONDS", 0.3)
    cards = DrivenCards(tmp_path)
    pool = make_pool(cards=cards, places=3)
    in_the_middle(cards, driver.answers.clear)
    pool.give(touch())
    result = one(pool)
    assert (result.outcome, code(result)) == (Outcome.SETUP_FAILED, "card_faulty")
    # Nobody waits for it again, and the processor goes on.
    began, questions = time.monotonic(), driver.questions
    assert nvml.is_silent()
    assert (nvml.read_card(1, xids=[]), nvml.processes_on(1)) == (None, None)
    assert (driver.questions, time.monotonic() - began < 0.3) == (questions, True)
    assert run_on_cpu(pool).outcome is Outcome.COMPLETED
    until(lambda: cards.states()[0] == (CardState.IN_USE, "its driver does not answer"))
    driver.answers.set()
    until(lambda: not nvml.is_silent())
    cards.look_again()
    until(lambda: cards.states() == [SOUND, SOUND])


def test_a_driver_that_is_unloaded_raises_nothing(tmp_path: Path, driver: EmulatedDriver) -> None:
    driver.is_gone = True
    cards = DrivenCards(tmp_path)
    assert (cards.readings([0, 1]), nvml.find_gpus(), nvml.processes_on(0)) == ([], [], None)
    assert cards.take(0)


@pytest.mark.sandbox
def test_a_driver_that_hangs_while_it_opens_a_card(
    make_pool: MakePool, tmp_path: Path, driver: EmulatedDriver, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The thread of the node that opens it can't be stopped. The attempt ends, and the node goes on."""
    assert driver.cards
    hangs, goes_on, real_open = threading.Event(), threading.Event(), os.open

    def hang(path: Any, flags: int, *more: Any, **named: Any) -> int:
        if path == NODES[0] and hangs.is_set() and threading.current_thread().name == "gate":
            goes_on.wait(60)
        return real_open(path, flags, *more, **named)

    monkeypatch.setattr(gate, "_OPEN_SECONDS", 0.5)
    monkeypatch.setattr(gate, "_END_SECONDS", 0.2)
    monkeypatch.setattr(os, "open", hang)
    cards = DrivenCards(tmp_path)
    pool = make_pool(cards=cards, places=3)
    hangs.set()
    pool.give(touch())
    result = one(pool)
    words = f"the driver did not open {NODES[0]} within 0.5 s"
    assert (result.outcome, code(result)) == (Outcome.SETUP_FAILED, "node_fault")
    assert result.reason is not None
    assert words in result.reason.detail
    assert cards.states() == [(CardState.FAULTY, words), SOUND]
    pool.give(touch(NODES[1]))
    assert one(pool).observation.cards[0].index == 1
    assert run_on_cpu(pool).outcome is Outcome.COMPLETED
    goes_on.set()


@pytest.mark.sandbox
def test_a_check_that_can_not_be_stopped(
    make_pool: MakePool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its slot and its card are out of use until it ends; the other slots and the other card go on."""

    class Stuck(EmulatedCards):
        blocked: Sandbox | None = None

        def check(self, index: int, sandbox: object) -> bool:
            assert isinstance(sandbox, Sandbox)
            if index == 0:
                self.blocked = sandbox
            return super().check(index, sandbox)

    cards = Stuck(tmp_path, "9.0", "9.0")
    monkeypatch.setattr(Sandbox, "is_blocked", lambda self: self is cards.blocked)
    pool = make_pool(cards=cards, places=1)
    cards.due_cards = {0}
    until(lambda: cards.cards()[0].state is CardState.IN_USE)
    assert cards.cards()[0].detail == "an attempt on it could not be stopped"
    until(lambda: pool.pool.slots == 2)
    for _ in range(3):
        pool.give(touch(NODES[1]), CardUse.FROM_START)
    assert [each.observation.cards[0].index for each in pool.take(3).values()] == [1, 1, 1]
    cards.blocked = None
    until(lambda: pool.pool.slots == 3)


def test_a_card_that_is_divided(tmp_path: Path, driver: EmulatedDriver) -> None:
    """MIG: the parts have names and nodes of their own, and the whole card computes for nobody."""
    cards = DrivenCards(tmp_path)
    driver.cards[0].is_divided = True
    assert [cards.take(index) for index in (0, 1)] == [False, True]
    assert cards.states() == [
        (CardState.IN_USE, "it is divided by MIG, and only whole cards are used"),
        SOUND,
    ]
    assert cards.usable() == [1]
    driver.cards[0].is_divided = False
    assert cards.take(0)


@pytest.mark.sandbox
@pytest.mark.parametrize(("places", "use"), [(1, CardUse.FROM_START), (3, CardUse.AT_TOUCH)])
def test_a_card_is_overwritten_before_anybody_else_has_it(
    make_pool: MakePool, tmp_path: Path, places: int, use: CardUse
) -> None:
    class Cleaned(EmulatedCards):
        def __init__(self, folder: Path) -> None:
            super().__init__(folder, "9.0")
            self.times: list[float] = []

        def clean(self, indexes: Any, sandbox: object) -> None:
            assert isinstance(sandbox, Sandbox)
            assert acquire_gpus(tmp_path / "locks", list(indexes), 1) is None
            self.times.append(time.time())
            time.sleep(0.2)
            self.times.append(time.time())

    cards = Cleaned(tmp_path)
    pool = make_pool(cards=cards, places=places)
    source = touch().replace("time.sleep(0.6)", "print(time.time())")
    for _ in range(2):
        pool.give(source, use)
    opened = sorted(float(each.observation.stdout.split()[0]) for each in pool.take(2).values())
    until(lambda: len(cards.times) == 4)
    assert opened[0] < cards.times[0]
    assert cards.times[1] < opened[1] < cards.times[2]
