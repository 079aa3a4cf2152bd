"""The attempts that wait and run in one process, and whether the process takes more."""

from __future__ import annotations

import threading
from collections.abc import Callable

from worker.contract import Attempt
from worker.machine.locks import HostLock
from worker.slots.next_attempt import Entry, Grant, Grants

# The time after which a place sees that another process released a slot or a card.
LOOK_AGAIN_SECONDS = 0.05

Takes = Callable[[Entry], bool]


class WorkQueue:
    """One queue for all places of a process. `changed` guards it; the places wait on it for work."""

    def __init__(self, grants: Grants) -> None:
        self.changed = threading.Condition()
        self._grants = grants
        self._waiting: list[Entry] = []
        self._running: dict[str, Entry] = {}
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
            return [*self._running, *(entry.attempt.attempt_id for entry in self._waiting)]

    def count_repeats(self) -> int:
        """The number of attempts that run or wait and are no previews."""
        with self.changed:
            return sum(not entry.is_preview for entry in [*self._running.values(), *self._waiting])

    def submit(self, attempt: Attempt) -> Entry | None:
        """Add an attempt. None if it is already here, or if the queue is paused or closing."""
        with self.changed:
            if self._closing or self._paused or attempt.attempt_id in self.attempt_ids():
                return None
            entry = Entry(attempt)
            self._waiting.append(entry)
            self.changed.notify_all()
            return entry

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
                grant = self._grants.take(self._waiting, takes)
                if grant is not None:
                    self._running[grant.entry.attempt.attempt_id] = grant.entry
                    return grant
                lock.release()
            if self._has_work(takes):
                self.changed.wait(LOOK_AGAIN_SECONDS)
        return None

    def is_silent(self, entry: Entry) -> bool:
        """True if no result of this attempt is to be delivered."""
        with self.changed:
            return self._abandoned or entry.silent

    def end(self, entry: Entry) -> None:
        """The attempt no longer runs here."""
        with self.changed:
            self._running.pop(entry.attempt.attempt_id, None)
        entry.done.set()

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

    def pause(self, *, at_once: bool) -> None:
        """Take nothing until `resume`, and drop what waits.

        `at_once` also stops what runs, without a result.
        """
        with self.changed:
            self._paused = True
            dropped_entries, self._waiting = self._waiting, []
            if at_once:
                for entry in self._running.values():
                    entry.silent = True
                    entry.cancelled.set()
        for entry in dropped_entries:
            entry.done.set()

    def resume(self) -> None:
        """Take attempts again after `pause`."""
        with self.changed:
            self._paused = False

    def _has_work(self, takes: Takes) -> bool:
        return any(takes(entry) for entry in self._waiting)
