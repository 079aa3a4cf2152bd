"""The slots of one process: a long-lived thread and a sandbox each, fed from one queue, sharing the machine with other processes."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence

import structlog

from worker.attempt.execute import Executor, Identity
from worker.cards.watch import CardWatch
from worker.contract import (
    Attempt,
    AttemptKind,
    CardReading,
    Level,
    Outcome,
    Reason,
    Result,
    Started,
    WhoCanAct,
)
from worker.machine.locks import HostLock, prepare_folder, slot_lock
from worker.machine.settings import NodeSettings
from worker.sandbox import Sandbox, SandboxUnavailableError
from worker.slots.grants import Entry, Grant, Grants

# How soon a slot or card that another process gave back is noticed.
_LOOK_AGAIN_SECONDS = 0.05
# How soon an idle slot has ready what the next warm start needs, and notices that it died or grew old.
_IDLE_SECONDS = 5.0
_LOOK_SECONDS = 1.0
# While something that counts runs, what a preview needs is not started anew, for so long at most: it takes a second of a core.
_PATIENCE_SECONDS = 60.0
# The place for previews has a user of its own: that of no slot, and of no look at the machine.
PREVIEW_PLACES = 1
_PREVIEW_NUMBER = 96
_log = structlog.get_logger(__name__)

Deliver = Callable[[Started | Result], None]


class SlotPool:
    """`deliver` is called from the slots' threads, for each attempt first with Started and then with its Result.

    With `previews` there is a place beside the slots for them alone: whatever number of them comes in, they wait for each other only,
    and what counts neither waits for them nor they for it. Previews come without Started. What the next warm start needs is ready then
    before it: in that place from the start, in a slot once it has been idle for a while.
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
        self._identity = identity
        self._cards = cards
        self._grants = Grants(cards, settings.lock_folder, gives_back=gives_back)
        self._paused = False
        self._deliver = deliver
        self._takes_previews = previews
        self._previews = 0
        self._preview_place_is_known = not previews
        self._state = threading.Condition()
        self._queue: list[Entry] = []
        self._running: dict[str, Entry] = {}
        self._threads: list[threading.Thread] = []
        self._alive = 0
        self._closing = False
        self._abandoned = False
        self._sandboxes: list[Sandbox] = []
        self._problem: SandboxUnavailableError | None = None

    def start(self) -> None:
        """Raise SandboxUnavailableError when this machine gives no acceptable isolation, LockFolderError when it can't be locked."""
        prepare_folder(self._settings.lock_folder)
        self._alive = self._settings.slots
        for number in range(self._settings.slots):
            thread = threading.Thread(target=self._slot, args=(number,), name=f"slot-{number}", daemon=True)
            self._threads.append(thread)
        if self._takes_previews:
            self._threads.append(threading.Thread(target=self._preview_place, name="previews", daemon=True))
        for thread in self._threads:
            thread.start()
        with self._state:
            self._state.wait_for(
                lambda: self._problem is not None or (bool(self._sandboxes) and self._preview_place_is_known)
            )
            if self._problem is not None:
                raise self._problem

    @property
    def level(self) -> Level:
        return self._sandboxes[0].level

    @property
    def level_detail(self) -> str:
        return self._sandboxes[0].level_detail

    @property
    def slots(self) -> int:
        """Those that still work: one whose attempt could not be killed is held back."""
        with self._state:
            return self._alive

    @property
    def previews(self) -> int:
        """How many previews it takes at a time."""
        with self._state:
            return self._previews

    @property
    def free_slots(self) -> int:
        with self._state:
            if self._paused:
                return 0
            return max(
                0,
                self._alive - sum(not entry.is_preview for entry in [*self._running.values(), *self._queue]),
            )

    def running(self) -> list[str]:
        """Ids of the attempts that run or wait here."""
        with self._state:
            return [*self._running, *(entry.attempt.attempt_id for entry in self._queue)]

    def submit(self, attempt: Attempt) -> threading.Event | None:
        """An event that is set when its result was delivered; None when it is already here or the pool closes."""
        with self._state:
            known = attempt.attempt_id in self._running or any(
                entry.attempt.attempt_id == attempt.attempt_id for entry in self._queue
            )
            if self._closing or self._paused or known:
                return None
            entry = Entry(attempt)
            self._queue.append(entry)
            self._state.notify_all()
            return entry.done

    def cancel(self, attempt_id: str) -> bool:
        """Stop it; its result says so. False when it is not here."""
        with self._state:
            running = self._running.get(attempt_id)
            if running is not None:
                running.cancelled.set()
                return True
            waiting = next((entry for entry in self._queue if entry.attempt.attempt_id == attempt_id), None)
            if waiting is None:
                return False
            self._queue.remove(waiting)
        self._finish(
            waiting,
            self._executor.without_run(
                waiting.attempt, Outcome.CANCELLED, Reason(code="cancelled", detail="Stopped on request.")
            ),
        )
        return True

    def drain(self) -> None:
        """Take nothing more and forget what has not started: it goes to others."""
        with self._state:
            self._closing = True
            forgotten, self._queue = self._queue, []
            self._state.notify_all()
        for entry in forgotten:
            entry.done.set()

    def pause(self, *, at_once: bool) -> None:
        """Take nothing until `resume`; what has not started is forgotten, and `at_once` what runs is stopped without a word."""
        with self._state:
            self._paused = True
            forgotten, self._queue = self._queue, []
            if at_once:
                for entry in self._running.values():
                    entry.silent = True
                    entry.cancelled.set()
        for entry in forgotten:
            entry.done.set()

    def resume(self) -> None:
        """After `pause`."""
        with self._state:
            self._paused = False

    def finish(self) -> None:
        """Take nothing more, and end what was given."""
        with self._state:
            self._closing = True
            self._state.notify_all()

    def cancel_all(self) -> None:
        for attempt_id in self.running():
            self.cancel(attempt_id)

    def abandon(self) -> None:
        """Kill what runs without a word: its lease runs out and others run it."""
        with self._state:
            self._abandoned = True
            for entry in self._running.values():
                entry.cancelled.set()
        self.drain()

    def join(self, seconds: float | None = None) -> bool:
        """Whether all slots ended in time; call `finish`, `drain` or `abandon` first."""
        end = None if seconds is None else time.monotonic() + seconds
        for thread in self._threads:
            thread.join(None if end is None else max(0.0, end - time.monotonic()))
        return not any(thread.is_alive() for thread in self._threads)

    def _slot(self, number: int) -> None:
        try:
            sandbox = Sandbox(slot=number, home=self._settings.home, level=self._settings.level)
        except (SandboxUnavailableError, OSError) as error:
            with self._state:
                self._problem = (
                    error
                    if isinstance(error, SandboxUnavailableError)
                    else SandboxUnavailableError(str(error))
                )
                self._state.notify_all()
            return
        with self._state:
            self._sandboxes.append(sandbox)
            self._state.notify_all()
        self._serve(number, sandbox, lambda entry: not (entry.is_preview and self._previews), patience=None)

    def _preview_place(self) -> None:
        sandbox = self._preview_sandbox()
        with self._state:
            self._previews = 0 if sandbox is None else PREVIEW_PLACES
            self._preview_place_is_known = True
            self._state.notify_all()
        if sandbox is not None:
            self._serve(_PREVIEW_NUMBER, sandbox, lambda entry: entry.is_preview, patience=_PATIENCE_SECONDS)
            with self._state:
                self._previews = 0

    def _preview_sandbox(self) -> Sandbox | None:
        """None where there are no warm starts, as at the weaker levels."""
        try:
            sandbox = Sandbox(slot=_PREVIEW_NUMBER, home=self._settings.home, level=self._settings.level)
        except (SandboxUnavailableError, OSError) as error:
            _log.warning("no_previews", detail=str(error))
            return None
        return sandbox if sandbox.level.satisfies(Level.NAMESPACES) else None

    def _serve(
        self, number: int, sandbox: Sandbox, takes: Callable[[Entry], bool], *, patience: float | None
    ) -> None:
        """Run what it takes until the pool ends.

        In between it prepares: as soon as nothing that counts runs, or its `patience` is at an end; without any, once it was idle.
        """
        lock = slot_lock(self._settings.lock_folder, number)
        pause = _IDLE_SECONDS if patience is None else 0.0
        prepare_at = time.monotonic() + pause
        while True:
            if patience is None:
                self._check_cards(sandbox, lock)
            if self._is_to_prepare(prepare_at, patience):
                prepared = self._prepare(sandbox, lock)
                prepare_at = time.monotonic() + (_IDLE_SECONDS if prepared else _LOOK_SECONDS)
            if not self._await_work(takes):
                continue
            grant = self._next(lock, takes)
            if grant is None:
                if self._is_over(takes):
                    return
                continue
            usable = self._run(grant, sandbox)
            if not usable and not self._is_back(number, sandbox):
                return
            for held in [*grant.locks, lock]:
                held.release()
            prepare_at = time.monotonic() + pause

    def _is_back(self, number: int, sandbox: Sandbox) -> bool:
        """Wait for what could not be killed, with the locks held: neither user id nor cards are free. False when the pool closes before."""
        _log.error("slot_held_back", slot=number)
        with self._state:
            self._count(number, -1)
            while sandbox.is_held():
                if self._closing:
                    return False
                self._state.wait(_LOOK_AGAIN_SECONDS)
            self._count(number, +1)
        _log.info("slot_back", slot=number)
        return True

    def _count(self, number: int, change: int) -> None:
        if number == _PREVIEW_NUMBER:
            self._previews += change
        else:
            self._alive += change

    def _is_to_prepare(self, prepare_at: float, patience: float | None) -> bool:
        late = time.monotonic() - prepare_at
        if not self._takes_previews or late < 0:
            return False
        with self._state:
            busy = any(not entry.is_preview for entry in [*self._running.values(), *self._queue])
        return not busy or (patience is not None and late >= patience)

    def _await_work(self, takes: Callable[[Entry], bool]) -> bool:
        """False where there is none yet, and it may be time to prepare or to check a card."""
        with self._state:
            prepares = self._takes_previews or self._cards.cards()
            while not self._closing and not any(takes(entry) for entry in self._queue):
                self._state.wait(_LOOK_SECONDS if prepares else None)
                if prepares:
                    return False
        return True

    def _is_over(self, takes: Callable[[Entry], bool]) -> bool:
        with self._state:
            return self._closing and not any(takes(entry) for entry in self._queue)

    def _prepare(self, sandbox: Sandbox, lock: HostLock) -> bool:
        """Under the slot's lock, since it runs something as the slot's user; False where another process holds it."""
        with self._state:
            if self._closing:
                return True
            if not lock.acquire():
                return False
        try:
            self._executor.prepare(sandbox, ending=lambda: self._closing)
        except Exception:  # noqa: BLE001
            # The boundary of a task: attempts start cold then.
            _log.exception("not_prepared")
        finally:
            lock.release()
        return True

    def _check_cards(self, sandbox: Sandbox, lock: HostLock) -> None:
        try:
            self._grants.check_cards(sandbox, lock)
        except Exception:  # noqa: BLE001
            # The boundary of a task: the card stays as it was, and is tried again.
            _log.exception("card_not_checked")

    def _next(self, lock: HostLock, takes: Callable[[Entry], bool]) -> Grant | None:
        """The first attempt whose slot and cards can be had, with both locked; None where that is none yet: a card may be due meanwhile."""
        with self._state:
            if lock.acquire():
                grant = self._grants.take(self._queue, takes)
                if grant is not None:
                    self._running[grant.entry.attempt.attempt_id] = grant.entry
                    return grant
                lock.release()
            if any(takes(entry) for entry in self._queue):
                self._state.wait(_LOOK_AGAIN_SECONDS)
        return None

    def _run(self, grant: Grant, sandbox: Sandbox) -> bool:
        """Whether the slot can be used again."""
        attempt = grant.entry.attempt
        identity = self._identity
        if attempt.kind is not AttemptKind.PREVIEW:
            # A preview is over before anyone could do something with that.
            self._deliver(
                Started(
                    node=identity.node,
                    instance=identity.instance,
                    attempt_id=attempt.attempt_id,
                    lease_no=attempt.lease_no,
                )
            )
        try:
            indexes = [gpu.index for gpu in grant.gpus]
            before = self._cards.readings(indexes)
            witness = self._cards.witness(indexes) if indexes else None
            result = self._executor.execute(
                attempt, sandbox, granted=grant.gpus, cancelled=grant.entry.cancelled, witness=witness
            )
            result = self._vouched(attempt, result, before)
        except Exception:  # noqa: BLE001
            # The boundary of a task: a fault of ours is said as such, and the slot goes on.
            _log.exception("attempt_failed", attempt_id=attempt.attempt_id)
            reason = Reason(
                code="node_fault", detail="The node failed; its log says why.", who_can_act=WhoCanAct.OPERATOR
            )
            result = self._executor.without_run(attempt, Outcome.SETUP_FAILED, reason)
        self._finish(grant.entry, result)
        return result.outcome is not Outcome.LOST

    def _vouched(self, attempt: Attempt, result: Result, before: Sequence[CardReading]) -> Result:
        """With what the driver told of the cards; no result where a card failed meanwhile."""
        if not before:
            return result
        after = self._cards.readings([reading.index for reading in before])
        fault = self._cards.condemned(before, after)
        if fault is not None and result.outcome is not Outcome.LOST:
            reason = Reason(
                code="card_faulty",
                detail=f"The GPU failed meanwhile: {fault}.",
                who_can_act=WhoCanAct.OPERATOR,
            )
            result = self._executor.without_run(attempt, Outcome.SETUP_FAILED, reason)
        return result.model_copy(
            update={"observation": result.observation.model_copy(update={"cards": after})}
        )

    def _finish(self, entry: Entry, result: Result) -> None:
        with self._state:
            silent = self._abandoned or entry.silent
        if not silent:
            self._deliver(result)
        with self._state:
            self._running.pop(entry.attempt.attempt_id, None)
        entry.done.set()
