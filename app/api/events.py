"""The events of a run as a stream (SSE): replayed from the database, woken by the broker, no session held in between."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Self

from fastapi import Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import StreamingResponse
from redis.asyncio import Redis
from redis.exceptions import RedisError

from app.errors import InputError, NotFoundError
from app.http.state import WebState, state_of
from app.ids import is_id
from app.runs.events import Event, events_after
from app.storage.broker import redis_url, run_channel

KEEP_ALIVE_SECONDS = 15.0
# Without a poke we look again so often: a lost poke costs this much, no event.
LOOK_SECONDS = 2.0
LAST = {"run.finished", "run.cancelled"}


def follow(request: Request, run_id: str, *, last_event_id: str | None) -> StreamingResponse:
    """The stream of a run's events. Raises NotFoundError, InputError."""
    state = state_of(request)
    last = _number(last_event_id)
    first = _read(state, run_id, last)
    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    return StreamingResponse(_stream(state, run_id, first, last), media_type="text/event-stream", headers=headers)


def _number(last_event_id: str | None) -> int:
    if last_event_id in {None, ""}:
        return 0
    if last_event_id is None or not last_event_id.isdigit() or len(last_event_id) > 9:
        raise InputError("Last-Event-ID is the number of an event.", code="bad_last_event_id", field="Last-Event-ID")
    return int(last_event_id)


def _read(state: WebState, run_id: str, last: int) -> list[Event]:
    if not is_id(run_id):
        raise NotFoundError("There is no run with this id.")
    with state.sessions.begin() as session:
        return events_after(session, run_id, last)


def _written(event: Event) -> bytes:
    return f"id: {event.number}\nevent: {event.kind}\ndata: {json.dumps(event.ids)}\n\n".encode()


async def _stream(state: WebState, run_id: str, first: list[Event], last: int) -> AsyncIterator[bytes]:
    async with _Pokes(state, run_id) as pokes:
        # Read again once we listen: nothing falls between the first read and the subscription.
        events = first or await run_in_threadpool(_read, state, run_id, last)
        quiet = 0.0
        while True:
            for event in events:
                yield _written(event)
                last = event.number
                if event.kind in LAST:
                    return
            if not events:
                waited = await pokes.wait(LOOK_SECONDS)
                quiet = 0.0 if waited else quiet + LOOK_SECONDS
                if quiet >= KEEP_ALIVE_SECONDS:
                    yield b": still running\n\n"
                    quiet = 0.0
            events = await run_in_threadpool(_read, state, run_id, last)


class _Pokes:
    """Waits for the broker to say that a run has new events; a broker that is down makes it a plain clock."""

    def __init__(self, state: WebState, run_id: str) -> None:
        self._redis = Redis.from_url(redis_url(str(state.settings.broker_url)))
        self._pubsub = self._redis.pubsub(ignore_subscribe_messages=True)
        self._channel = run_channel(run_id)
        self._listening = False

    async def __aenter__(self) -> Self:
        try:
            await self._pubsub.subscribe(self._channel)
            self._listening = True
        except (RedisError, OSError):
            self._listening = False
        return self

    async def __aexit__(self, *_: object) -> None:
        try:
            await self._pubsub.aclose()  # type: ignore[no-untyped-call]
            await self._redis.aclose()
        except (RedisError, OSError):
            return

    async def wait(self, seconds: float) -> bool:
        """Whether there was a poke within so many seconds."""
        if self._listening:
            try:
                return await self._pubsub.get_message(timeout=seconds) is not None
            except (RedisError, OSError):
                self._listening = False
        await asyncio.sleep(seconds)
        return False
