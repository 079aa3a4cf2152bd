"""Several attempts are under way for one card: it goes from one to the next at their first touch.

A harmless device node stands for the card, and the sandbox is the real one.
"""

from __future__ import annotations

import time

import pytest
from card_pool import NODES, MakePool

from worker.contract import CardState, CardUse, Outcome, Result

pytestmark = [pytest.mark.timeout(60), pytest.mark.sandbox]
CARD = NODES[0]
TOUCH = f"import os, time\nprint(time.time())\nfd = os.open({CARD!r}, os.O_RDWR)\nprint(time.time())\n"


def times(result: Result) -> list[float]:
    """The times that a script printed."""
    return [float(line) for line in result.observation.stdout.split()]


def waited(result: Result) -> float:
    seconds = result.observation.card_waited_seconds
    assert seconds is not None
    return seconds


def test_starts_overlap_and_the_card_is_used_in_turn(make_pool: MakePool) -> None:
    pool = make_pool()
    assert pool.pool.card_places == 3
    pool.cards.due_cards = {0}
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
        pool.cards.set(0, state)
    result = pool.results.get(timeout=60)
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
