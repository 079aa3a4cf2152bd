"""Requests with the same idempotency key are answered one after the other.

The second one needs the answer of the first. While it waits it holds neither a thread nor a connection of the
database, so many equal requests delay nobody else.
"""

from __future__ import annotations

import asyncio
from collections import Counter

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

KEY_HEADER = "Idempotency-Key"


class OneAtATime:
    """ASGI middleware. A request takes its turn once its body is complete: a slow sender blocks nobody.

    Another web process is not seen here; requests to it wait in the database, one for each process.
    """

    def __init__(self, application: ASGIApp) -> None:
        self._application = application
        self._turns: dict[str, asyncio.Lock] = {}
        self._users: Counter[str] = Counter()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = Headers(scope=scope) if scope["type"] == "http" else Headers()
        key = headers.get(KEY_HEADER)
        if key is None:
            await self._application(scope, receive, send)
            return
        turn = self._turns.setdefault(key, asyncio.Lock())
        self._users[key] += 1
        has_turn = False

        async def take_turn() -> None:
            nonlocal has_turn
            if not has_turn:
                await turn.acquire()
                has_turn = True

        async def receive_whole() -> Message:
            message = await receive()
            if not message.get("more_body", False):
                await take_turn()
            return message

        try:
            # A route that takes no body does not read it.
            if headers.get("content-length", "0") == "0" and "transfer-encoding" not in headers:
                await take_turn()
            await self._application(scope, receive_whole, send)
        finally:
            if has_turn:
                turn.release()
            self._users[key] -= 1
            if not self._users[key]:
                del self._users[key], self._turns[key]
