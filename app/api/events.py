"""The events of a run as a stream (SSE): replayed from the database, woken by the broker, no session held in between."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Self

from fastapi import Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import Response, StreamingResponse
from redis.asyncio import Redis
from redis.exceptions import RedisError

from app.errors import InputError
from app.http.guards import HEAD
from app.http.state import WebState, state_of
from app.runs.rows.events import Event, events_after, is_over
from app.storage.broker import run_channel
from worker.contract.broker_url import redis_url

# A poke that gets lost costs this much, never an event; a sign of life for proxies in between.
LOOK_SECONDS = 15.0
# While the broker is away nobody pokes.
CLOCK_SECONDS = 2.0


def follow(request: Request, run_id: str, *, last_event_id: str | None) -> Response:
    """The stream of a run's events. Raises NotFoundError, InputError."""
    state = state_of(request)
    last = _number(last_event_id)
    first, over = _read(state, run_id, last)
    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    if over and not first:
        # A browser comes back after each end of a stream; this tells it not to.
        return Response(status_code=204, headers=headers)
    if request.scope.get(HEAD):
        return Response(media_type="text/event-stream", headers=headers)
    return StreamingResponse(
        _stream(state, run_id, first, last), media_type="text/event-stream", headers=headers
    )


def _number(last_event_id: str | None) -> int:
    if last_event_id in {None, ""}:
        return 0
    if (
        last_event_id is None
        or not (last_event_id.isascii() and last_event_id.isdigit())
        or len(last_event_id) > 9
    ):
        raise InputError(
            "Last-Event-ID is the number of an event.", code="bad_last_event_id", field="Last-Event-ID"
        )
    return int(last_event_id)


def _read(state: WebState, run_id: str, last: int) -> tuple[list[Event], bool]:
    """The events after a number, and whether the run has had its last one."""
    with state.sessions.begin() as session:
        # In this order: what ends in between is seen by the next look.
        over = is_over(session, run_id)
        return events_after(session, run_id, last), over


def _written(event: Event) -> bytes:
    return f"id: {event.number}\nevent: {event.kind}\ndata: {json.dumps(event.ids)}\n\n".encode()


async def _stream(state: WebState, run_id: str, first: list[Event], last: int) -> AsyncIterator[bytes]:
    async with _Pokes(state, run_id) as pokes:
        # Read again once we listen: nothing falls between the first read and the subscription.
        events, over = (first, False) if first else await run_in_threadpool(_read, state, run_id, last)
        while True:
            for event in events:
                yield _written(event)
                last = event.number
            # Not by the event that says so: a run may have been opened again since.
            if over and not events:
                return
            if not events and not await pokes.wait():
                yield b": still running\n\n"
            events, over = await run_in_threadpool(_read, state, run_id, last)


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

    async def wait(self) -> bool:
        """Wait for a poke, but not for ever; whether there was one."""
        if self._listening:
            try:
                return await self._pubsub.get_message(timeout=LOOK_SECONDS) is not None
            except (RedisError, OSError):
                self._listening = False
        await asyncio.sleep(CLOCK_SECONDS)
        return False
