"""One step of the App's work: an event that asks for something, or a thread with news.

A step holds its row for a while. If the process ends in between, the hold runs out and the step comes again:
each act looks for its own trace first, so that nothing is posted twice.
"""

from __future__ import annotations

from datetime import datetime, timedelta

import structlog
from sqlalchemy.orm import Session, sessionmaker

from app.clock import now
from app.errors import SetupError
from app.runs.github.follow import Thread, follow, stop, thread_of
from app.runs.github.hub import GithubHub, Hub, HubAwayError, HubRefusedError
from app.runs.github.start import Request, request_of, start
from app.settings import ServiceSettings
from app.storage.models.github_delivery import GithubOutcome
from app.storage.queries.doors import github as queries

log = structlog.get_logger(__name__)
# A step makes so many requests at most, and reads and plans a report.
REQUESTS = 8
HOLD_SECONDS = 120.0
LONGEST_WAIT = 3600.0


class GithubWork:
    """The work of one process. Its client keeps the short-lived tokens in memory."""

    def __init__(
        self, factory: sessionmaker[Session], settings: ServiceSettings, hub: Hub | None = None
    ) -> None:
        self._factory = factory
        self._settings = settings
        self._hub = hub or GithubHub(settings)

    def step(self) -> bool:
        """Do one thing that is due. False if nothing is."""
        moment = now()
        until = moment + timedelta(seconds=self._settings.github_seconds * REQUESTS + HOLD_SECONDS)
        with self._factory.begin() as session:
            delivery = queries.take_delivery(session, moment=moment, until=until)
            request, tries = (None, 0) if delivery is None else (request_of(delivery), delivery.tries)
        if request is not None:
            self._start(request, tries)
            return True
        with self._factory.begin() as session:
            row = queries.take_thread(session, moment=moment, until=until)
            thread, tries = (None, 0) if row is None else (thread_of(row), row.tries)
        if thread is not None:
            self._follow(thread, tries)
        return thread is not None

    def forget_old(self) -> None:
        """Delete events that ended long ago, some of them in each round."""
        before = now() - timedelta(days=self._settings.github_log_days)
        with self._factory.begin() as session:
            queries.delete_ended_deliveries(session, before=before)

    def _start(self, request: Request, tries: int) -> None:
        if self._is_over(tries):
            self._end(request, "given_up")
            return
        try:
            start(self._factory, self._hub, request, settings=self._settings)
        except HubRefusedError as error:
            log.info("github_refused", repository=request.place.repository, status=error.status)
            self._end(request, "refused")
        except (HubAwayError, SetupError) as error:
            moment = self._next(error, tries)
            with self._factory.begin() as session:
                row = queries.delivery(session, request.id)
                if row is not None:
                    row.next_at = moment

    def _end(self, request: Request, outcome: GithubOutcome) -> None:
        with self._factory.begin() as session:
            row = queries.delivery(session, request.id)
            if row is not None and row.state == "waiting":
                row.state, row.outcome, row.ended_at = "done", outcome, now()

    def _follow(self, thread: Thread, tries: int) -> None:
        if self._is_over(tries):
            stop(self._factory, thread.id)
            return
        try:
            follow(self._factory, self._hub, thread, settings=self._settings)
        except HubRefusedError as error:
            # Such as a comment that a maintainer has deleted. It is not written again.
            log.info("github_refused", repository=thread.place.repository, status=error.status)
            stop(self._factory, thread.id)
        except (HubAwayError, SetupError) as error:
            moment = self._next(error, tries)
            with self._factory.begin() as session:
                row = queries.thread(session, thread.id)
                if row is not None:
                    row.next_at = moment

    def _next(self, error: HubAwayError | SetupError, tries: int) -> datetime:
        """When to try again: as GitHub says, else later each time."""
        least = error.seconds if isinstance(error, HubAwayError) else None
        problem = error.problem if isinstance(error, HubAwayError) else error.message
        wait = self._wait(tries)
        log.warning("github_away", problem=problem, tries=tries)
        return now() + timedelta(seconds=wait if least is None else max(wait, least))

    def _wait(self, tries: int) -> float:
        """The seconds to wait after so many tries."""
        return min(self._settings.github_retry_seconds * 2.0 ** min(tries - 1, 30), LONGEST_WAIT)

    def _is_over(self, tries: int) -> bool:
        """Whether all waits before this try together are longer than an act may take."""
        return sum(map(self._wait, range(1, tries))) > self._settings.github_days * 86_400
