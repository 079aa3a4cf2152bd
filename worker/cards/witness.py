"""Asks the driver on which cards an attempt computes. The script's own report could be false."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from worker.cards import nvml

# To create a context on a card takes longer than this, and the context lasts until its process ends.
_LOOK_SECONDS = 0.05
_END_SECONDS = 5.0


class Witness:
    """Looks for processes on cards that only the attempt may use. `looker` opens the list of the driver."""

    def __init__(self, indexes: Sequence[int], *, looker: Callable[[], nvml.Looker] = nvml.looker) -> None:
        self._indexes = list(indexes)
        self._looker = looker
        self._computed: set[int] = set()
        self._ending = threading.Event()

    @property
    def computed(self) -> list[int]:
        """The cards on which a process computed, as positions in `indexes`."""
        return [number for number, index in enumerate(self._indexes) if index in self._computed]

    @contextmanager
    def watch(self, since: threading.Event | None = None) -> Iterator[None]:
        """Look until the end of the block. Results of an earlier block are deleted.

        With `since`, look only after that is set: until then others use the cards.
        """
        self._computed.clear()
        self._ending.clear()
        thread = threading.Thread(target=self._look, args=(since,), name="cards-witness", daemon=True)
        if self._indexes:
            thread.start()
        try:
            yield
        finally:
            self._ending.set()
            if self._indexes:
                thread.join(_END_SECONDS)

    def _look(self, since: threading.Event | None) -> None:
        while since is not None and not since.wait(_LOOK_SECONDS):
            if self._ending.is_set():
                return
        with self._looker() as users_of:
            while True:
                self._computed |= {
                    index for index in self._indexes if index not in self._computed and users_of(index)
                }
                if self._ending.wait(_LOOK_SECONDS) or len(self._computed) == len(self._indexes):
                    return
