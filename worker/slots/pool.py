"""The slots of one process, fed from one queue.

Locks share slots and cards with the other processes of the machine.
"""

from __future__ import annotations

import threading
import time

from worker.attempt.execute import Executor
from worker.attempt.identity import Identity
from worker.cards.watch import CardWatch
from worker.contract import Attempt, Level, Outcome, Reason
from worker.contract.names import NODE_PAUSED, slots_in_use
from worker.machine.locks import prepare_folder
from worker.machine.settings import NodeSettings
from worker.sandbox import Sandbox
from worker.slots.next_attempt import Entry, Grants
from worker.slots.places import PreviewPlace, Slot
from worker.slots.runner import Deliver, Runner
from worker.slots.work_queue import Arrival, WorkQueue


class SlotPool:
    """Takes attempts, and delivers Started and then the Result of each one, from the threads of the slots.

    With `previews` there are places for previews beside the slots. Previews wait only for each other, and
    counted attempts never wait for them. For a preview there is no Started. `gives_back` is as in `Grants`.
    """

    def __init__(
        self,
        settings: NodeSettings,
        executor: Executor,
        *,
        identity: Identity,
        deliver: Deliver,
        cards: CardWatch,
        previews: bool = False,
        gives_back: bool = False,
    ) -> None:
        self._settings = settings
        self._executor = executor
        self._cards = cards
        self._with_previews = previews
        self._grants = Grants(
            cards,
            settings.lock_folder,
            gives_back=gives_back,
            card_places=settings.card_places,
            card_wait_seconds=settings.card_wait_seconds,
            # To overwrite takes all of the memory that others on the card would need.
            sharing=settings.card_sharing and not settings.cards_overwrite,
        )
        self._queue = WorkQueue(self._grants)
        self._runner = Runner(executor, self._queue, identity=identity, cards=cards, deliver=deliver)
        self._preview_places: list[PreviewPlace] = []
        self._slots: list[Slot] = []
        self._threads: list[threading.Thread] = []
        self._first_sandbox: Sandbox | None = None

    def start(self) -> None:
        """Start the threads, and wait until the first slot is ready.

        Raises SandboxUnavailableError if this machine gives no acceptable isolation, and LockFolderError if
        slots can't be locked.
        """
        prepare_folder(self._settings.lock_folder)
        self._make_places()
        for thread in self._threads:
            thread.start()
        with self._queue.changed:
            self._queue.changed.wait_for(lambda: self._problem() is not None or self._is_ready())
            problem = self._problem()
            if problem is not None:
                raise problem
            self._first_sandbox = next(slot.sandbox for slot in self._slots if slot.is_set_up)

    def _make_places(self) -> None:
        has_cards = self._cards.count > 0
        if self._with_previews:
            self._preview_places = [
                PreviewPlace(
                    place,
                    settings=self._settings,
                    queue=self._queue,
                    runner=self._runner,
                    has_cards=has_cards,
                )
                for place in range(self._settings.preview_places)
            ]
        self._slots = [
            Slot(
                number,
                settings=self._settings,
                queue=self._queue,
                runner=self._runner,
                grants=self._grants,
                preview_places=self._preview_places,
                has_cards=has_cards,
            )
            for number in range(self._settings.slots)
        ]
        self._threads = [
            threading.Thread(target=slot.run, name=f"slot-{number}", daemon=True)
            for number, slot in enumerate(self._slots)
        ]
        self._threads += [
            threading.Thread(target=place.run, name=f"previews-{number}", daemon=True)
            for number, place in enumerate(self._preview_places)
        ]

    def _problem(self) -> Exception | None:
        return next((slot.problem for slot in self._slots if slot.problem is not None), None)

    def _is_ready(self) -> bool:
        previews_are_known = all(place.is_set_up for place in self._preview_places)
        return previews_are_known and any(slot.is_set_up for slot in self._slots)

    @property
    def level(self) -> Level:
        """The isolation level that is in force. Known after `start`."""
        return self._sandbox().level

    @property
    def level_detail(self) -> str:
        return self._sandbox().level_detail

    def _sandbox(self) -> Sandbox:
        if self._first_sandbox is None:
            raise RuntimeError("the pool has not been started")
        return self._first_sandbox

    @property
    def slots(self) -> int:
        """The number of slots in service. A slot is out of service while its last attempt can't be killed."""
        with self._queue.changed:
            return sum(slot.in_service for slot in self._slots)

    @property
    def previews(self) -> int:
        """The number of previews that run at the same time."""
        with self._queue.changed:
            return sum(place.in_service for place in self._preview_places)

    @property
    def card_places(self) -> int:
        """The number of attempts that may be under way for each card. Known after `start`."""
        return self._grants.card_places

    @property
    def waits_for(self) -> str:
        """A sentence on its owner, or on the nodes that use its slots, if attempts wait for them. Else empty.

        The nodes are only named while every slot in service is used by others.
        """
        with self._queue.changed:
            if self._queue.is_paused:
                return NODE_PAUSED
            slots = [slot for slot in self._slots if slot.in_service]
            if not slots or not all(slot.used_by for slot in slots) or not self._queue.has_waiting:
                return ""
            return slots_in_use(dict.fromkeys(slot.used_by for slot in slots))

    @property
    def free_slots(self) -> int:
        with self._queue.changed:
            return 0 if self._queue.is_paused else max(0, self.slots - self._queue.count_repeats())

    def running(self) -> list[str]:
        """The ids of the attempts that run or wait here."""
        return self._queue.attempt_ids()

    def submit(self, attempt: Attempt) -> threading.Event | None:
        """Add an attempt. The event is set once its result is delivered or another node is to run it.

        A newer lease of an attempt that is here takes it over; then Started is delivered again, under that
        lease. None if the attempt is already here under this lease or a newer one, or if the pool takes none;
        a paused pool gives the attempt back.
        """
        answer = self._queue.submit(attempt)
        if answer is None:
            return None
        arrival, done = answer
        if arrival is Arrival.GIVEN_BACK:
            self._give_back(Entry(attempt))
            return None
        if arrival is Arrival.TAKEN_OVER:
            self._runner.send_started(attempt)
        return done

    def cancel(self, attempt_id: str) -> bool:
        """Stop an attempt; its outcome is CANCELLED. False if it is not here."""
        with self._queue.changed:
            is_running = self._queue.stop_running(attempt_id)
            entry = self._queue.remove_waiting(attempt_id)
        if entry is None:
            return is_running
        reason = Reason(code="cancelled", detail="Stopped on request.")
        self._runner.finish(entry, self._executor.without_run(entry.attempt, Outcome.CANCELLED, reason))
        return True

    def cancel_all(self) -> None:
        for attempt_id in self.running():
            self.cancel(attempt_id)

    def pause(self, *, at_once: bool) -> None:
        """Take nothing until `resume`, and give back what waits: the service gives it to other nodes.

        `at_once` also stops what runs, and gives it back.
        """
        for entry in self._queue.pause(at_once=at_once):
            self._give_back(entry)

    def _give_back(self, entry: Entry) -> None:
        # A lease without an answer would have to run out first.
        reason = Reason(code="given_back", detail="The owner of the machine paused the node.")
        self._runner.finish(entry, self._executor.without_run(entry.attempt, Outcome.CANCELLED, reason))

    def resume(self) -> None:
        """Take attempts again after `pause`."""
        self._queue.resume()

    def finish(self) -> None:
        """Take nothing more, and run what waits."""
        self._queue.close()

    def drain(self) -> None:
        """Take nothing more, and drop what waits: other nodes run it."""
        self._queue.drain()

    def abandon(self) -> None:
        """Drain, and stop what runs without a result: its lease expires, and other nodes run it."""
        self._queue.abandon()

    def join(self, seconds: float | None = None) -> bool:
        """Wait for the threads to end.

        False if `seconds` pass first. Call `finish`, `drain` or `abandon` before.
        """
        end = None if seconds is None else time.monotonic() + seconds
        for thread in self._threads:
            thread.join(None if end is None else max(0.0, end - time.monotonic()))
        return not any(thread.is_alive() for thread in self._threads)
