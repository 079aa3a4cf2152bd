"""Runs an attempt that was granted its cards, and delivers Started and its Result."""

from __future__ import annotations

import time
from collections.abc import Callable

import structlog

from worker.attempt.execute import Executor
from worker.attempt.identity import Identity
from worker.cards.hold import CardHold
from worker.cards.watch import CardWatch
from worker.contract import (
    Attempt,
    AttemptKind,
    Outcome,
    Reason,
    Result,
    Started,
    WhoCanAct,
)
from worker.sandbox import Sandbox
from worker.slots.next_attempt import Entry, Grant
from worker.slots.work_queue import WorkQueue

_log = structlog.get_logger(__name__)

Deliver = Callable[[Started | Result], None]


class Runner:
    """Shared by the places of a process. `deliver` is called from their threads."""

    def __init__(
        self,
        executor: Executor,
        queue: WorkQueue,
        *,
        identity: Identity,
        cards: CardWatch,
        deliver: Deliver,
    ) -> None:
        self._executor = executor
        self._queue = queue
        self._identity = identity
        self._cards = cards
        self._deliver = deliver

    def run(self, grant: Grant, sandbox: Sandbox) -> bool:
        """Run the attempt and deliver its result. False if its processes could not be killed."""
        attempt = grant.entry.attempt
        with structlog.contextvars.bound_contextvars(
            attempt_id=attempt.attempt_id, run_id=attempt.run_id, request_id=attempt.request_id
        ):
            return self._run(grant, sandbox)

    def _run(self, grant: Grant, sandbox: Sandbox) -> bool:
        attempt = grant.entry.attempt
        self.send_started(attempt)
        began = time.monotonic()
        try:
            result = self._execute(grant, sandbox)
        except Exception:  # noqa: BLE001
            # The boundary of a task: the result says that the node failed, and the slot continues.
            _log.exception("attempt_failed")
            reason = Reason(
                code="node_fault",
                detail="The node failed; its log says why.",
                who_can_act=WhoCanAct.OPERATOR,
            )
            result = self._executor.without_run(attempt, Outcome.SETUP_FAILED, reason)
        _log.info(
            "attempt_ended",
            kind=attempt.kind,
            outcome=result.outcome,
            reason=result.reason.code if result.reason is not None else None,
            seconds=round(time.monotonic() - began, 3),
        )
        self.finish(grant.entry, result)
        return result.outcome is not Outcome.LOST

    def send_started(self, attempt: Attempt) -> None:
        """Deliver that an attempt runs, under its lease."""
        # A preview ends too soon for anyone to use that it has started.
        if attempt.kind is AttemptKind.PREVIEW:
            return
        self._deliver(
            Started(
                node=self._identity.node,
                instance=self._identity.instance,
                attempt_id=attempt.attempt_id,
                lease_no=attempt.lease_no,
            )
        )

    def finish(self, entry: Entry, result: Result) -> None:
        """End the attempt, and deliver its result under its newest lease, unless other nodes run it."""
        lease_no = self._queue.end(entry)
        if lease_no is not None:
            self._deliver(result.model_copy(update={"lease_no": lease_no}))
        entry.done.set()

    def clean(self, grant: Grant, sandbox: Sandbox) -> None:
        """Overwrite what the attempt left on its cards, before anybody else gets them."""
        hold = grant.hold
        if hold is None or not hold.taken.is_set():
            return
        try:
            self._cards.clean(hold.indexes, sandbox)
        except Exception:  # noqa: BLE001
            # The boundary of a task: the cards are out of use until it succeeds.
            _log.exception("card_not_overwritten")
            self._cards.hold_back(hold.indexes)

    def prepare(self, sandbox: Sandbox) -> None:
        """Prepare the next warm start, until the queue closes."""
        try:
            self._executor.prepare(sandbox, ending=lambda: self._queue.is_closing)
        except Exception:  # noqa: BLE001
            # The boundary of a task: the next attempts start cold.
            _log.exception("not_prepared")

    def _execute(self, grant: Grant, sandbox: Sandbox) -> Result:
        hold = grant.hold
        if hold is None:
            return self._executor.execute(
                grant.entry.attempt, sandbox, granted=[], cancelled=grant.entry.cancelled
            )
        missing = None if hold.is_gated else hold.read_before()
        if missing is not None:
            return self._executor.without_run(
                grant.entry.attempt, Outcome.SETUP_FAILED, _card_faulty(f"The GPU can't be used: {missing}.")
            )
        result = self._executor.execute(
            grant.entry.attempt,
            sandbox,
            granted=hold.gpus,
            cancelled=grant.entry.cancelled,
            witness=self._cards.witness(hold.indexes),
            hold=hold if self._queue.goes_through_gate(grant) else None,
        )
        return self._add_cards(grant.entry.attempt, result, hold)

    def _add_cards(self, attempt: Attempt, result: Result, hold: CardHold) -> Result:
        """Add the times with the cards and without, and the readings of the cards if the attempt used them.

        If a card failed meanwhile, the outcome is SETUP_FAILED.
        """
        times = {"card_seconds": round(hold.card_seconds, 4)}
        waited = hold.waited_seconds
        if waited is not None:
            times["card_waited_seconds"] = round(waited, 4)
        result = result.model_copy(update={"observation": result.observation.model_copy(update=times)})
        before = hold.before
        # A driver in which an attempt hangs is not asked.
        if not before or result.outcome is Outcome.LOST:
            return result
        after = self._cards.readings([reading.index for reading in before])
        fault = self._cards.condemn_faulty(before, after)
        if fault is not None:
            reason = _card_faulty(f"The GPU failed meanwhile: {fault}.")
            result = self._executor.without_run(attempt, Outcome.SETUP_FAILED, reason)
        elif hold.is_last:
            # The memory of others on a shared card is no leak of this attempt.
            self._cards.await_memory(before, after)
        observation = result.observation.model_copy(update={"cards": after})
        return result.model_copy(update={"observation": observation})


def _card_faulty(detail: str) -> Reason:
    return Reason(code="card_faulty", detail=detail, who_can_act=WhoCanAct.OPERATOR)
