"""Attempts get their cards in turn, all or none, and never a card that went out of use."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from worker.cards import hold as hold_module
from worker.cards.hold import CardHold, CardLine
from worker.cards.watch import CardWatch
from worker.contract import CardReading, CardState, Gpu
from worker.machine.locks import acquire_gpus
from worker.sandbox import Answer


class Cards(CardWatch):
    """A machine with three cards, whose other programs a test sets."""

    def __init__(self, folder: Path) -> None:
        cards = [
            Gpu(index=index, model="NVIDIA H200", memory_bytes=1, capability="9.0", driver="1")
            for index in range(3)
        ]
        super().__init__(cards, lambda: None, folder=folder, check_seconds=600, check_memory_bytes=0)
        self.others: set[int] = set()
        self.reads = 0

    def is_alone(self, index: int) -> bool:
        return index not in self.others

    def take(self, index: int) -> bool:
        if index in self.others:
            self.set(index, CardState.IN_USE)
        return index not in self.others

    def readings(self, indexes: Sequence[int]) -> list[CardReading]:
        self.reads += 1
        return [CardReading(index=index) for index in indexes]

    def set(self, index: int, state: CardState) -> None:
        self._note(self._cards[index], state, "")


class Machine:
    def __init__(self, folder: Path) -> None:
        self.cards = Cards(folder)
        self.folder = folder / "locks"
        self.line = CardLine()

    def hold(self, *indexes: int) -> CardHold:
        return CardHold(self.cards, indexes, folder=self.folder, line=self.line, most_seconds=9)


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
