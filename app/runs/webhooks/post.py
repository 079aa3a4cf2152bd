"""Sends one request to a webhook: to a checked address, within one deadline, and never further.

Redirects are not followed, proxies of the environment are not used, and nothing of an answer is kept but its
status.
"""

from __future__ import annotations

import ssl
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from email.utils import parsedate_to_datetime
from functools import partial
from types import TracebackType
from typing import Literal, Self

import httpcore2

from app.clock import now
from app.deadline import Deadline, DeadlineBackend
from app.runs.webhooks.address import PrivateAddressError, UnknownNameError, checked_addresses

# More of an answer is not read: the connection is closed instead.
ANSWER_BYTES = 16 * 1024
Problem = Literal[
    "status",
    "redirect",
    "gone",
    "private_address",
    "unknown_name",
    "certificate",
    "no_connection",
    "too_slow",
    "bad_answer",
]
# The receiver as a whole is away or overloaded: other events would fare no better.
AWAY: frozenset[Problem] = frozenset(
    {"redirect", "private_address", "unknown_name", "certificate", "no_connection", "too_slow", "bad_answer"}
)
OVERLOADED = frozenset({429, 502, 503, 504})


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """The end of one try. `problem` is None if the receiver took the event.

    `retry_after` are the seconds that the receiver wants us to wait.
    """

    status: int | None
    problem: Problem | None
    seconds: float
    retry_after: float | None = None

    @property
    def is_away(self) -> bool:
        """Whether the next event would fail as well."""
        return self.problem in AWAY or self.status in OVERLOADED


class Post:
    """Sends requests one after the other, over one connection where the receiver allows it."""

    def __init__(self, *, seconds: float, private: bool) -> None:
        self._seconds = seconds
        self._deadline = Deadline()
        backend = DeadlineBackend(self._deadline, partial(checked_addresses, private=private))
        self._pool = httpcore2.ConnectionPool(max_connections=1, retries=0, network_backend=backend)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        self._pool.close()

    def send(self, url: str, headers: Mapping[str, str], body: bytes) -> Outcome:
        """Send one event. It takes at most `seconds`, the resolution of the name not counted."""
        began = time.monotonic()
        self._deadline.start(self._seconds)
        status: int | None = None
        wait: float | None = None
        try:
            with self._pool.stream("POST", url, headers=[*headers.items()], content=body) as response:
                status = response.status
                wait = _retry_after(response.headers)
                # The status is the answer. A body that fails changes nothing.
                with suppress(httpcore2.NetworkError, httpcore2.TimeoutException, httpcore2.ProtocolError):
                    _drain(response)
            problem = _problem_of_status(status)
        except Exception as error:
            problem = _problem_of(error)
            if problem is None:
                raise
        return Outcome(
            status=status, problem=problem, seconds=round(time.monotonic() - began, 3), retry_after=wait
        )


def _drain(response: httpcore2.Response) -> None:
    """Read a short body, so that the connection can be used again."""
    size = 0
    for part in response.iter_stream():
        size += len(part)
        if size > ANSWER_BYTES:
            return


def _problem_of_status(status: int) -> Problem | None:
    if 200 <= status < 300:
        return None
    if 300 <= status < 400:
        return "redirect"
    return "gone" if status == 410 else "status"


def _problem_of(error: Exception) -> Problem | None:
    """The problem behind an error of the connection. None for an error of ours."""
    if isinstance(error, PrivateAddressError):
        return "private_address"
    if isinstance(error, UnknownNameError):
        return "unknown_name"
    if isinstance(error, httpcore2.TimeoutException):
        return "too_slow"
    if isinstance(error, httpcore2.NetworkError):
        causes = (error.__cause__, error.__context__)
        return "certificate" if any(isinstance(cause, ssl.SSLError) for cause in causes) else "no_connection"
    return "bad_answer" if isinstance(error, httpcore2.ProtocolError) else None


def _retry_after(headers: Iterable[tuple[bytes, bytes]]) -> float | None:
    """The seconds of `Retry-After`, as a number or as a date. None without one that can be read."""
    value = next((value for name, value in headers if name.lower() == b"retry-after"), b"").decode("latin-1")
    if value.isascii() and value.isdigit() and len(value) < 10:
        return float(value)
    try:
        moment: datetime = parsedate_to_datetime(value)
        return max(0.0, (moment - now()).total_seconds())
    except (TypeError, ValueError, OverflowError):
        return None
