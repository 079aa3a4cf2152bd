"""Answers of the API: a tag by which the caller sees that nothing has changed, and compression."""

from __future__ import annotations

import hashlib

from starlette.datastructures import Headers, MutableHeaders
from starlette.middleware.gzip import GZipMiddleware
from starlette.types import ASGIApp, Message, Receive, Scope, Send

API = "/api/"
# Smaller answers gain nothing.
COMPRESSED_BYTES = 1024
# The event loop compresses. Higher levels take several times as long for a tenth less.
COMPRESSION_LEVEL = 3
TAG_BYTES = 16


class ApiAnswers:
    """ASGI middleware for the API. Pages and event streams pass unchanged."""

    def __init__(self, application: ASGIApp) -> None:
        self._application = application
        self._compressed = GZipMiddleware(
            self._answer_with_tag, minimum_size=COMPRESSED_BYTES, compresslevel=COMPRESSION_LEVEL
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        is_api = scope["type"] == "http" and scope["path"].startswith(API)
        await (self._compressed if is_api else self._application)(scope, receive, send)

    async def _answer_with_tag(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["method"] != "GET":
            await self._application(scope, receive, send)
        else:
            tags = Headers(scope=scope).get("if-none-match", "")
            await self._application(scope, receive, _TagWriter(send, tags).send)


class _TagWriter:
    """Holds the start of a JSON answer back until its body is there, and tags it by its digest.

    The tag is weak: the compressed answer has the same one.
    """

    def __init__(self, send: Send, condition: str) -> None:
        self._send = send
        self._condition = condition
        self._start: Message | None = None

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start" and _is_tagged(message):
            self._start = message
        elif self._start is not None and not message.get("more_body", False):
            start, self._start = self._start, None
            await self._send_whole(start, message)
        else:
            if self._start is not None:
                # The body comes in parts, so it is a stream.
                start, self._start = self._start, None
                await self._send(start)
            await self._send(message)

    async def _send_whole(self, start: Message, message: Message) -> None:
        digest = hashlib.blake2b(message["body"], digest_size=TAG_BYTES).hexdigest()
        tag = f'W/"{digest}"'
        headers = MutableHeaders(scope=start)
        headers["ETag"] = tag
        headers.setdefault("Cache-Control", "no-cache")
        if _matches(self._condition, digest):
            del headers["Content-Length"], headers["Content-Type"]
            start["status"] = 304
            message = {**message, "body": b""}
        await self._send(start)
        await self._send(message)


def _is_tagged(start: Message) -> bool:
    return start["status"] == 200 and Headers(scope=start).get("content-type", "") == "application/json"


def _matches(header: str, digest: str) -> bool:
    """Whether `If-None-Match` names the tag. The comparison is weak, as the standard says for it."""
    tags = [tag.strip().removeprefix("W/") for tag in header.split(",")]
    return "*" in tags or f'"{digest}"' in tags
