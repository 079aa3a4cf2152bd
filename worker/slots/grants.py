"""Which of the waiting attempts may start: the first whose cards can be had, locked against the other processes of this machine."""

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
    """An attempt that waits or runs here."""

    attempt: Attempt
    cancelled: threading.Event = field(default_factory=threading.Event)
    done: threading.Event = field(default_factory=threading.Event)
    # Its result is not to be told: others run it.
    silent: bool = False

    @property
    def is_preview(self) -> bool:
        return self.attempt.kind is AttemptKind.PREVIEW


@dataclass(slots=True)
class Grant:
    """What an attempt starts with; whoever ends it releases the locks."""

    entry: Entry
    gpus: list[Gpu]
    locks: list[HostLock]


class Grants:
    """`gives_back`: what needs a card that is out of use goes back unsaid, since other nodes may have one."""

    def __init__(self, cards: CardWatch, lock_folder: Path, *, gives_back: bool) -> None:
        self._cards = cards
        self._lock_folder = lock_folder
        self._gives_back = gives_back

    def take(self, queue: list[Entry], takes: Callable[[Entry], bool]) -> Grant | None:
        """The first that can start, taken out of the queue; None while none can."""
        for entry in [entry for entry in queue if takes(entry)]:
            needed = entry.attempt.cards_needed
            usable = self._cards.usable()
            if len(usable) < needed <= self._cards.count and not self._is_refused(entry, queue):
                continue
            # More than there are is the executor's to refuse.
            locks = acquire_gpus(self._lock_folder, usable, needed if needed <= len(usable) else 0)
            if locks is None:
                continue
            if not all(self._cards.take(index) for index in locks):
                for lock in locks.values():
                    lock.release()
                continue
            queue.remove(entry)
            return Grant(entry, self._cards.given(locks), list(locks.values()))
        return None

    def _is_refused(self, entry: Entry, queue: list[Entry]) -> bool:
        """Of an attempt whose cards are out of use: whether it is told so, else others run it or it waits for whoever has them."""
        if self._gives_back:
            queue.remove(entry)
            entry.done.set()
            return False
        return not self._cards.is_in_use()

    def check_cards(self, sandbox: Sandbox, lock: HostLock) -> None:
        """Those that are due, and that nobody holds: an attempt of ours, or another process that checks it. `lock` is the slot's."""
        for index in self._cards.due():
            if not lock.acquire():
                return
            held = acquire_gpus(self._lock_folder, [index], 1)
            try:
                if held is not None and index in self._cards.due():
                    self._cards.check(index, sandbox)
            finally:
                for one in (held or {}).values():
                    one.release()
                lock.release()
