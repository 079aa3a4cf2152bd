"""Requests without a connection: when they are sent again, and what their answers mean.

Both clients drive these generators. Each step asks for one thing: send a request, or wait.
"""

from __future__ import annotations

import json
import re
from collections.abc import Generator, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from samehere_client.errors import CertificateError, MovedError, UnreachableError, error_of

PREFIX = "/api/v1"
# How often a request is sent, at most.
TRIES = 6
LONGEST_WAIT_SECONDS = 30.0
ANSWER_BYTES = 64 * 1024 * 1024
SECONDS = 30.0
# A stream says something at least this often. A silent one is opened again.
STREAM_SECONDS = 60.0
# The service is asked to hold its answer back for so long at a time.
WAIT_SECONDS = 30
_AGAIN = frozenset({429, 502, 503, 504})
_SAFE = frozenset({"GET", "HEAD"})


@dataclass(frozen=True, slots=True)
class Request:
    """A request. One without a key is sent again only if it changes nothing."""

    method: str
    path: str
    body: Mapping[str, Any] | bytes | None = None
    query: Mapping[str, Any] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    is_repeatable: bool = False

    @property
    def may_repeat(self) -> bool:
        """Whether it may be sent again if its answer is lost."""
        return self.is_repeatable or self.method in _SAFE or "Idempotency-Key" in self.headers

    @property
    def content(self) -> bytes | None:
        """The body as it is sent."""
        return (
            self.body if self.body is None or isinstance(self.body, bytes) else json.dumps(self.body).encode()
        )


@dataclass(frozen=True, slots=True)
class Response:
    """An answer, read whole."""

    status: int
    headers: Mapping[str, str]
    content: bytes

    def json(self) -> Any:
        """The body as data. Raises UnreachableError if it is no JSON, since then another program answers."""
        try:
            return json.loads(self.content)
        except (ValueError, RecursionError) as error:
            raise UnreachableError(
                "The server's answer is no JSON: is this the address of a samehere service?"
            ) from error


@dataclass(frozen=True, slots=True)
class Send:
    """Send this request. The answer to this step is a Response, or an UnreachableError."""

    request: Request


@dataclass(frozen=True, slots=True)
class Wait:
    """Wait for so many seconds. The answer to this step is None."""

    seconds: float


Step = Send | Wait
Exchange = Generator[Step, "Response | UnreachableError | None", Response]


def exchange(request: Request, *, tries: int = TRIES) -> Exchange:
    """Send a request until the service answers. Raises ApiError, UnreachableError."""
    for number in range(tries if request.may_repeat else 1):
        answer = yield Send(request)
        is_last = number + 1 == tries or not request.may_repeat
        seconds = 2.0**number / 2
        if isinstance(answer, Response):
            if is_last or answer.status not in _AGAIN:
                return require_success(answer)
            seconds = retry_after(answer) or seconds
        elif isinstance(answer, UnreachableError) and (is_last or isinstance(answer, CertificateError)):
            raise answer
        yield Wait(min(seconds, LONGEST_WAIT_SECONDS))
    raise AssertionError("unreachable")


def require_success(answer: Response) -> Response:
    """The answer. Raises ApiError if the service refused, MovedError for a redirect."""
    if 200 <= answer.status < 300 or answer.status == 304:
        return answer
    if 300 <= answer.status < 400:
        raise MovedError("The server answers from another address; give that one.")
    raise error_of(answer.status, answer.content, retry_after=retry_after(answer))


def retry_after(answer: Response) -> float | None:
    """The seconds of `Retry-After`; None without them."""
    value = answer.headers.get("retry-after", "")
    return float(value) if re.fullmatch(r"[0-9]{1,5}", value) else None


def check_address(url: str, token: str | None) -> str:
    """The address of a service without a slash at its end. Raises ValueError."""
    parts = urlsplit(url)
    if parts.port is not None and not 0 < parts.port < 65536:
        raise ValueError("This server's port is no number from 1 to 65535.")
    if parts.scheme not in {"http", "https"} or not parts.hostname or parts.query or parts.fragment:
        raise ValueError("A server is an address such as http://127.0.0.1:8000.")
    if parts.username is not None or parts.password is not None:
        raise ValueError("A server's address has no name and no password; give a token.")
    if token is not None and not re.fullmatch(r"[!-~]+", token):
        raise ValueError("This token has characters that no token has.")
    return url.rstrip("/")


class EventLines:
    """Reads server-sent events from lines."""

    def __init__(self) -> None:
        self._place = self._kind = self._data = ""

    def read(self, line: str) -> Iterator[tuple[str, str, str]]:
        """The event that ends with this line, if one does: its place, kind and data."""
        name, _, value = line.rstrip("\r\n").partition(":")
        value = value.removeprefix(" ")
        if name == "id" and "\0" not in value:
            self._place = value
        elif name == "event":
            self._kind = value
        elif name == "data":
            self._data = value
        elif not line.strip() and self._kind:
            yield self._place, self._kind, self._data
            self._kind = self._data = ""
