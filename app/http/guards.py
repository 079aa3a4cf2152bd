"""What every request passes first: the host it names, the page it comes from, its size; and the headers each answer gets."""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import urlsplit

from fastapi import Request
from fastapi.responses import JSONResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.errors import ForbiddenError, InputError, SamehereError, TooLargeError
from app.http.problems import MEDIA_TYPE, problem_of

SAFE = {"GET", "HEAD", "OPTIONS"}
LOOPBACK = ("127.0.0.1", "localhost", "::1")
HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "X-Frame-Options": "DENY",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}


def _host(value: str) -> str:
    """The name in a Host header, without its port."""
    try:
        return (urlsplit(f"//{value}").hostname or "").lower()
    except ValueError:
        return ""


class Guards:
    """ASGI middleware; refuses with a problem document before anything else sees the request."""

    def __init__(self, application: ASGIApp, *, hosts: Sequence[str], most_bytes: int) -> None:
        self.application = application
        self.hosts = {host.lower() for host in (*LOOPBACK, *hosts)}
        self.most_bytes = most_bytes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.application(scope, receive, send)
            return
        request = Request(scope)

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                known = {name for name, _ in message["headers"]}
                extra = [(name.lower().encode(), value.encode()) for name, value in HEADERS.items()]
                message["headers"] = [*message["headers"], *[pair for pair in extra if pair[0] not in known]]
            await send(message)

        try:
            self._check(request)
        except SamehereError as error:
            await _refusal(error)(scope, receive, send_with_headers)
            return
        taken = 0

        async def receive_counted() -> Message:
            nonlocal taken
            message = await receive()
            taken += len(message.get("body", b""))
            if taken > self.most_bytes:
                raise TooLargeError(f"The request is larger than {self.most_bytes} bytes.")
            return message

        await self.application(scope, receive_counted, send_with_headers)

    def _check(self, request: Request) -> None:
        host = _host(request.headers.get("host", ""))
        if "*" not in self.hosts and host not in self.hosts:
            raise ForbiddenError("This host name is not ours: set SAMEHERE_HOSTS if it should be.", code="unknown_host")
        length = request.headers.get("content-length", "0")
        if not length.isdigit():
            raise InputError("Content-Length is a number.", code="bad_length")
        if int(length) > self.most_bytes:
            raise TooLargeError(f"The request is larger than {self.most_bytes} bytes.")
        if request.method in SAFE:
            return
        origin = request.headers.get("origin")
        if origin is not None and urlsplit(origin).netloc.lower() != request.headers.get("host", "").lower():
            raise ForbiddenError("This request comes from another site's page.", code="foreign_origin")
        if origin is None and request.headers.get("sec-fetch-site", "none") not in {"same-origin", "none"}:
            raise ForbiddenError("This request comes from another site's page.", code="foreign_origin")


def _refusal(error: SamehereError) -> Response:
    problem = problem_of(error)
    return JSONResponse(problem.model_dump(exclude_none=True), status_code=problem.status, media_type=MEDIA_TYPE)
