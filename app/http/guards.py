"""Checks of every request (host, origin, size, media type), and the headers of every answer."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Callable, Mapping, Sequence
from urllib.parse import urlsplit

from fastapi import Request
from fastapi.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.bounded.callers import Caller, current_caller
from app.errors import ForbiddenError, InputError, MediaTypeError, SamehereError, SlowBodyError, TooLargeError

SAFE = {"GET", "HEAD", "OPTIONS"}
# These answer under any host name: they show nothing of reports, and a browser can't change anything by them.
PROBES = frozenset({"/healthz", "/readyz", "/metrics"})
LOOPBACK = ("127.0.0.1", "localhost", "::1")
# HEAD is answered like GET, without the body. This key in the ASGI scope of HEAD tells a route not to stream.
HEAD = "samehere.head"
HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
        "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    # With "no-referrer", browsers would send `Origin: null` with our own forms.
    "Referrer-Policy": "same-origin",
    "X-Frame-Options": "DENY",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
_EXTRA = [(name.lower().encode(), value.encode()) for name, value in HEADERS.items()]


# A name or an IPv4 address, or an IPv6 address in brackets; then a port. Nothing else: no user, no path.
_HOST = re.compile(r"(?:([A-Za-z0-9._-]{1,253})|\[([0-9A-Fa-f:.]{2,45})\])(?::[0-9]{1,5})?")


def _host_name(value: str) -> str:
    """The name in a Host header without its port. Empty if it can't be read."""
    match = _HOST.fullmatch(value)
    return "" if match is None else (match[1] or match[2]).lower()


def _netloc(origin: str) -> str:
    """The host and the port of a web origin. Empty if it can't be read, which no Host header equals.

    https counts like http: a proxy may have taken the encryption off.
    """
    try:
        parts = urlsplit(origin)
    except ValueError:
        return ""
    return parts.netloc.lower() if parts.scheme in {"http", "https"} else ""


def comes_from_our_page(request: Request) -> bool:
    """Whether a browser proves that a page of ours sent this request. A cookie counts only with that."""
    headers = request.headers
    host = headers.get("host", "").lower()
    source = headers.get("origin") or headers.get("referer")
    if source is None:
        return headers.get("sec-fetch-site") == "same-origin"
    return host != "" and _netloc(source) == host


class Guards:
    """ASGI middleware that refuses bad requests before the application sees them.

    It also answers errors that nothing else has answered. `refuse` makes the answer to an error: a problem
    document or a page. `larger` has the size limits of single paths.
    """

    def __init__(
        self,
        application: ASGIApp,
        *,
        hosts: Sequence[str],
        most_bytes: int,
        larger: Mapping[str, int],
        body_seconds: float,
        refuse: Callable[[Request, Exception], Response],
    ) -> None:
        self.application = application
        self.hosts = {host.lower() for host in (*LOOPBACK, *hosts)}
        self.most_bytes = most_bytes
        self.larger = larger
        self.body_seconds = body_seconds
        self.refuse = refuse

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.application(scope, receive, send)
            return
        request = Request(scope)
        body = _Body(receive, most_bytes=self._most(request), seconds=self.body_seconds)
        answer = _Answer(send, body, head=scope["method"] == "HEAD")
        inner = {**scope, "method": "GET", HEAD: True} if answer.head else scope
        failure: Exception | None = None
        current_caller.set(Caller(request.client.host if request.client else ""))
        try:
            self._check(request)
            await self.application(inner, body.receive, answer.send)
        except Exception as error:
            if answer.started:
                raise
            failure = error
        failure, body.error = body.error or failure, None
        if failure is not None and not answer.started:
            await self.refuse(request, failure)(inner, receive, answer.send)

    def _asks_for_host(self, request: Request) -> bool:
        return "*" not in self.hosts and not (
            request.method in {"GET", "HEAD"} and request.scope["path"] in PROBES
        )

    def _most(self, request: Request) -> int:
        return self.larger.get(request.scope["path"], self.most_bytes)

    def _check(self, request: Request) -> None:
        headers = request.headers
        # Probes and Prometheus name the service by an address or a name of their own.
        if self._asks_for_host(request) and _host_name(headers.get("host", "")) not in self.hosts:
            raise ForbiddenError(
                "This host name is unknown. If it is right, add it to SAMEHERE_HOSTS.", code="unknown_host"
            )
        length = headers.get("content-length", "0")
        if not (length.isascii() and length.isdigit()):
            raise InputError("Content-Length is a number.", code="bad_length")
        if int(length[:20]) > self._most(request):
            raise _too_large(self._most(request))
        if request.method in SAFE:
            return
        origin = headers.get("origin")
        if origin is not None and _netloc(origin) != headers.get("host", "").lower():
            raise ForbiddenError("This request comes from another site's page.", code="foreign_origin")
        # Some browsers send no Origin with a form.
        site, referer = headers.get("sec-fetch-site", "none"), headers.get("referer", "")
        elsewhere = site not in {"same-origin", "none"} or (
            referer and _netloc(referer) != headers.get("host", "").lower()
        )
        if origin is None and elsewhere:
            raise ForbiddenError("This request comes from another site's page.", code="foreign_origin")
        has_body = length != "0" or "transfer-encoding" in headers
        is_api = request.scope["path"].startswith("/api/")
        if has_body and is_api and not is_json(headers.get("content-type", "")):
            raise MediaTypeError("Send JSON with Content-Type: application/json.")


def _too_large(most_bytes: int) -> TooLargeError:
    return TooLargeError(f"The request is larger than {most_bytes} bytes.")


def is_json(content_type: str) -> bool:
    """Whether a Content-Type is that of JSON."""
    media = content_type.split(";", 1)[0].strip().lower()
    return media == "application/json" or (media.startswith("application/") and media.endswith("+json"))


class _Body:
    """The body of a request. Its bytes are counted, because Content-Length may be missing or wrong.

    All of it has to arrive within `seconds`.
    """

    def __init__(self, receive: Receive, *, most_bytes: int, seconds: float) -> None:
        self._receive = receive
        self._most = most_bytes
        self._taken = 0
        self._seconds = seconds
        self._until: float | None = None
        self._complete = False
        self.error: SamehereError | None = None

    async def receive(self) -> Message:
        message = await self._next()
        self._complete = self._complete or not message.get("more_body", False)
        self._taken += len(message.get("body", b""))
        if self._taken > self._most:
            self.error = _too_large(self._most)
            raise self.error
        return message

    async def _next(self) -> Message:
        """The next part. After the last one, `receive` waits until the client goes away, without a limit."""
        if self._complete:
            return await self._receive()
        self._until = self._until or time.monotonic() + self._seconds
        try:
            return await asyncio.wait_for(self._receive(), max(0.0, self._until - time.monotonic()))
        except TimeoutError:
            self.error = SlowBodyError(
                f"The request did not arrive within {self._seconds:g} seconds. Send it again."
            )
            raise self.error from None


class _Answer:
    """Sends an answer with our headers, and without a body for HEAD.

    It sends nothing if the body was refused: the guard then answers with its own error.
    """

    def __init__(self, send: Send, body: _Body, *, head: bool) -> None:
        self._send = send
        self._body = body
        self.head = head
        self.started = False

    async def send(self, message: Message) -> None:
        # The reader of the body has turned our error into another one. We answer ours.
        if self._body.error is not None and not self.started:
            return
        if message["type"] == "http.response.start":
            self.started = True
            known = {name.lower() for name, _ in message["headers"]}
            message["headers"] = [*message["headers"], *[pair for pair in _EXTRA if pair[0] not in known]]
        elif self.head and message["type"] == "http.response.body":
            message = {**message, "body": b""}
        await self._send(message)
