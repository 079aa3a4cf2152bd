"""Many listeners at one stream: each gets every event once, one task reads for all, and they have turns."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from event_loop import run_in_thread

from app.http.streams import feed as module
from app.http.streams.announcements import Announcements
from app.http.streams.feed import MOST_PAGES, Feed, Feeds, Page
from app.http.streams.turns import WOKEN_AT_ONCE, Turns

NOWHERE = "redis+socket:///nonexistent/socket"


def test_every_waiting_task_is_woken_but_not_all_at_once() -> None:
    async def main() -> None:
        turns = Turns()
        count = 3 * WOKEN_AT_ONCE
        events = [asyncio.Event() for _ in range(count)]
        turns.wake(events)
        assert sum(event.is_set() for event in events) == WOKEN_AT_ONCE
        # Those that wait for their turn need no second one. The others need one.
        turns.wake(events)
        assert len(turns._due) == count
        # Few are woken at once, whoever else waits.
        turns.wake([other := asyncio.Event()])
        assert other.is_set()
        await asyncio.gather(*(event.wait() for event in events))

    run_in_thread(main)


def test_a_listener_of_one_run_is_woken_for_that_run_alone() -> None:
    async def main() -> None:
        announcements = Announcements(NOWHERE, most=100, most_of_caller=100)
        with (
            announcements.listening("one", caller=None) as one,
            announcements.listening("other", caller=None) as other,
            announcements.watching() as every,
        ):
            announcements._announce("one")
            woken = [listener.announced.is_set() for listener in (one, other, every)]
            assert woken == [True, False, True]
        await announcements.close()

    run_in_thread(main)


class Store:
    """Events of a stream by number, and the places from which they were read."""

    def __init__(self, count: int) -> None:
        self.count = count
        self.reads: list[int] = []
        self.is_ended = False
        # So many events come with one read.
        self.most = 2

    def read(self, place: tuple[int]) -> Page:
        self.reads.append(place[0])
        numbers = range(place[0] + 1, min(self.count, place[0] + self.most) + 1)
        return Page(
            tuple(((number,), f"<{number}>".encode()) for number in numbers),
            is_ended=self.is_ended and not numbers,
        )


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """A feed that reads again at once after events."""
    monkeypatch.setattr(module, "PACE_SECONDS", 0)


async def until_idle(announcements: Announcements, store: Store) -> None:
    """Until all events were read, and then nothing."""
    for _ in range(2000):
        if store.reads[-1:] == [store.count]:
            return
        await asyncio.sleep(0.005)
    raise AssertionError(store.reads)


@pytest.mark.usefixtures("quick")
def test_one_task_reads_for_all_and_each_listener_gets_each_event_once() -> None:
    async def main() -> None:
        announcements = Announcements(NOWHERE, most=100, most_of_caller=100)
        feeds, store = Feeds(announcements), Store(5)
        with feeds.seat("run", store.read, (0,)) as early, feeds.seat("run", store.read, (3,)) as late:
            assert early.feed is late.feed
            await until_idle(announcements, store)
            assert store.reads == [0, 2, 4, 5]
            feed = early.feed
            assert feed.after((0,)) == ((5,), b"<1><2><3><4><5>", False)
            # A listener in the midst of what was read together gets the rest of it.
            assert feed.after((3,)) == ((5,), b"<4><5>", False)
            assert feed.after((5,)) == ((5,), b"", False)
            # This one has read further by itself than the feed.
            assert feed.after((9,)) == ((9,), b"", False)
            store.count = 6
            announcements._announce("run")
            for seat in (early, late):
                while feed.after((5,)) == ((5,), b"", False):
                    await seat.wait(1)
            assert feed.after((5,)) == ((6,), b"<6>", False)
            assert store.reads.count(5) == 2
        # Without listeners it ends.
        with pytest.raises(asyncio.CancelledError):
            await feed.task
        await announcements.close()

    run_in_thread(main)


@pytest.mark.usefixtures("quick")
def test_a_feed_forgets_old_events_and_says_so() -> None:
    async def main() -> None:
        announcements = Announcements(NOWHERE, most=100, most_of_caller=100)
        feeds, store = Feeds(announcements), Store(2 * MOST_PAGES + 6)
        with feeds.seat("run", store.read, (0,)) as seat:
            await until_idle(announcements, store)
            feed: Feed = seat.feed
            assert feed.start == (6,)
            assert feed.after((5,)) is None
            news = feed.after((6,))
            assert news is not None
            assert news.content.startswith(b"<7>")
        await announcements.close()

    run_in_thread(main)


@pytest.mark.usefixtures("quick")
def test_the_end_of_a_stream_reaches_listeners_that_have_all_events() -> None:
    async def main() -> None:
        announcements = Announcements(NOWHERE, most=100, most_of_caller=100)
        feeds, store = Feeds(announcements), Store(2)
        store.is_ended = True
        with feeds.seat("run", store.read, (0,)) as seat:
            await until_idle(announcements, store)
            assert seat.feed.after((0,)) == ((2,), b"<1><2>", False)
            assert seat.feed.after((2,)) == ((2,), b"", True)
            # This one knows of a later event, so the run was opened again.
            assert seat.feed.after((3,)) == ((3,), b"", False)
        await announcements.close()

    run_in_thread(main)


def test_a_read_that_fails_ends_the_streams_and_the_next_listener_begins_anew() -> None:
    def fail(_place: Any) -> Page:
        raise OSError("no database")

    async def main() -> None:
        announcements = Announcements(NOWHERE, most=100, most_of_caller=100)
        feeds, store = Feeds(announcements), Store(1)
        with feeds.seat("run", fail, (0,)) as seat:
            assert await seat.wait(10)
            with pytest.raises(OSError, match="no database"):
                seat.feed.after((0,))
            with feeds.seat("run", store.read, (0,)) as second:
                await second.wait(10)
                assert second.feed.after((0,)) == ((1,), b"<1>", False)
        await announcements.close()

    run_in_thread(main)
