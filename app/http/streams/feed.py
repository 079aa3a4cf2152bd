"""The newest events of a stream: one task reads and encodes them for all listeners of this process.

A listener that has read all there is takes its place at the feed. From then on it costs no reads.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import Context
from typing import Any, NamedTuple

from fastapi.concurrency import run_in_threadpool

from app.http.streams.announcements import Announcements
from app.http.streams.turns import Turns

# After a read with events, the next one comes so much later and takes all that came meanwhile. As often it
# looks for events that are held back while an earlier transaction is under way.
PACE_SECONDS = 0.1
# A listener that is further behind than so many reads goes on by reads of its own.
MOST_PAGES = 64

# The place of an event in its stream. Places of one stream are in order.
Place = tuple[Any, ...]


class Page(NamedTuple):
    """Events in order, each with its place, as they are sent."""

    events: tuple[tuple[Place, bytes], ...] = ()
    # Nothing will come any more.
    is_ended: bool = False
    # There are events that can't be shown yet.
    is_held_back: bool = False

    @property
    def content(self) -> bytes:
        return b"".join(content for _, content in self.events)


class News(NamedTuple):
    """The events of a feed behind a place, as they are sent, and the place of the last one."""

    last: Place
    content: bytes = b""
    # Nothing will come any more.
    is_ended: bool = False


# Reads the events behind a place.
Read = Callable[[Any], Page]


class Feed:
    """The events of one stream behind a place, as far as they are known."""

    def __init__(self, announcements: Announcements, run_id: str, read: Read, start: Place) -> None:
        self._announcements = announcements
        self._run_id = run_id
        self._read = read
        self._pages: deque[tuple[Place, bytes, Page]] = deque()
        # All events between these two places are in the pages.
        self.start = self._head = start
        self._is_ended = False
        self.failure: Exception | None = None
        self.seats: set[asyncio.Event] = set()
        self._turns = Turns()
        # The lines that it logs belong to no request.
        self.task = asyncio.get_running_loop().create_task(self._follow(), context=Context())

    def after(self, place: Place) -> News | None:
        """The events behind a place. None if some of them are not here any more.

        Raises the error that ended the feed.
        """
        if self.failure is not None:
            raise self.failure
        if place >= self._head:
            return News(place, is_ended=self._is_ended and place == self._head)
        if place < self.start:
            return None
        contents: list[bytes] = []
        for last, content, page in reversed(self._pages):
            if last <= place:
                break
            is_whole = page.events[0][0] > place
            contents.append(content if is_whole else b"".join(some for at, some in page.events if at > place))
        return News(self._head, b"".join(reversed(contents)))

    async def _follow(self) -> None:
        try:
            with self._announcements.watching(self._run_id) as watcher:
                while True:
                    watcher.announced.clear()
                    page = await run_in_threadpool(self._read, self._head)
                    self._take(page)
                    if page.events or page.is_held_back:
                        await asyncio.sleep(PACE_SECONDS)
                    else:
                        await watcher.wait()
        except Exception as error:  # noqa: BLE001 - each listener raises it
            self.failure = error
            self._turns.wake(self.seats)

    def _take(self, page: Page) -> None:
        has_ended, self._is_ended = not self._is_ended and page.is_ended, page.is_ended
        if page.events:
            self._head = page.events[-1][0]
            self._pages.append((self._head, page.content, page))
            if len(self._pages) > MOST_PAGES:
                self.start = self._pages.popleft()[0]
        if page.events or has_ended:
            self._turns.wake(self.seats)


class Seat:
    """The place of one listener at a feed."""

    def __init__(self, feed: Feed) -> None:
        self.feed = feed
        self._woken = asyncio.Event()
        feed.seats.add(self._woken)

    async def wait(self, seconds: float) -> bool:
        """Wait until there may be something new, at most so long. True if so."""
        try:
            async with asyncio.timeout(seconds):
                await self._woken.wait()
        except TimeoutError:
            return False
        self._woken.clear()
        return True

    def leave(self) -> None:
        """Give the place back."""
        self.feed.seats.discard(self._woken)


class Feeds:
    """The feeds of a web process, each as long as it has listeners."""

    def __init__(self, announcements: Announcements) -> None:
        self._announcements = announcements
        self._feeds: dict[str, Feed] = {}

    @contextmanager
    def seat(self, run_id: str, read: Read, place: Place) -> Iterator[Seat]:
        """A seat at the feed of a run, or of all runs (the empty id), for a listener that is at a place."""
        feed = self._feeds.get(run_id)
        if feed is None or feed.failure is not None:
            feed = self._feeds[run_id] = Feed(self._announcements, run_id, read, place)
        seat = Seat(feed)
        try:
            yield seat
        finally:
            seat.leave()
            if not feed.seats:
                feed.task.cancel()
                if self._feeds.get(run_id) is feed:
                    del self._feeds[run_id]
