"""Events as server-sent events: those of a run, and those of all runs.

Events are read from the database. The broker says when there are new ones. In between, no database session
is open. Listeners that are at the same place share one read.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from functools import partial
from typing import NamedTuple

from fastapi import Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import Response
from fastapi.sse import EventSourceResponse, format_sse_event

from app.errors import InputError
from app.http.announcements import LOOK_SECONDS, Listener
from app.http.guards import HEAD
from app.http.quotas import caller_of
from app.http.state import WebState, state_of
from app.runs.rows.events import (
    START,
    Event,
    Place,
    events_after,
    events_of_all,
    is_over,
    newest_place,
    place_of,
)

HEADERS = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
# While an earlier transaction is under way, later events are held back. They are looked for so often.
HELD_BACK_SECONDS = 0.1
# A read is shared for so long with listeners to whom nothing else was announced.
SHARED_SECONDS = 1.0


class Page(NamedTuple):
    """Events in order, as they are sent. Listeners at the same place share them."""

    events: bytes
    # The id of the last event in the stream; empty without any.
    last: str = ""
    # Nothing will come any more.
    is_ended: bool = False
    # There are events that can't be shown yet.
    is_held_back: bool = False


Read = Callable[[str], Page]


def follow(request: Request, run_id: str, *, last_event_id: str | None) -> Response:
    """Stream the events of a run that come after an event number. Raises NotFoundError, InputError."""
    state = state_of(request)
    last = str(_number_of(last_event_id))
    read = partial(_read_run, state, run_id)
    first = read(last)
    if first.is_ended and not first.events:
        # A browser connects again after the end of a stream. 204 tells it to stop.
        return Response(status_code=204, headers=HEADERS)
    return _answer(request, run_id, read, first, last)


def follow_all(request: Request, *, since: str | None, last_event_id: str | None) -> Response:
    """Stream the events of all runs that come after a place, else those from now on. Raises InputError."""
    state = state_of(request)
    given = last_event_id or since
    if given in {None, ""}:
        with state.sessions.begin() as session:
            last = str(newest_place(session))
    else:
        last = str(START if given == "0" else place_of(given or ""))
    read = partial(_read_all, state)
    return _answer(request, "", read, read(last), last)


def _answer(request: Request, run_id: str, read: Read, first: Page, last: str) -> Response:
    if request.scope.get(HEAD):
        return Response(media_type="text/event-stream", headers=HEADERS)
    caller = caller_of(request)
    state_of(request).announcements.require_room(caller)
    shared = partial(_share, state_of(request), run_id, read)
    stream = _stream(state_of(request), run_id, shared, first, last, caller=caller)
    return EventSourceResponse(stream, headers=HEADERS)


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


def _read_run(state: WebState, run_id: str, last: str) -> Page:
    """The events of a run after a number, and whether the run has ended."""
    with state.sessions.begin() as session:
        # The state is read first. If the run ends before the events are read, the next call sees the end.
        is_ended = is_over(session, run_id)
        events = events_after(session, run_id, int(last))
        return _page([(str(event.number), event) for event in events], is_ended=is_ended)


def _read_all(state: WebState, last: str) -> Page:
    """The events of all runs after a place."""
    with state.sessions.begin() as session:
        events, is_held_back = events_of_all(session, Place.parse(last))
        return _page([(str(place), event) for place, event in events], is_held_back=is_held_back)


def _page(events: Sequence[tuple[str, Event]], *, is_ended: bool = False, is_held_back: bool = False) -> Page:
    sent = b"".join(
        format_sse_event(id=place, event=event.kind, data_str=json.dumps(event.ids))
        for place, event in events
    )
    return Page(sent, events[-1][0] if events else "", is_ended=is_ended, is_held_back=is_held_back)


async def _share(state: WebState, run_id: str, read: Read, last: str, version: int) -> Page:
    """Read, or take the read of another listener since the same announcement.

    Whatever is announced later has a read of its own. So a read may be taken for a moment after its end:
    listeners look without an announcement, too, and a thousand of them would look all the time.
    """
    key = (run_id, last, version)
    task = state.shared_reads.get(key)
    if task is None:
        task = asyncio.ensure_future(run_in_threadpool(read, last))
        state.shared_reads[key] = task
        task.add_done_callback(partial(_forget, state, key))
    # The stream that began the read may be closed. The others still want the answer.
    return await asyncio.shield(task)


def _forget(state: WebState, key: tuple[str, str, int], task: asyncio.Future[Page]) -> None:
    """Forget a read, after SHARED_SECONDS if it is complete."""
    is_complete = not task.cancelled() and task.exception() is None and not task.result().is_held_back
    if is_complete:
        asyncio.get_running_loop().call_later(SHARED_SECONDS, state.shared_reads.pop, key, None)
    else:
        state.shared_reads.pop(key, None)


async def _stream(
    state: WebState,
    run_id: str,
    read: Callable[[str, int], Awaitable[Page]],
    page: Page,
    last: str,
    *,
    caller: str | None,
) -> AsyncIterator[bytes]:
    with state.announcements.listening(run_id, caller=caller) as listener:
        if not page.events:
            # We listen from now on, so an event that came since the first read is found here.
            page = await read(last, listener.version)
        while True:
            if page.events:
                yield page.events
                last = page.last
            # `run.finished` does not end the stream: the run may have been reopened since.
            if page.is_ended and not page.events:
                return
            if not page.events:
                if not await _wait(listener, page) and not page.is_held_back:
                    yield format_sse_event(comment="still running")
                listener.announced.clear()
            page = await read(last, listener.version)


async def _wait(listener: Listener, page: Page) -> bool:
    return await listener.wait(HELD_BACK_SECONDS if page.is_held_back else LOOK_SECONDS)
