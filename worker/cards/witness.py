"""Looks from outside, by the driver, on which cards the processes of an attempt compute: what runs in them may say anything."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from worker.cards import nvml

# A context on a card takes longer to make than that, and lasts until its process ends.
_LOOK_SECONDS = 0.05
_END_SECONDS = 5.0


class Witness:
    """Of cards that nobody else may use meanwhile. `looker` opens what tells the processes on a card by its index."""

    def __init__(self, indexes: Sequence[int], *, looker: Callable[[], nvml.Looker] = nvml.looker) -> None:
        self._indexes = list(indexes)
        self._looker = looker
        self._computed: set[int] = set()
        self._ending = threading.Event()

    @property
    def computed(self) -> list[int]:
        """The cards on which something computed while it looked, as numbers in the order in which they were given."""
        return [number for number, index in enumerate(self._indexes) if index in self._computed]

    @contextmanager
    def watch(self) -> Iterator[None]:
        """From now until the end of the block; what an earlier block saw is forgotten."""
        self._computed.clear()
        self._ending.clear()
        thread = threading.Thread(target=self._look, name="cards-witness", daemon=True)
        if self._indexes:
            thread.start()
        try:
            yield
        finally:
            self._ending.set()
            if self._indexes:
                thread.join(_END_SECONDS)

    def _look(self) -> None:
        with self._looker() as users_of:
            while True:
                self._computed |= {
                    index for index in self._indexes if index not in self._computed and users_of(index)
                }
                if self._ending.wait(_LOOK_SECONDS) or len(self._computed) == len(self._indexes):
                    return
