"""The places where attempts run: a slot, and the place for previews. Each has a thread and a sandbox."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar

import structlog

from worker.contract import Level
from worker.machine.locks import HostLock, slot_lock
from worker.machine.settings import NodeSettings
from worker.sandbox import Sandbox, SandboxUnavailableError
from worker.slots.next_attempt import Entry, Grant, Grants
from worker.slots.runner import Runner
from worker.slots.work_queue import LOOK_AGAIN_SECONDS, WorkQueue

# The time after which a place that is ready looks whether its paused interpreter died or is too old.
_IDLE_SECONDS = 5.0
# The time after which a place that has no work looks whether there is something to prepare or to check.
_LOOK_SECONDS = 1.0
# The place for previews prepares beside counted attempts only after this time: it takes a second of a core.
_PATIENCE_SECONDS = 60.0
# A slot that another process uses for so long is reported. Nodes that share a machine use it in turns.
_REPORT_SECONDS = 2.0
# The number decides the user of the sandbox. No slot has one of these, and neither has the self-test of the
# machine.
_PREVIEW_NUMBERS = (96, 98, 99)
_log = structlog.get_logger(__name__)


class Place(ABC):
    """Runs the attempts that it takes, one at a time, until the queue closes.

    `queue.changed` guards `is_set_up` and `in_service`. `prepares`: between attempts it prepares the next
    warm start. `has_cards`: this machine has cards that are to be checked.
    """

    # The time without work before it prepares, in seconds.
    idle_seconds: ClassVar[float]

    def __init__(
        self,
        number: int,
        *,
        settings: NodeSettings,
        queue: WorkQueue,
        runner: Runner,
        prepares: bool,
        has_cards: bool,
    ) -> None:
        self._number = number
        self._settings = settings
        self._queue = queue
        self._runner = runner
        self._prepares = prepares
        self._look_seconds = _LOOK_SECONDS if prepares or has_cards else None
        # True once the sandbox exists, or can't exist.
        self.is_set_up = False
        # False while the place takes nothing: its last attempt could not be killed.
        self.in_service = False
        # The node that uses this place while an attempt waits for it; empty if none does. `queue.changed`
        # guards it.
        self.used_by = ""
        self._used_since: float | None = None

    @abstractmethod
    def run(self) -> None:
        """The body of the place's thread."""

    @abstractmethod
    def takes(self, entry: Entry) -> bool:
        """True if this place runs such an attempt. Called with `queue.changed` held."""

    @abstractmethod
    def _is_time_to_prepare(self, seconds_late: float) -> bool:
        """True if the place may prepare now. `seconds_late` is the time since the preparation was due."""

    @abstractmethod
    def _check_cards(self, sandbox: Sandbox, lock: HostLock) -> None:
        """Check the cards that are due, if this kind of place does so."""

    @abstractmethod
    def _check_held(self, grant: Grant, sandbox: Sandbox) -> None:
        """Check the cards of an attempt that has ended, if this kind of place does so."""

    def _make_sandbox(self) -> Sandbox:
        """The sandbox of this place. Raises SandboxUnavailableError if the isolation is too weak."""
        try:
            return Sandbox(
                slot=self._number,
                home=self._settings.home,
                level=self._settings.level,
                first_uid=self._settings.first_uid,
            )
        except OSError as error:
            raise SandboxUnavailableError(str(error)) from error

    def _serve(self, sandbox: Sandbox) -> None:
        """Run attempts until the queue closes, and prepare or check cards between them."""
        lock = slot_lock(self._settings.lock_folder, self._number, owner=self._settings.node_name)
        prepare_at = time.monotonic() + self.idle_seconds
        while True:
            self._check_cards(sandbox, lock)
            seconds_late = time.monotonic() - prepare_at
            if self._prepares and seconds_late >= 0 and self._is_time_to_prepare(seconds_late):
                is_ready = self._prepare(sandbox, lock)
                prepare_at = time.monotonic() + (_IDLE_SECONDS if is_ready else _LOOK_SECONDS)
            if not self._queue.await_work(self.takes, look_seconds=self._look_seconds):
                continue
            grant = self._queue.take(lock, self.takes)
            self._note_use(lock.holder)
            if grant is None:
                if self._queue.is_over(self.takes):
                    return
                continue
            is_free = self._runner.run(grant, sandbox)
            if not is_free and not self._wait_until_reclaimed(grant, sandbox):
                return
            self._runner.clean(grant, sandbox)
            self._check_held(grant, sandbox)
            if sandbox.is_blocked() and not self._wait_until_reclaimed(grant, sandbox):
                return
            self._queue.release(grant)
            lock.release()
            prepare_at = time.monotonic() + self.idle_seconds

    def _note_use(self, holder: str) -> None:
        """Note that another process has used this place for a while, or that it does no more. Log it once."""
        now = time.monotonic()
        self._used_since = (self._used_since or now) if holder else None
        is_long = self._used_since is not None and now - self._used_since >= _REPORT_SECONDS
        user = holder if is_long else ""
        # Another holder in between is no news.
        if bool(user) == bool(self.used_by):
            return
        with self._queue.changed:
            self.used_by = user
        if user:
            _log.warning("slot_used_by_another_node", slot=self._number, by=user)
        else:
            _log.info("slot_free_again", slot=self._number)

    def _prepare(self, sandbox: Sandbox, lock: HostLock) -> bool:
        """Prepare the next warm start. False if another process holds the lock of this place.

        The lock is needed since this runs something as the user of the place.
        """
        with self._queue.changed:
            if self._queue.is_closing:
                return True
            if not lock.acquire():
                return False
        try:
            self._runner.prepare(sandbox)
        finally:
            lock.release()
        return True

    def _wait_until_reclaimed(self, grant: Grant | None, sandbox: Sandbox) -> bool:
        """Wait for processes that could not be killed to exit. False if the queue closes first.

        The place keeps its locks meanwhile, since its user id and its cards are in use. No other attempt
        waits for these cards. Without a grant it was the check of a card.
        """
        _log.error("slot_held_back", slot=self._number)
        if grant is not None:
            self._queue.hold_back(grant)
        with self._queue.changed:
            self.in_service = False
            while sandbox.is_blocked():
                if self._queue.is_closing:
                    return False
                self._queue.changed.wait(LOOK_AGAIN_SECONDS)
            self.in_service = True
        _log.info("slot_back", slot=self._number)
        return True


class PreviewPlace(Place):
    """Runs previews only, so that they and the counted attempts do not wait for each other.

    It prepares the next warm start as soon as no counted attempt runs or waits. It has no sandbox on a
    machine whose isolation is too weak for warm starts.
    """

    idle_seconds = 0.0

    def __init__(
        self, place: int, *, settings: NodeSettings, queue: WorkQueue, runner: Runner, has_cards: bool
    ) -> None:
        super().__init__(
            _PREVIEW_NUMBERS[place],
            settings=settings,
            queue=queue,
            runner=runner,
            prepares=True,
            has_cards=has_cards,
        )

    def run(self) -> None:
        sandbox = self._make_warm_sandbox()
        with self._queue.changed:
            self.in_service = sandbox is not None
            self.is_set_up = True
            self._queue.changed.notify_all()
        if sandbox is not None:
            self._serve(sandbox)
            with self._queue.changed:
                self.in_service = False

    def takes(self, entry: Entry) -> bool:
        return entry.is_preview

    def _is_time_to_prepare(self, seconds_late: float) -> bool:
        return seconds_late >= _PATIENCE_SECONDS or self._queue.count_repeats() == 0

    def _check_cards(self, sandbox: Sandbox, lock: HostLock) -> None:
        """Leave the cards to the slots."""

    def _check_held(self, grant: Grant, sandbox: Sandbox) -> None:
        """Leave the cards to the slots."""

    def _make_warm_sandbox(self) -> Sandbox | None:
        try:
            sandbox = self._make_sandbox()
        except SandboxUnavailableError as error:
            _log.warning("no_previews", detail=str(error))
            return None
        return sandbox if sandbox.level.satisfies(Level.NAMESPACES) else None


class Slot(Place):
    """Runs all attempts, but previews only while no place for previews is in service.

    Between attempts it checks cards, and prepares the next warm start once it has been idle for a while.
    """

    idle_seconds = _IDLE_SECONDS

    def __init__(
        self,
        number: int,
        *,
        settings: NodeSettings,
        queue: WorkQueue,
        runner: Runner,
        grants: Grants,
        preview_places: Sequence[PreviewPlace],
        has_cards: bool,
    ) -> None:
        super().__init__(
            number,
            settings=settings,
            queue=queue,
            runner=runner,
            prepares=bool(preview_places),
            has_cards=has_cards,
        )
        self._grants = grants
        self._preview_places = preview_places
        # A slot counts as one from the start, before its sandbox exists.
        self.in_service = True
        self.sandbox: Sandbox | None = None
        self.problem: SandboxUnavailableError | None = None

    def run(self) -> None:
        try:
            sandbox = self._make_sandbox()
            self._grants.test_gate(sandbox)
        except SandboxUnavailableError as error:
            with self._queue.changed:
                self.problem = error
                self._queue.changed.notify_all()
            return
        with self._queue.changed:
            self.sandbox = sandbox
            self.is_set_up = True
            self._queue.changed.notify_all()
        self._serve(sandbox)

    def takes(self, entry: Entry) -> bool:
        previews_go_elsewhere = any(place.in_service for place in self._preview_places)
        return not (entry.is_preview and previews_go_elsewhere)

    def _is_time_to_prepare(self, seconds_late: float) -> bool:  # noqa: ARG002
        return self._queue.count_repeats() == 0

    def _check_cards(self, sandbox: Sandbox, lock: HostLock) -> None:
        try:
            self._grants.check_cards(sandbox, lock, reclaim=lambda: self._wait_until_reclaimed(None, sandbox))
        except Exception:  # noqa: BLE001
            # The boundary of a task: the card keeps its state, and the check is tried again.
            _log.exception("card_not_checked")

    def _check_held(self, grant: Grant, sandbox: Sandbox) -> None:
        try:
            self._grants.check_held(grant, sandbox)
        except Exception:  # noqa: BLE001
            # As above.
            _log.exception("card_not_checked")
