"""Cards that no driver knows, for tests of everything that a node does with several of them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from worker.cards.watch import CardWatch
from worker.contract import CardReading, CardState, Gpu


def emulated_gpu(index: int, *, capability: str = "9.0") -> Gpu:
    """A card with this number."""
    return Gpu(index=index, model="NVIDIA H200", memory_bytes=1, capability=capability, driver="1")


class EmulatedCards(CardWatch):
    """A machine with a card of each of these capabilities. A test sets their states and other programs."""

    def __init__(self, folder: Path, *capabilities: str) -> None:
        cards = [emulated_gpu(index, capability=capability) for index, capability in enumerate(capabilities)]
        super().__init__(cards, lambda: None, folder=folder, check_seconds=600, check_memory_bytes=0)
        # The cards on which other programs compute.
        self.others: set[int] = set()
        self.reads = 0
        # The cards that are due for a check, and those that were checked.
        self.due_cards: set[int] = set()
        self.checked: list[int] = []

    def is_alone(self, index: int) -> bool:
        return index not in self.others

    def take(self, index: int) -> bool:
        if index in self.others:
            self.set(index, CardState.IN_USE)
        return index not in self.others

    def readings(self, indexes: Sequence[int]) -> list[CardReading]:
        self.reads += 1
        return [CardReading(index=index) for index in indexes]

    def due(self) -> list[int]:
        return sorted(self.due_cards)

    def check(self, index: int, _sandbox: object) -> bool:
        self.checked.append(index)
        self.due_cards.discard(index)
        return True

    def set(self, index: int, state: CardState) -> None:
        """Give a card a state."""
        self._note(self._cards[index], state, "")
