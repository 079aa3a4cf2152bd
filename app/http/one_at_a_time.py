"""Requests of one caller with the same idempotency key to one route are answered one after the other.

The second one needs the answer of the first. While it waits it holds neither a thread nor a connection of the
database, so many equal requests delay nobody else.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from typing import NamedTuple, cast

from fastapi import Request
from starlette.types import ASGIApp, Receive, Scope, Send

KEY_HEADER = "Idempotency-Key"
# The function in the ASGI scope by which a route takes its turn.
_TAKE = "samehere.take_turn"


class Turn(NamedTuple):
    """Requests wait for each other only if all of this is the same.

    Keys can be guessed, so the key of one caller must never make another one wait. `caller` is the id of a
    token, or the address of a caller without one.
    """

    caller: str
    key: str
    route: str


class OneAtATime:
    """ASGI middleware. A route that takes a turn has it until its answer is sent.

    Another web process is not seen here; requests to it wait in the database, one for each process.
    """

    def __init__(self, application: ASGIApp) -> None:
        self._application = application
        self._locks: dict[Turn, asyncio.Lock] = {}
        self._users: Counter[Turn] = Counter()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async with AsyncExitStack() as until_answered:
            scope[_TAKE] = partial(self._take, until_answered)
            await self._application(scope, receive, send)

    async def _take(self, until_answered: AsyncExitStack, turn: Turn) -> None:
        await until_answered.enter_async_context(self._hold(turn))

    @asynccontextmanager
    async def _hold(self, turn: Turn) -> AsyncIterator[None]:
        lock = self._locks.setdefault(turn, asyncio.Lock())
        self._users[turn] += 1
        try:
            async with lock:
                yield
        finally:
            self._users[turn] -= 1
            if not self._users[turn]:
                del self._users[turn], self._locks[turn]


async def take_turn(request: Request, *, token: str | None, route: str) -> None:
    """Wait until no other request with the same turn is answered. Without a key there is nothing to wait for.

    Call it when access is checked and the body is complete: a slow sender then blocks nobody. `token` is the
    id of the caller's token.
    """
    key = request.headers.get(KEY_HEADER)
    if key is None:
        return
    address = "" if request.client is None else request.client.host
    take = cast("Callable[[Turn], Awaitable[None]]", request.scope[_TAKE])
    await take(Turn(f"address {address}" if token is None else f"token {token}", key, route))
