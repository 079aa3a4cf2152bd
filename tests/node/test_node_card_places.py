"""Several attempts are under way for one card: it goes from one to the next at their first touch.

A harmless device node stands for the card, and the sandbox is the real one.
"""

from __future__ import annotations

import time

import pytest
from card_pool import NODES, MakePool

from worker.contract import AttemptKind, CardState, CardUse, Outcome, Result, Start

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


def test_an_unknown_environment_keeps_the_card_from_nobody_longer_than_its_probe(make_pool: MakePool) -> None:
    pool = make_pool()
    pool.environments.is_known = False
    # It imports for a while before it touches its card: the next one has the card meanwhile.
    pool.give("import time\ntime.sleep(1)\n" + TOUCH)
    time.sleep(0.4)
    pool.give(TOUCH)
    results = pool.take(2)
    assert times(results["2"])[1] < times(results["1"])[0]
    assert waited(results["2"]) < 0.4


def test_one_place_is_as_ever(make_pool: MakePool) -> None:
    pool = make_pool(places=1)
    for _ in range(2):
        pool.give(TOUCH + "time.sleep(0.3)\nprint(time.time())")
    results = pool.take(2)
    first, second = sorted(times(each) for each in results.values())
    assert first[-1] < second[0]
    assert [each.observation.card_waited_seconds for each in results.values()] == [None, None]


def test_warm_attempts_share_a_card_and_cold_ones_have_it_alone(make_pool: MakePool) -> None:
    pool = make_pool(sharing=True)
    script = TOUCH + "time.sleep({})\nprint(time.time())"
    for _ in range(2):
        pool.give(script.format(1.5), start=Start.WARM)
    deadline = time.monotonic() + 30
    while pool.cards.reads < 2 and time.monotonic() < deadline:
        time.sleep(0.02)
    # Both have the card, so those that come now wait for both.
    script = script.format(0.2)
    pool.give(script)
    # No interpreter is paused for this one, so it starts cold after all.
    pool.give("# COLD\n" + script, start=Start.WARM)
    results = pool.take(4)
    spans = {name: (times(each)[1], times(each)[2]) for name, each in results.items()}
    assert max(spans["1"][0], spans["2"][0]) < min(spans["1"][1], spans["2"][1])
    for name in ("3", "4"):
        begin, end = spans[name]
        assert all(end <= other[0] or other[1] <= begin for key, other in spans.items() if key != name)
    shared = {name: each.observation.card_shared for name, each in results.items()}
    assert shared == {"1": True, "2": True, "3": False, "4": False}
    for name, each in results.items():
        # The driver lists the processes of others on a shared card.
        assert each.start is (Start.WARM if name in "12" else Start.COLD)
        assert each.observation.devices_opened == [CARD]


def test_a_preview_has_a_place_of_its_own_and_shares_the_card(make_pool: MakePool) -> None:
    pool = make_pool(places=2, sharing=True, previews=True)
    script = TOUCH + "time.sleep({})\nprint(time.time())"
    for _ in range(2):
        pool.give(script.format(1.5), start=Start.WARM)
    # Both places of the card are taken, and a cold first answer waits for one of them.
    pool.give(script.format(0.2))
    pool.give(script.format(0.2), start=Start.WARM, kind=AttemptKind.PREVIEW)
    results = pool.take(4)
    spans = {name: (times(each)[1], times(each)[2]) for name, each in results.items()}
    assert spans["4"][1] < min(spans["1"][1], spans["2"][1])
    assert spans["3"][0] > max(spans["1"][1], spans["2"][1])
    assert [results[name].observation.card_shared for name in "1234"] == [True, True, False, True]


def test_a_warm_attempt_with_its_card_from_the_start_finds_the_gate_open(make_pool: MakePool) -> None:
    pool = make_pool(sharing=True)
    pool.give(TOUCH, CardUse.FROM_START, start=Start.WARM)
    (result,) = pool.take(1).values()
    assert (result.start, result.observation.devices_opened) == (Start.WARM, [CARD])
    assert (result.observation.card_waited_seconds, result.observation.card_shared) == (None, False)
    assert len(result.observation.cards) == 1
