"""Threads that speak to others, beside those that record: a slow receiver holds up nothing else."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Protocol

import structlog
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.orm import Session, sessionmaker

from app.errors import UnavailableError
from app.settings import ServiceSettings

log = structlog.get_logger(__name__)


class Work(Protocol):
    """The work of a sender in a round."""

    def step(self) -> object:
        """Do one thing that is due. False or 0 if nothing is."""
        ...

    def forget_old(self) -> None:
        """Delete things that ended long ago."""
        ...


class Senders:
    """Senders of one kind. They start with their first round, and end with the process.

    `work` makes the work of one thread. It is called in that thread: clients and signatures take memory, and
    most services need none.
    """

    def __init__(self, name: str, *, threads: int, work: Callable[[], Work]) -> None:
        self._name = name
        self._count = threads
        self._make = work
        self._due = threading.Event()
        self._threads: list[threading.Thread] = []
        self._lock = threading.Lock()

    def wake(self) -> None:
        """Begin a round. It returns at once."""
        with self._lock:
            if not self._threads:
                self._threads = [
                    threading.Thread(target=self._run, name=f"{self._name}-{number}", daemon=True)
                    for number in range(self._count)
                ]
                for thread in self._threads:
                    thread.start()
        self._due.set()

    def _run(self) -> None:
        work: Work | None = None
        while True:
            self._due.wait()
            self._due.clear()
            try:
                work = work or self._make()
                while work.step():
                    # There may be work for another sender.
                    self._due.set()
                work.forget_old()
            except (SQLAlchemyError, UnavailableError) as error:
                log.warning("round_failed", task=self._name, problem=type(error).__name__)
            except Exception:  # the boundary of the thread: the next round tries again
                log.exception("round_failed", task=self._name)


def webhook_senders(factory: sessionmaker[Session], settings: ServiceSettings) -> Senders:
    """The senders of webhooks."""

    def work() -> Work:
        from app.runs.webhooks.deliver import Deliveries

        return Deliveries(factory, settings)

    return Senders("webhooks", threads=settings.webhook_senders, work=work)


def github_senders(factory: sessionmaker[Session], settings: ServiceSettings) -> Senders:
    """The sender to GitHub, which asks that requests come one after the other."""

    def work() -> Work:
        from app.runs.github.work import GithubWork

        return GithubWork(factory, settings)

    return Senders("github", threads=1, work=work)
