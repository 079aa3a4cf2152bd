"""Events as server-sent events: those of a run, and those of all runs.

Events are read from the database. The broker says when there are new ones. In between, no database session
is open. A listener that has caught up gets what the feed of its stream reads for all listeners.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterable
from functools import partial

from fastapi import Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import Response
from fastapi.sse import EventSourceResponse, format_sse_event

from app.errors import InputError
from app.http.guards import HEAD
from app.http.quotas import caller_of
from app.http.state import WebState, state_of
from app.http.streams.announcements import EVERY_RUN, LOOK_SECONDS
from app.http.streams.feed import Page, Place, Read
from app.runs.rows.events import (
    START,
    Event,
    events_after,
    events_of_all,
    is_over,
    newest_place,
    place_of,
)
from app.runs.rows.events import Place as PlaceOfAll

HEADERS = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}


def follow(request: Request, run_id: str, *, last_event_id: str | None) -> Response:
    """Stream the events of a run that come after an event number. Raises NotFoundError, InputError."""
    last = (_number_of(last_event_id),)
    read = partial(_read_run, state_of(request), run_id)
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
            last = newest_place(session)
    else:
        last = START if given == "0" else place_of(given or "")
    read = partial(_read_all, state)
    return _answer(request, EVERY_RUN, read, read(last), last)


def _answer(request: Request, run_id: str, read: Read, first: Page, last: Place) -> Response:
    if request.scope.get(HEAD):
        return Response(media_type="text/event-stream", headers=HEADERS)
    caller = caller_of(request)
    state_of(request).announcements.require_room(caller)
    stream = _stream(state_of(request), run_id, read, first, last, caller=caller)
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


def _read_run(state: WebState, run_id: str, last: tuple[int]) -> Page:
    """The events of a run after a number, and whether the run has ended."""
    with state.sessions.begin() as session:
        # The state is read first. If the run ends before the events are read, the next call sees the end.
        is_ended = is_over(session, run_id)
        events = events_after(session, run_id, *last)
        pieces = _sent((str(event.number), event) for event in events)
        places = [(event.number,) for event in events]
        # `run.finished` does not end the stream: the run may have been reopened since.
        return Page(tuple(zip(places, pieces, strict=True)), is_ended=is_ended and not events)


def _read_all(state: WebState, last: PlaceOfAll) -> Page:
    """The events of all runs after a place."""
    with state.sessions.begin() as session:
        events, is_held_back = events_of_all(session, last)
        pieces = _sent((str(place), event) for place, event in events)
        places = [place for place, _ in events]
        return Page(tuple(zip(places, pieces, strict=True)), is_held_back=is_held_back)


def _sent(events: Iterable[tuple[str, Event]]) -> list[bytes]:
    """Events as they are sent, each with its id in the stream."""
    return [
        format_sse_event(id=name, event=event.kind, data_str=json.dumps(event.ids)) for name, event in events
    ]


async def _stream(
    state: WebState, run_id: str, read: Read, page: Page, last: Place, *, caller: str | None
) -> AsyncIterator[bytes]:
    with state.announcements.room(caller):
        while True:
            while page.events:
                yield page.content
                last = page.events[-1][0]
                page = await run_in_threadpool(read, last)
            if page.is_ended:
                return
            with state.feeds.seat(run_id, read, last) as seat:
                while (news := seat.feed.after(last)) is not None:
                    if news.content:
                        last = news.last
                        yield news.content
                    elif news.is_ended:
                        return
                    elif not await seat.wait(LOOK_SECONDS):
                        yield format_sse_event(comment="still running")
                # The feed no longer has what comes next. If a read has nothing, nothing is before its start.
                start = seat.feed.start
                page = await run_in_threadpool(read, last)
                last = last if page.events else max(last, start)
