"""Chooses the attempt that starts: the first one that can have its cards on this machine."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import structlog

from worker.cards.hold import CardHold, CardLine, SharedCards
from worker.cards.watch import CardWatch
from worker.contract import Attempt, AttemptKind, CardUse, Gpu, Start
from worker.machine.locks import HostLock, acquire_gpus, wish_for_gpus
from worker.sandbox import Sandbox

_log = structlog.get_logger(__name__)


@dataclass(slots=True)
class Entry:
    """An attempt that waits or runs in this process."""

    # With the newest lease: a later lease of the same attempt replaces it.
    attempt: Attempt
    # Set to ask the running attempt to stop.
    cancelled: threading.Event = field(default_factory=threading.Event)
    # Set when the attempt no longer waits or runs here.
    done: threading.Event = field(default_factory=threading.Event)
    # True if the machine's owner stopped it: another lease of it may come here before it has ended.
    is_given_back: bool = False

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
        lease = {
            "lease_no": attempt.lease_no,
            "instance": attempt.instance,
            "card": attempt.card,
            "is_first_answer": attempt.is_first_answer,
        }
        return self.attempt.model_copy(update=lease) == attempt


@dataclass(slots=True)
class Grant:
    """An attempt that starts, and its cards if it has any. `Grants.release` gives them back."""

    entry: Entry
    hold: CardHold | None = None

    @property
    def gpus(self) -> list[Gpu]:
        return [] if self.hold is None else self.hold.gpus


class Grants:
    """Takes attempts from a queue and gives them cards.

    With `gives_back` an attempt whose cards are out of use leaves the queue without a result: other nodes may
    have such cards. Without it the attempt waits while somebody else uses the cards, and is refused if they
    are faulty.

    With more than one of `card_places`, an attempt that asks for its card at its first touch starts without
    it, beside others of its kind. An attempt that has its cards from the start then starts only when no such
    attempt is under way, since their imports would take its cores, and none starts while it runs. With
    `sharing`, those that start warm may have the card at the same time.

    Nobody overtakes an attempt that waits for cards on its way to one of them. Otherwise one that needs
    several would wait until nobody else wants a card.
    """

    def __init__(
        self,
        cards: CardWatch,
        lock_folder: Path,
        *,
        gives_back: bool,
        card_places: int = 1,
        card_wait_seconds: float = 300.0,
        sharing: bool = False,
    ) -> None:
        self._cards = cards
        self._lock_folder = lock_folder
        self._gives_back = gives_back
        self.card_places = card_places if cards.count else 1
        self._card_wait_seconds = card_wait_seconds
        self._line = CardLine()
        self._sharers = SharedCards() if sharing else None
        # Guards the counts below.
        self._lock = threading.Lock()
        # How many attempts are under way that get this card at their first touch, and the previews of them.
        self._at_touch: Counter[int] = Counter()
        self._previews: Counter[int] = Counter()
        # How many attempts run that have this card from the start.
        self._from_start: Counter[int] = Counter()
        # Guards the test of the gate.
        self._testing = threading.Lock()
        self._is_tested = False

    def test_gate(self, sandbox: Sandbox) -> None:
        """At the first call, give all cards from the start if this machine has no gate."""
        if self.card_places == 1:
            return
        with self._testing:
            if self._is_tested:
                return
            self._is_tested = True
            problem = sandbox.test_gate()
            if problem:
                self.card_places = 1
                _log.warning("cards_from_the_start", detail=problem)

    def take(self, queue: list[Entry], takes: Callable[[Entry], bool]) -> Grant | None:
        """Remove the first attempt that can start from the queue. None while there is none.

        `takes` says which entries the calling place accepts.
        """
        is_reserved = False
        # The cards for which attempts wait.
        reserved: set[int] = set()
        for entry in list(queue):
            attempt = entry.attempt
            if not self._has_turn(attempt, is_reserved=is_reserved):
                # Attempts behind one that needs its cards from the start do not overtake it.
                is_reserved = is_reserved or not self._is_at_touch(attempt)
                continue
            needed = attempt.cards_needed
            of_kind = self._cards.of_kind(attempt.capability) if needed else []
            if not takes(entry):
                # Another place takes it. Previews must not keep it from its cards meanwhile.
                reserved.update(of_kind if needed > 1 and self._is_one_in_use(of_kind) else ())
                continue
            usable = [index for index in self._cards.usable() if index in of_kind]
            if len(usable) < needed <= len(of_kind):
                if self._gives_back:
                    queue.remove(entry)
                    entry.done.set()
                    continue
                if self._cards.is_in_use():
                    continue
            # An attempt that needs more cards than are usable starts without any: the executor refuses it.
            hold = None
            if 0 < needed <= len(usable):
                hold = self._make_hold(attempt, [index for index in usable if index not in reserved])
                if hold is None:
                    reserved.update(usable)
                    continue
            queue.remove(entry)
            return Grant(entry, hold)
        return None

    def _is_one_in_use(self, indexes: Sequence[int]) -> bool:
        """True if an attempt of this process has one of the cards, or gets it at its first touch."""
        with self._lock:
            return any(self._from_start[index] or self._at_touch[index] for index in indexes)

    def _make_hold(self, attempt: Attempt, usable: Sequence[int]) -> CardHold | None:
        """Cards for an attempt. None if it has to wait for some."""
        if self._is_at_touch(attempt):
            return self._assign(usable, attempt)
        return self._take_locks(usable, attempt.cards_needed)

    def release(self, grant: Grant) -> None:
        """Give the cards of an attempt back."""
        hold = grant.hold
        if hold is None:
            return
        hold.release()
        with self._lock:
            (self._at_touch if hold.is_gated else self._from_start).subtract(hold.indexes)
            if hold.is_gated and grant.entry.is_preview:
                self._previews.subtract(hold.indexes)

    def hold_back(self, grant: Grant) -> None:
        """Take the cards of an attempt that can't be stopped out of use."""
        if grant.hold is not None and grant.hold.taken.is_set():
            self._cards.hold_back(grant.hold.indexes)

    def goes_through_gate(self, grant: Grant) -> bool:
        """True if a gate gives the attempt its cards, also if it has them already.

        Paused interpreters are for attempts with a gate. One that has its card from the start finds it open.
        """
        hold = grant.hold
        return hold is not None and (
            hold.is_gated
            or (self.card_places > 1 and grant.entry.attempt.start is Start.WARM and len(hold.indexes) == 1)
        )

    def _is_at_touch(self, attempt: Attempt) -> bool:
        """True if the attempt starts without its card here."""
        return self.card_places > 1 and attempt.card is CardUse.AT_TOUCH and attempt.cards_needed == 1

    def _has_turn(self, attempt: Attempt, *, is_reserved: bool) -> bool:
        """True if no attempt of the other kind is under way or waits before this one."""
        if self.card_places == 1 or attempt.cards_needed == 0:
            return True
        with self._lock:
            if self._is_at_touch(attempt):
                return self._from_start.total() == 0 and not is_reserved
            return self._at_touch.total() == 0

    def _assign(self, usable: Sequence[int], attempt: Attempt) -> CardHold | None:
        """The card with the fewest attempts under way. None if each has as many as it may have.

        Previews have places of their own, so counted attempts and they do not wait for each other.
        """
        if not usable:
            return None
        is_preview = attempt.kind is AttemptKind.PREVIEW
        with self._lock:
            index = min(usable, key=lambda index: self._at_touch[index])
            if not is_preview and self._at_touch[index] - self._previews[index] >= self.card_places:
                return None
            self._at_touch[index] += 1
            self._previews[index] += is_preview
        return self._hold([index], locks=None, attempt=attempt)

    def _take_locks(self, usable: Sequence[int], needed: int) -> CardHold | None:
        """Cards that nobody uses, with their locks. None if there are too few."""
        locks = acquire_gpus(self._lock_folder, list(usable), needed)
        if locks is None:
            if needed > 1:
                wish_for_gpus(self._lock_folder)
            return None
        if not all(self._cards.take(index) for index in locks):
            for lock in locks.values():
                lock.release()
            return None
        with self._lock:
            self._from_start.update(list(locks))
        return self._hold(list(locks), locks=locks)

    def _hold(
        self, indexes: Sequence[int], *, locks: dict[int, HostLock] | None, attempt: Attempt | None = None
    ) -> CardHold:
        return CardHold(
            self._cards,
            indexes,
            folder=self._lock_folder,
            line=self._line,
            most_seconds=self._card_wait_seconds,
            locks=locks,
            is_first_answer=attempt is not None and attempt.is_first_answer,
            is_preview=attempt is not None and attempt.kind is AttemptKind.PREVIEW,
            sharers=self._sharers,
        )

    def check_cards(self, sandbox: Sandbox, lock: HostLock, *, reclaim: Callable[[], object]) -> None:
        """Check the cards whose check is due, as far as they and the slot's `lock` are free.

        If a check can't be stopped, `reclaim` waits for its end; the card is out of use meanwhile.
        """
        for index in self._cards.due():
            if not lock.acquire():
                return
            card_locks = acquire_gpus(self._lock_folder, [index], 1)
            try:
                # Another process may have checked the card before this one got its lock.
                if card_locks is not None and index in self._cards.due():
                    self._cards.check(index, sandbox)
                    if sandbox.is_blocked():
                        self._cards.hold_back([index])
                        reclaim()
            finally:
                for card_lock in (card_locks or {}).values():
                    card_lock.release()
                lock.release()

    def check_held(self, grant: Grant, sandbox: Sandbox) -> None:
        """Check the cards of an attempt that has ended, if their check is due. Nobody else gets them before.

        With attempts that always wait for a card, an idle slot would never find it free.
        """
        hold = grant.hold
        if hold is None or not hold.taken.is_set():
            return
        if not hold.is_last:
            return
        for index in hold.indexes:
            if index in self._cards.due():
                self._cards.check(index, sandbox)
