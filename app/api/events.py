"""The events of a run as server-sent events.

Events are read from the database. The broker says when there are new ones. In between, no database session
is open.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Self

from fastapi import Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import Response
from fastapi.sse import EventSourceResponse, format_sse_event
from redis.asyncio import Redis
from redis.exceptions import RedisError

from app.errors import InputError
from app.http.guards import HEAD
from app.http.state import WebState, state_of
from app.runs.rows.events import EVENT_KINDS, Event, events_after, is_over
from app.storage.broker import run_channel
from worker.contract.broker.url import redis_url

# After this time the events are read without a message from the broker: a lost message only delays events.
# A comment is sent too, so that proxies keep the connection open.
LOOK_SECONDS = 15.0
# The events are read this often while the broker does not answer.
CLOCK_SECONDS = 2.0

FORM = (
    "Server-sent events. `id` is the number of the event in its run, from 1 without gaps; `event` its kind."
    " `data` is a JSON object with the ids that it is about, such as `job` and `attempt`. Kinds: "
    + ", ".join(f"`{kind}`" for kind in EVENT_KINDS)
    + "."
)


def follow(request: Request, run_id: str, *, last_event_id: str | None) -> Response:
    """Stream the events of a run that come after an event number. Raises NotFoundError, InputError."""
    state = state_of(request)
    last = _number_of(last_event_id)
    events, is_ended = _read(state, run_id, last)
    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    if is_ended and not events:
        # A browser connects again after the end of a stream. 204 tells it to stop.
        return Response(status_code=204, headers=headers)
    if request.scope.get(HEAD):
        return Response(media_type="text/event-stream", headers=headers)
    return EventSourceResponse(_stream(state, run_id, events, last), headers=headers)


def _number_of(last_event_id: str | None) -> int:
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
    """The events after a number, and whether the run has ended."""
    with state.sessions.begin() as session:
        # The state is read first. If the run ends before the events are read, the next call sees the end.
        is_ended = is_over(session, run_id)
        return events_after(session, run_id, last), is_ended


async def _stream(state: WebState, run_id: str, events: list[Event], last: int) -> AsyncIterator[bytes]:
    is_ended = False
    async with _NewEvents(state, run_id) as new_events:
        if not events:
            # We listen from now on, so an event that came since the first read is found here.
            events, is_ended = await run_in_threadpool(_read, state, run_id, last)
        while True:
            for event in events:
                yield format_sse_event(id=str(event.number), event=event.kind, data_str=json.dumps(event.ids))
                last = event.number
            # `run.finished` does not end the stream: the run may have been reopened since.
            if is_ended and not events:
                return
            if not events and not await new_events.wait():
                yield format_sse_event(comment="still running")
            events, is_ended = await run_in_threadpool(_read, state, run_id, last)


class _NewEvents:
    """Waits until the broker says that a run has new events. Without a broker it waits for a fixed time."""

    def __init__(self, state: WebState, run_id: str) -> None:
        self._redis = Redis.from_url(redis_url(state.settings.reveal_broker_url() or ""))
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
        """Wait for a message or for the time limit. True if there was a message."""
        if self._listening:
            try:
                return await self._pubsub.get_message(timeout=LOOK_SECONDS) is not None
            except (RedisError, OSError):
                self._listening = False
        await asyncio.sleep(CLOCK_SECONDS)
        return False
