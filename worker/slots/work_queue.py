"""The attempts that wait and run in one process, and whether the process takes more."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from enum import StrEnum

from worker.contract import Attempt
from worker.machine.locks import HostLock
from worker.slots.next_attempt import Entry, Grant, Grants

# The time after which a place sees that another process released a slot or a card.
LOOK_AGAIN_SECONDS = 0.05

# How many ended attempts are remembered, to know an older lease of them that comes late.
MOST_ENDED = 1000

Takes = Callable[[Entry], bool]


class Arrival(StrEnum):
    """The effect of a message on the queue."""

    # The attempt waits for a place.
    WAITS = "waits"
    # The attempt runs already, and goes on under the lease of this message.
    TAKEN_OVER = "taken_over"
    # The queue is paused: the service is to give the attempt to another node.
    GIVEN_BACK = "given_back"


class WorkQueue:
    """One queue for all places of a process. `changed` guards it; the places wait on it for work.

    A newer lease of an attempt takes its entry over. An older one changes nothing.
    """

    def __init__(self, grants: Grants) -> None:
        self.changed = threading.Condition()
        self._grants = grants
        self._waiting: list[Entry] = []
        self._running: dict[str, Entry] = {}
        # The newest lease of each attempt that ended here, the latest last.
        self._ended: OrderedDict[str, int] = OrderedDict()
        self._paused = False
        self._closing = False
        self._abandoned = False

    @property
    def is_closing(self) -> bool:
        return self._closing

    @property
    def is_paused(self) -> bool:
        return self._paused

    def attempt_ids(self) -> list[str]:
        """The ids of the attempts that run or wait."""
        with self.changed:
            # An attempt that is being stopped may wait here under a newer lease, too.
            return list(
                dict.fromkeys([*self._running, *(entry.attempt.attempt_id for entry in self._waiting)])
            )

    @property
    def has_waiting(self) -> bool:
        """True if an attempt waits for a place."""
        return bool(self._waiting)

    def count_repeats(self) -> int:
        """The number of attempts that run or wait and are no previews."""
        with self.changed:
            return sum(not entry.is_preview for entry in [*self._running.values(), *self._waiting])

    def submit(self, attempt: Attempt) -> tuple[Arrival, threading.Event] | None:
        """Add an attempt, or let a newer lease take it over. The event is set at its end under this lease.

        None if it is already here under this lease or a newer one, if such a lease of it has ended, if it was
        cancelled, or if the queue is closing.
        """
        attempt_id = attempt.attempt_id
        with self.changed:
            if self._closing or attempt.lease_no < self._ended.get(attempt_id, 0):
                return None
            running = self._running.get(attempt_id)
            waiting = next((each for each in self._waiting if each.attempt.attempt_id == attempt_id), None)
            present = [each for each in (running, waiting) if each is not None]
            is_stopping = running is not None and running.cancelled.is_set() and not running.is_given_back
            # A request to stop names the attempt, not the lease, and one that waits is not being stopped.
            if any(attempt.lease_no <= each.attempt.lease_no for each in present) or (
                is_stopping and waiting is None
            ):
                return None
            if waiting is not None:
                waiting.take_over(attempt)
                return Arrival.WAITS, waiting.done
            if running is not None and not running.is_given_back and running.is_same_work(attempt):
                running.take_over(attempt)
                return Arrival.TAKEN_OVER, running.done
            entry = Entry(attempt)
            if self._paused:
                return Arrival.GIVEN_BACK, entry.done
            # It starts after the one that runs, whose result counts for nobody.
            self._waiting.append(entry)
            self.changed.notify_all()
            return Arrival.WAITS, entry.done

    def stop_running(self, attempt_id: str) -> bool:
        """Ask a running attempt to stop. False if it does not run here."""
        with self.changed:
            entry = self._running.get(attempt_id)
            if entry is not None:
                entry.cancelled.set()
            return entry is not None

    def remove_waiting(self, attempt_id: str) -> Entry | None:
        """Remove an attempt that has not started. None if it does not wait here."""
        with self.changed:
            for entry in self._waiting:
                if entry.attempt.attempt_id == attempt_id:
                    self._waiting.remove(entry)
                    return entry
        return None

    def await_work(self, takes: Takes, *, look_seconds: float | None) -> bool:
        """Wait until there is an attempt that `takes` accepts, or the queue closes.

        With `look_seconds` wait at most that long, and return False unless there was work at the start: the
        place may have something else to do by then.
        """
        with self.changed:
            while not self._closing and not self._has_work(takes):
                self.changed.wait(look_seconds)
                if look_seconds is not None:
                    return False
        return True

    def is_over(self, takes: Takes) -> bool:
        """True if the queue closes and holds nothing more that `takes` accepts."""
        with self.changed:
            return self._closing and not self._has_work(takes)

    def take(self, lock: HostLock, takes: Takes) -> Grant | None:
        """Start the first attempt whose cards can be locked, together with the `lock` of its place.

        None if none can start; then this has waited a moment, and a check of a card may be due.
        """
        with self.changed:
            if lock.acquire():
                grant = self._grants.take(self._waiting, lambda entry: self._may_start(entry, takes))
                if grant is not None:
                    self._running[grant.entry.attempt.attempt_id] = grant.entry
                    return grant
                lock.release()
            if self._has_work(takes):
                self.changed.wait(LOOK_AGAIN_SECONDS)
        return None

    def release(self, grant: Grant) -> None:
        """Give the cards of an attempt back."""
        self._grants.release(grant)
        with self.changed:
            self.changed.notify_all()

    def goes_through_gate(self, grant: Grant) -> bool:
        """True if a gate gives the attempt its cards, also if it has them already."""
        return self._grants.goes_through_gate(grant)

    def hold_back(self, grant: Grant) -> None:
        """Take the cards of an attempt that can't be stopped out of use."""
        self._grants.hold_back(grant)
        with self.changed:
            self.changed.notify_all()

    def end(self, entry: Entry) -> int | None:
        """Take no more leases for an attempt that has its result. The lease under which it is delivered.

        None if no result is to be delivered. Set `entry.done` after the delivery.
        """
        with self.changed:
            attempt = entry.attempt
            if self._running.get(attempt.attempt_id) is entry:
                del self._running[attempt.attempt_id]
            self._ended[attempt.attempt_id] = max(
                attempt.lease_no, self._ended.pop(attempt.attempt_id, attempt.lease_no)
            )
            while len(self._ended) > MOST_ENDED:
                self._ended.popitem(last=False)
            self.changed.notify_all()
            return None if self._abandoned else attempt.lease_no

    def close(self) -> None:
        """Take nothing more; what waits still runs."""
        with self.changed:
            self._closing = True
            self.changed.notify_all()

    def drain(self) -> None:
        """Take nothing more, and drop what waits: other nodes run it."""
        with self.changed:
            self._closing = True
            dropped_entries, self._waiting = self._waiting, []
            self.changed.notify_all()
        for entry in dropped_entries:
            entry.done.set()

    def abandon(self) -> None:
        """Drain, and stop what runs without a result: its lease expires, and other nodes run it."""
        with self.changed:
            self._abandoned = True
            for entry in self._running.values():
                entry.cancelled.set()
        self.drain()

    def pause(self, *, at_once: bool) -> list[Entry]:
        """Take nothing until `resume`. The attempts that waited, to be given back.

        `at_once` also stops what runs.
        """
        with self.changed:
            self._paused = True
            dropped_entries, self._waiting = self._waiting, []
            if at_once:
                for entry in self._running.values():
                    entry.is_given_back = True
                    entry.cancelled.set()
        return dropped_entries

    def resume(self) -> None:
        """Take attempts again after `pause`."""
        with self.changed:
            self._paused = False

    def _has_work(self, takes: Takes) -> bool:
        return any(self._may_start(entry, takes) for entry in self._waiting)

    def _may_start(self, entry: Entry, takes: Takes) -> bool:
        return entry.attempt.attempt_id not in self._running and takes(entry)
