"""Reading requests that find no place for a call wait for one, without a thread and without a connection.

A page that many open at once is thus slow for a while, instead of refused.
"""

from __future__ import annotations

import asyncio
import time

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.bounded.callers import Caller, NoPlaceError, current_caller

# True in the ASGI scope of a request that is answered again if it finds no place, and of one that is so.
MAY_WAIT = "samehere.may_wait"
AGAIN = "samehere.again"
# A reader waits so long at most. Then the page says that it is not available right now.
MOST_SECONDS = 15.0
# So many wait at once in one process, and so many of them try again at the same time, in their order.
MOST_WAITING = 200
TRYING = 2
# A place is often free soon, so the first pause is short. Each later one is twice as long, up to the longest.
FIRST_PAUSE_SECONDS = 0.01
PAUSE_SECONDS = 0.05


class WaitForPlace:
    """ASGI middleware that answers a GET again, a moment later, if all places for calls were taken.

    Strangers wait for each other only, and nobody else for them.
    """

    def __init__(self, application: ASGIApp) -> None:
        self._application = application
        self._waiting = 0
        self._turns = {stranger: asyncio.Semaphore(TRYING) for stranger in (False, True)}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] not in {"GET", "HEAD"}:
            await self._application(scope, receive, send)
            return
        until = time.monotonic() + MOST_SECONDS
        # Each try changes its own copy. The state is common to all, so that no quota is lost.
        base = {**scope, "state": scope.get("state", {}), MAY_WAIT: True}
        answer = _Answer(send)
        try:
            await self._application({**base}, receive, answer.send)
        except NoPlaceError:
            if answer.started or self._waiting >= MOST_WAITING:
                raise
        else:
            return
        self._waiting += 1
        try:
            await self._wait({**base, AGAIN: True}, receive, answer, until)
        finally:
            self._waiting -= 1

    async def _wait(self, base: Scope, receive: Receive, answer: _Answer, until: float) -> None:
        turns = self._turns[(current_caller.get() or Caller(is_stranger=False)).is_stranger]
        try:
            await asyncio.wait_for(turns.acquire(), until - time.monotonic())
        except TimeoutError:
            raise NoPlaceError from None
        pause = FIRST_PAUSE_SECONDS
        try:
            while True:
                await asyncio.sleep(pause)
                pause = min(2 * pause, PAUSE_SECONDS)
                try:
                    await self._application({**base}, receive, answer.send)
                except NoPlaceError:
                    if answer.started or time.monotonic() > until:
                        raise
                else:
                    return
        finally:
            turns.release()


class _Answer:
    """Passes an answer on, and knows whether it has begun."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self.started = False

    async def send(self, message: Message) -> None:
        self.started = True
        await self._send(message)
