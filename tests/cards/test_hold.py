"""Attempts get their cards in turn, all or none, and never a card that went out of use."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from emulated_cards import EmulatedCards

from worker.cards import hold as hold_module
from worker.cards.hold import CardHold, CardLine, SharedCards
from worker.contract import CardState
from worker.machine.locks import acquire_gpus
from worker.sandbox import Answer


class Machine:
    def __init__(self, folder: Path) -> None:
        self.cards = EmulatedCards(folder, "9.0", "9.0", "9.0")
        self.folder = folder / "locks"
        self.line = CardLine()
        self.sharers = SharedCards()

    def hold(self, *indexes: int, line: CardLine | None = None, is_first_answer: bool = False) -> CardHold:
        return CardHold(
            self.cards,
            indexes,
            folder=self.folder,
            line=line or self.line,
            most_seconds=9,
            is_first_answer=is_first_answer,
        )

    def sharing(self, index: int = 0, *, is_preview: bool = False) -> CardHold:
        """A hold that takes its card beside others."""
        hold = CardHold(
            self.cards,
            [index],
            folder=self.folder,
            line=self.line,
            most_seconds=9,
            is_first_answer=is_preview,
            is_preview=is_preview,
            sharers=self.sharers,
        )
        assert hold.share()
        return hold


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def test_first_in_first_out(machine: Machine) -> None:
    first, second, third = machine.hold(0), machine.hold(0), machine.hold(0)
    assert [each.touch() for each in (first, second, third)] == ["open", "wait", "wait"]
    first.release()
    # The last one asks first, and does not overtake.
    assert [each.touch() for each in (third, second)] == ["wait", "open"]
    assert second.touch() is Answer.OPEN
    second.release()
    assert third.touch() is Answer.OPEN
    # A hold that was given back takes nothing more.
    assert second.touch() is Answer.NEVER


def test_a_first_answer_overtakes_repeats_that_have_not_waited_long(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    moment = 100.0
    monkeypatch.setattr(hold_module.time, "monotonic", lambda: moment)
    holder, old, repeat = machine.hold(0), machine.hold(0), machine.hold(0)
    assert [each.touch() for each in (holder, old)] == ["open", "wait"]
    moment += 25
    first = machine.hold(0, is_first_answer=True)
    assert [each.touch() for each in (repeat, first)] == ["wait", "wait"]
    holder.release()
    assert [each.touch() for each in (repeat, first, old)] == ["wait", "wait", "open"]
    old.release()
    assert [each.touch() for each in (repeat, first)] == ["wait", "open"]
    first.release()
    assert repeat.touch() is Answer.OPEN


def test_a_preview_that_shares_overtakes_first_answers_that_have_not_waited_long(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    moment = 100.0
    monkeypatch.setattr(hold_module.time, "monotonic", lambda: moment)
    holder, old = machine.hold(0), machine.hold(0, is_first_answer=True)
    assert [each.touch() for each in (holder, old)] == ["open", "wait"]
    moment += 15
    first, preview = machine.hold(0, is_first_answer=True), machine.sharing(is_preview=True)
    assert [each.touch() for each in (first, preview)] == ["wait", "wait"]
    holder.release()
    assert [each.touch() for each in (first, preview, old)] == ["wait", "wait", "open"]
    old.release()
    assert [each.touch() for each in (first, preview)] == ["wait", "open"]
    preview.release()
    assert first.touch() is Answer.OPEN


def test_one_that_waits_no_longer_is_in_nobodys_way(machine: Machine) -> None:
    other = acquire_gpus(machine.folder, [0], 1)
    assert other is not None
    first, second = machine.hold(0), machine.hold(0)
    assert [each.touch() for each in (first, second)] == ["wait", "wait"]
    first.leave()
    other[0].release()
    assert second.touch() is Answer.OPEN
    assert first.touch() is Answer.WAIT
    assert first.waited_seconds is not None


def test_several_cards_come_together(machine: Machine) -> None:
    one = machine.hold(1)
    assert one.touch() is Answer.OPEN
    both, later = machine.hold(0, 1), machine.hold(0)
    # It takes no card while it lacks another one, and a later attempt does not take that one away.
    assert [each.touch() for each in (both, later)] == ["wait", "wait"]
    free = acquire_gpus(machine.folder, [0], 1)
    assert free is not None
    free[0].release()
    one.release()
    assert [each.touch() for each in (later, both)] == ["wait", "open"]
    both.release()
    assert later.touch() is Answer.OPEN


def test_the_clock_runs_until_the_cards_are_there(machine: Machine) -> None:
    hold = machine.hold(0)
    assert (hold.before, machine.cards.reads, hold.waited_seconds) == ([], 0, 0.0)
    assert hold.touch() is Answer.OPEN
    assert hold.taken.is_set()
    # The driver is asked when the card is there, and not earlier.
    assert ([reading.index for reading in hold.before], machine.cards.reads) == ([0], 1)
    waited = hold.waited_seconds
    assert waited is not None
    hold.release()
    assert hold.waited_seconds == waited


def test_a_card_out_of_use_is_never_taken(machine: Machine) -> None:
    hold = machine.hold(0)
    machine.cards.set(0, CardState.FAULTY)
    assert hold.touch() is Answer.NEVER
    assert acquire_gpus(machine.folder, [0], 1) is not None


def test_other_programs_on_a_card(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    """The driver may list the processes of the attempt before for a moment. Others keep the card."""
    machine.cards.others = {0}
    hold = machine.hold(0)
    assert hold.touch() is Answer.WAIT
    machine.cards.others = set()
    assert hold.touch() is Answer.OPEN
    hold.release()
    machine.cards.others = {0}
    monkeypatch.setattr(hold_module, "_GRACE_SECONDS", 0.0)
    hold = machine.hold(0)
    assert [hold.touch(), hold.touch()] == ["wait", "never"]
    assert machine.cards.cards()[0].state is CardState.IN_USE
    assert acquire_gpus(machine.folder, [0], 1) is not None


def test_cards_from_the_start_are_no_wait(machine: Machine) -> None:
    locks = acquire_gpus(machine.folder, [2], 1)
    hold = CardHold(machine.cards, [2], folder=machine.folder, line=machine.line, most_seconds=9, locks=locks)
    assert (hold.touch(), hold.waited_seconds, hold.is_gated) == (Answer.OPEN, None, False)
    assert [gpu.index for gpu in hold.gpus] == [2]
    assert acquire_gpus(machine.folder, [2], 1) is None
    hold.release()
    assert acquire_gpus(machine.folder, [2], 1) is not None


def test_no_order_of_attempts_stops_all(machine: Machine) -> None:
    """Attempts on one card and on two, in two processes: all or none, never two on a card, and all end.

    In 200 random orders: who asks next, how long each computes, and who gives up and asks again.
    """
    for seed in range(200):
        order = random.Random(seed)  # noqa: S311  # no secret
        lines = [CardLine(), CardLine()]
        choices = [(0, 1), (1, 0), (0, 1), (0,), (1,), (1, 2), (2, 0)]
        holds = [machine.hold(*order.choice(choices), line=order.choice(lines)) for _ in range(8)]
        # How often each is still asked once it has its cards.
        left = {id(hold): order.randint(1, 4) for hold in holds}
        waiting, has_both = list(holds), 0
        for _ in range(2000):
            hold = order.choice(waiting)
            answer = hold.touch()
            holders = [each for each in waiting if each.taken.is_set()]
            locked = [index for each in holders for index in each.indexes]
            assert len(locked) == len(set(locked))
            # Whoever waits has no lock at all: every card without a holder is free.
            free = sorted({0, 1, 2}.difference(locked))
            locks = acquire_gpus(machine.folder, free, len(free))
            assert locks is not None
            for lock in locks.values():
                lock.release()
            if answer is Answer.WAIT and order.random() < 0.1:
                hold.leave()
            elif answer is Answer.OPEN:
                left[id(hold)] -= 1
                if left[id(hold)] == 0:
                    has_both += len(hold.indexes) == 2
                    hold.release()
                    waiting.remove(hold)
            if not waiting:
                break
        assert not waiting, seed
        assert has_both == sum(len(hold.indexes) == 2 for hold in holds)


def test_those_that_share_have_the_card_together_and_others_wait_for_all(machine: Machine) -> None:
    first, second, alone, late = machine.sharing(), machine.sharing(), machine.hold(0), machine.sharing()
    assert [each.touch() for each in (first, second, alone)] == ["open", "open", "wait"]
    assert (first.is_shared, second.is_shared, first.is_last) == (True, True, False)
    # Whoever comes later does not overtake the one that wants it alone.
    assert late.touch() is Answer.WAIT
    first.release()
    assert alone.touch() is Answer.WAIT
    assert second.is_last
    second.release()
    second.release()
    assert [late.touch(), alone.touch(), late.touch()] == ["wait", "open", "wait"]
    alone.release()
    assert late.touch() is Answer.OPEN
    late.release()
    assert acquire_gpus(machine.folder, [0], 1) is not None


def test_whoever_ends_sharing_has_the_card_alone_next(machine: Machine) -> None:
    first, second = machine.sharing(), machine.sharing()
    assert [first.touch(), second.touch()] == ["open", "open"]
    first.end_sharing()
    assert (first.is_shared, first.taken.is_set(), first.before) == (False, False, [])
    assert first.touch() is Answer.WAIT
    second.release()
    assert first.touch() is Answer.OPEN
    assert not first.is_shared
    assert first.card_seconds > 0
    assert machine.sharing().touch() is Answer.WAIT
    first.release()


def test_nobody_joins_on_a_card_that_is_to_be_checked(machine: Machine) -> None:
    first, second = machine.sharing(), machine.sharing()
    assert first.touch() is Answer.OPEN
    machine.cards.due_cards = {0}
    assert second.touch() is Answer.WAIT
    first.release()
    assert second.touch() is Answer.OPEN


def test_without_the_setting_and_from_the_start_nothing_is_shared(machine: Machine) -> None:
    assert not machine.hold(0).share()
    locks = acquire_gpus(machine.folder, [0], 1)
    hold = CardHold(
        machine.cards,
        [0],
        folder=machine.folder,
        line=machine.line,
        most_seconds=9,
        locks=locks,
        sharers=machine.sharers,
    )
    assert not hold.share()
    assert not hold.is_shared
