"""Many listeners at the same place: all of them get each event, and look together."""

from __future__ import annotations

import asyncio
from typing import Any

from event_loop import run_in_thread

from app.api import events as module
from app.api.events import Page, _share
from app.http.announcements import WOKEN_AT_ONCE, Announcements


class State:
    """What sharing needs from the state of a web process."""

    def __init__(self) -> None:
        self.shared_reads: dict[Any, Any] = {}


def test_every_listener_is_woken_but_not_all_at_once() -> None:
    async def main() -> None:
        announcements = Announcements("redis+socket:///nonexistent/socket", most=100, most_of_caller=100)
        count = 3 * WOKEN_AT_ONCE
        stacks = [announcements.listening("run", caller=None) for _ in range(count)]
        listeners = [stack.__enter__() for stack in stacks]
        for listener in listeners:
            listener.announced.clear()
        announcements._announce("run")
        assert sum(listener.announced.is_set() for listener in listeners) == WOKEN_AT_ONCE
        # Those that wait for their turn need no second one: they will see what was announced meanwhile.
        version = listeners[-1].version
        announcements._announce("run")
        assert len(announcements._due) == count
        assert listeners[-1].version > version
        # Few are woken at once, whoever else waits.
        with announcements.listening("other", caller=None) as other:
            announcements._announce("other")
            assert other.announced.is_set()
        await asyncio.gather(*(listener.announced.wait() for listener in listeners))
        for stack in stacks:
            stack.__exit__(None, None, None)
        await announcements.close()

    run_in_thread(main)


def test_a_read_is_shared_after_its_end_unless_something_is_held_back() -> None:
    reads: list[str] = []
    state: Any = State()

    def read(last: str) -> Page:
        reads.append(last)
        return Page(b"", is_held_back=last == "held")

    async def main() -> None:
        module.run_in_threadpool, real = _at_once, module.run_in_threadpool
        try:
            for _ in range(2):
                await _share(state, "run", read, "7", 1)
                await _share(state, "run", read, "held", 1)
                await asyncio.sleep(0)
            # What was announced since is read.
            await _share(state, "run", read, "7", 2)
        finally:
            module.run_in_threadpool = real

    run_in_thread(main)
    assert reads == ["7", "held", "held", "7"]


async def _at_once(read: Any, last: str) -> Page:
    return read(last)  # type: ignore[no-any-return]
