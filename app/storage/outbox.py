"""Collects messages that are sent after the commit.

They are dropped on a rollback; a failure to send is only logged.
"""

from __future__ import annotations

from datetime import datetime
from typing import cast

import structlog
from sqlalchemy.orm import Session

from app.errors import UnavailableError
from app.storage.broker import Broker
from worker.contract import Attempt

log = structlog.get_logger(__name__)


class Outbox:
    """The messages of one transaction.

    Attempts are sent first, then cancel flags, then one wake-up and announcements together.
    """

    def __init__(self) -> None:
        self.attempts: list[tuple[str, Attempt, datetime]] = []
        self.flags: dict[str, set[str]] = {}
        self.unflags: dict[str, set[str]] = {}
        self.pokes: dict[str, int] = {}
        self.wake = False

    def send_attempt(self, node: str, attempt: Attempt, *, expires: datetime) -> None:
        """Send a leased attempt to its node."""
        self.attempts.append((node, attempt, expires))

    def flag_cancelled(self, node: str, attempt_id: str) -> None:
        """Ask a node to stop an attempt."""
        self.flags.setdefault(node, set()).add(attempt_id)

    def unflag_cancelled(self, node: str, attempt_id: str) -> None:
        """Remove the cancel flag of an attempt that has ended."""
        self.unflags.setdefault(node, set()).add(attempt_id)

    def poke(self, run_id: str, number: int) -> None:
        """Announce the events of a run up to a number."""
        self.pokes[run_id] = max(number, self.pokes.get(run_id, 0))

    def wake_dispatcher(self) -> None:
        """Ask for a round of dispatch."""
        self.wake = True

    def deliver(self, broker: Broker) -> None:
        """Send everything.

        If the broker is down the rest is dropped: leases run out, and a later round repairs it.
        """
        try:
            for node, attempt, expires in self.attempts:
                broker.send_attempt(node, attempt, expires=expires)
            for node, ids in self.flags.items():
                broker.flag_cancelled(node, ids)
            for node, ids in self.unflags.items():
                broker.unflag_cancelled(node, ids)
            if self.wake or self.pokes:
                broker.announce(self.pokes, wakes_dispatcher=self.wake)
        except UnavailableError:
            log.warning("outbox_dropped", attempts=len(self.attempts), wake=self.wake)


KEY = "outbox"


def outbox(session: Session) -> Outbox:
    """The outbox of the session's transaction."""
    return cast("Outbox", session.info.setdefault(KEY, Outbox()))


def take(session: Session) -> Outbox | None:
    """Remove and return the outbox of the session, None if it has none."""
    return cast("Outbox | None", session.info.pop(KEY, None))
