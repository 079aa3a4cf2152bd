"""Chooses the attempt that starts: the first one whose cards can be locked on this machine."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from worker.cards.watch import CardWatch
from worker.contract import Attempt, AttemptKind, Gpu
from worker.machine.locks import HostLock, acquire_gpus
from worker.sandbox import Sandbox


@dataclass(slots=True)
class Entry:
    """An attempt that waits or runs in this process."""

    # With the newest lease: a later lease of the same attempt replaces it.
    attempt: Attempt
    # Set to ask the running attempt to stop.
    cancelled: threading.Event = field(default_factory=threading.Event)
    # Set when the attempt no longer waits or runs here.
    done: threading.Event = field(default_factory=threading.Event)
    # True if no result is delivered, since another node runs the attempt.
    silent: bool = False

    @property
    def is_preview(self) -> bool:
        return self.attempt.kind is AttemptKind.PREVIEW

    def take_over(self, attempt: Attempt) -> None:
        """Go on under a newer lease. The thread that waits for the end of the older one is released."""
        self.attempt = attempt
        released, self.done = self.done, threading.Event()
        released.set()

    def is_same_work(self, attempt: Attempt) -> bool:
        """True if the other message differs from this one by its lease alone."""
        lease = {"lease_no": attempt.lease_no, "instance": attempt.instance}
        return self.attempt.model_copy(update=lease) == attempt


@dataclass(slots=True)
class Grant:
    """An attempt that starts, its cards and their locks. The place that ran it releases the locks."""

    entry: Entry
    gpus: list[Gpu]
    locks: list[HostLock]


class Grants:
    """Takes attempts from a queue and locks their cards.

    With `gives_back` an attempt whose cards are out of use leaves the queue without a result: other nodes may
    have such cards. Without it the attempt waits while somebody else uses the cards, and is refused if they
    are faulty.
    """

    def __init__(self, cards: CardWatch, lock_folder: Path, *, gives_back: bool) -> None:
        self._cards = cards
        self._lock_folder = lock_folder
        self._gives_back = gives_back

    def take(self, queue: list[Entry], takes: Callable[[Entry], bool]) -> Grant | None:
        """Remove the first attempt that can start from the queue. None while there is none.

        `takes` says which entries the calling place accepts.
        """
        for entry in [entry for entry in queue if takes(entry)]:
            needed = entry.attempt.cards_needed
            usable = self._cards.usable()
            if len(usable) < needed <= self._cards.count:
                if self._gives_back:
                    queue.remove(entry)
                    entry.done.set()
                    continue
                if self._cards.is_in_use():
                    continue
            # An attempt that needs more cards than are usable starts without any: the executor refuses it.
            locks = acquire_gpus(self._lock_folder, usable, needed if needed <= len(usable) else 0)
            if locks is None:
                continue
            if not all(self._cards.take(index) for index in locks):
                for lock in locks.values():
                    lock.release()
                continue
            queue.remove(entry)
            return Grant(entry, self._cards.select(locks), list(locks.values()))
        return None

    def check_cards(self, sandbox: Sandbox, lock: HostLock) -> None:
        """Check the cards whose check is due, as far as they and the slot's `lock` are free."""
        for index in self._cards.due():
            if not lock.acquire():
                return
            card_locks = acquire_gpus(self._lock_folder, [index], 1)
            try:
                # Another process may have checked the card before this one got its lock.
                if card_locks is not None and index in self._cards.due():
                    self._cards.check(index, sandbox)
            finally:
                for card_lock in (card_locks or {}).values():
                    card_lock.release()
                lock.release()
