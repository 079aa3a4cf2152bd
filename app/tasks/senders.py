"""Threads that send webhooks, beside those that record: a slow receiver holds up nothing else."""

from __future__ import annotations

import threading

import structlog
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.orm import Session, sessionmaker

from app.errors import UnavailableError
from app.settings import ServiceSettings

log = structlog.get_logger(__name__)


class Senders:
    """The senders of this process. They start with the first round, and end with the process."""

    def __init__(self, factory: sessionmaker[Session], settings: ServiceSettings) -> None:
        self._factory = factory
        self._settings = settings
        self._work = threading.Event()
        self._threads: list[threading.Thread] = []
        self._lock = threading.Lock()

    def wake(self) -> None:
        """Begin a round. It returns at once."""
        with self._lock:
            if not self._threads:
                self._threads = [
                    threading.Thread(target=self._run, name=f"webhooks-{number}", daemon=True)
                    for number in range(self._settings.webhook_senders)
                ]
                for thread in self._threads:
                    thread.start()
        self._work.set()

    def _run(self) -> None:
        # Imported here: most services have no webhook, and the client and the signatures take memory.
        from app.runs.webhooks.deliver import deliver_due, forget_old

        while True:
            self._work.wait()
            self._work.clear()
            try:
                while deliver_due(self._factory, settings=self._settings):
                    # There may be work for another sender.
                    self._work.set()
                forget_old(self._factory, settings=self._settings)
            except (SQLAlchemyError, UnavailableError) as error:
                log.warning("round_failed", task="webhooks", problem=type(error).__name__)
            except Exception:  # the boundary of the thread: the next round tries again
                log.exception("round_failed", task="webhooks")
