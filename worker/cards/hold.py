"""The cards of one attempt: assigned before it starts, and locked then or at its first touch of them.

Several attempts of one process may share a card, each with a context of its own.
"""

from __future__ import annotations

import threading
import time
from bisect import insort
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path

from worker.cards.watch import CardWatch
from worker.contract import CardReading, Gpu
from worker.machine.locks import HostLock, acquire_gpus
from worker.sandbox import Answer

# A first answer of a run overtakes repeats that have waited for the card for less than this.
_HEAD_START_SECONDS = 20.0
# A preview that shares the card overtakes first answers that have waited for less than the difference. It is
# over sooner, and its run has no other answer yet.
_PREVIEW_HEAD_START_SECONDS = 30.0
# After an attempt has ended, the driver may list its processes for a moment.
_GRACE_SECONDS = 1.0


class CardLine:
    """The order in which the attempts of a process wait for cards: first in, first out.

    A head start counts as time that was waited. An attempt that waits for several cards has its turn when it
    is the first one on each; the order is the same on all cards, so that two never wait for each other.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting: defaultdict[int, list[tuple[float, int, object]]] = defaultdict(list)
        self._count = 0

    def join(self, member: object, indexes: Sequence[int], *, head_start_seconds: float = 0.0) -> bool:
        """Join the line unless `member` is in it. True if it is its turn."""
        with self._lock:
            if not any(other is member for index in indexes for *_, other in self._waiting[index]):
                self._count += 1
                place = (time.monotonic() - head_start_seconds, self._count, member)
                for index in indexes:
                    insort(self._waiting[index], place, key=lambda each: (each[0], each[1]))
            return all(self._waiting[index][0][-1] is member for index in indexes)

    def leave(self, member: object) -> None:
        """Leave the line; does nothing if `member` is not in it."""
        with self._lock:
            for index, places in self._waiting.items():
                self._waiting[index] = [place for place in places if place[-1] is not member]


class SharedCards:
    """The cards that several attempts of this process have together, with one lock for all of them."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._locks: dict[int, HostLock] = {}
        self._members: Counter[int] = Counter()

    def join(self, index: int) -> bool:
        """Have a card beside others. False if nobody shares it."""
        with self._guard:
            if index not in self._locks:
                return False
            self._members[index] += 1
            return True

    def begin(self, index: int, lock: HostLock) -> None:
        """Share a card whose lock is ours."""
        with self._guard:
            self._locks[index] = lock
            self._members[index] = 1

    def leave(self, index: int) -> None:
        """Have a card no longer. The last one gives its lock back."""
        with self._guard:
            self._members[index] -= 1
            if self._members[index] == 0:
                self._locks.pop(index).release()

    def is_last(self, index: int) -> bool:
        """True if one attempt alone has the card."""
        with self._guard:
            return self._members[index] == 1


class CardHold:
    """The cards of one attempt, and their locks once it has them.

    `locks` are given if it has them from the start. Without them the attempt waits for its cards at most
    `most_seconds`; with a first answer of its run it comes before repeats, and with a preview before cold
    first answers. With `sharers` it may have its card beside others that share it too.
    """

    def __init__(
        self,
        cards: CardWatch,
        indexes: Sequence[int],
        *,
        folder: Path,
        line: CardLine,
        most_seconds: float,
        locks: Mapping[int, HostLock] | None = None,
        is_first_answer: bool = False,
        is_preview: bool = False,
        sharers: SharedCards | None = None,
    ) -> None:
        self._cards = cards
        self.indexes = list(indexes)
        self._folder = folder
        self._line = line
        self._head_start_seconds = _HEAD_START_SECONDS if is_first_answer else 0.0
        self._is_preview = is_preview
        self.most_seconds = most_seconds
        self.is_gated = locks is None
        self._sharers = sharers if locks is None and len(self.indexes) == 1 else None
        self._shares = False
        self._is_member = False
        self._guard = threading.Lock()
        self._locks: list[HostLock] = [] if locks is None else list(locks.values())
        self._is_over = False
        self._waits_since: float | None = None
        self._waited_seconds = 0.0
        self._others_since: float | None = None
        # Set once the attempt has its cards.
        self.taken = threading.Event()
        self._taken_at: float | None = None
        # How long it had its cards before that.
        self._had_seconds = 0.0
        # The states of the cards just before the attempt used them. Empty if it never did.
        self.before: list[CardReading] = []
        if not self.is_gated:
            self._set_taken()

    @property
    def gpus(self) -> list[Gpu]:
        return self._cards.select(self.indexes)

    @property
    def waited_seconds(self) -> float | None:
        """How long the attempt waited for its cards. None if it had them from the start."""
        with self._guard:
            return self._waited_seconds if self.is_gated else None

    @property
    def card_seconds(self) -> float:
        """How long it has had its cards, for all of them together. 0 if it never took them."""
        taken_at = self._taken_at
        now_seconds = 0.0 if taken_at is None else time.monotonic() - taken_at
        return (self._had_seconds + now_seconds) * len(self.indexes)

    @property
    def is_shared(self) -> bool:
        """True if the attempt has its card, and others may have it at the same time."""
        return self._is_member and self.taken.is_set()

    @property
    def is_last(self) -> bool:
        """True if nobody else has one of the cards now."""
        return not self._is_member or self._sharers is None or self._sharers.is_last(self.indexes[0])

    def share(self) -> bool:
        """From now on, take the card beside others that share it too. False if no card is shared here."""
        with self._guard:
            self._shares = self._sharers is not None and not self.taken.is_set()
            if self._shares and self._is_preview:
                self._head_start_seconds = _PREVIEW_HEAD_START_SECONDS
            return self._shares

    def end_sharing(self) -> None:
        """Give a shared card back. The next touch takes it alone."""
        if self._shares:
            self.put_back()
            self._shares = False

    def put_back(self) -> None:
        """Give the cards to others until the next touch. One that has them from the start keeps them."""
        with self._guard:
            if not self.is_gated or not self.taken.is_set():
                return
            self._had_seconds = self.card_seconds / len(self.indexes)
            self._give_back()
            self._taken_at = None
            self.taken.clear()
            self.before = []

    def read_before(self) -> str | None:
        """Read the states of the cards before the attempt. If one is gone, it goes out of use: says why."""
        self.before = self._cards.readings(self.indexes)
        missing = self._cards.condemn_missing(self.indexes, self.before)
        if missing is not None:
            self.before = []
        return missing

    def fail(self, why: str) -> None:
        """Take the cards out of use: the driver does not open them."""
        self._cards.condemn(self.indexes, why)

    def touch(self) -> Answer:
        """Take all cards if they are free, in turn. Called again and again while the answer is WAIT."""
        with self._guard:
            if self._is_over:
                return Answer.NEVER
            if self.taken.is_set():
                return Answer.OPEN
            if not set(self.indexes).issubset(self._cards.usable()):
                return Answer.NEVER
            if self._waits_since is None:
                self._waits_since = time.monotonic()
            is_next = self._line.join(self, self.indexes, head_start_seconds=self._head_start_seconds)
            if not is_next or not self._take():
                return Answer.WAIT
            self._stop_waiting()
            if self.read_before() is not None:
                self._give_back()
                return Answer.NEVER
            self._set_taken()
            return Answer.OPEN

    def leave(self) -> None:
        """Wait no longer. The attempt may touch its cards again later."""
        with self._guard:
            self._stop_waiting()

    def release(self) -> None:
        """Give the cards back. They can't be taken any more."""
        with self._guard:
            if self._is_over:
                return
            self._is_over = True
            self._stop_waiting()
            self._give_back()

    def _give_back(self) -> None:
        if self._is_member and self._sharers is not None:
            self._is_member = False
            self._sharers.leave(self.indexes[0])
        for lock in self._locks:
            lock.release()
        self._locks = []

    def _take(self) -> bool:
        """Lock the cards. False, and no lock, if one is locked or other programs compute on it."""
        if self._shares and self._sharers is not None:
            return self._take_beside_others(self._sharers)
        return self._lock()

    def _take_beside_others(self, sharers: SharedCards) -> bool:
        """Have the card beside others that share it, or be the first of them.

        Nobody joins while its check is due: it is checked once one attempt alone has it.
        """
        (index,) = self.indexes
        if index not in self._cards.due() and sharers.join(index):
            self._is_member = True
        elif self._lock():
            sharers.begin(index, self._locks.pop())
            self._is_member = True
        return self._is_member

    def _lock(self) -> bool:
        locks = acquire_gpus(self._folder, self.indexes, len(self.indexes))
        if locks is None:
            return False
        if self._is_alone():
            self._locks = list(locks.values())
            return True
        for lock in locks.values():
            lock.release()
        return False

    def _is_alone(self) -> bool:
        """True if nobody computes on the cards. Otherwise they go out of use, after a moment of grace."""
        if all(self._cards.is_alone(index) for index in self.indexes):
            self._others_since = None
            return True
        now = time.monotonic()
        if self._others_since is None:
            self._others_since = now
        if now - self._others_since < _GRACE_SECONDS:
            return False
        return all(self._cards.take(index) for index in self.indexes)

    def _set_taken(self) -> None:
        self._taken_at = time.monotonic()
        self.taken.set()

    def _stop_waiting(self) -> None:
        self._line.leave(self)
        if self._waits_since is not None:
            self._waited_seconds += time.monotonic() - self._waits_since
            self._waits_since = None
