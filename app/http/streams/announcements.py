"""Announcements of the broker, for everything in a web process that waits for new events of a run.

One connection serves all listeners, so a thousand of them cost the broker as much as one.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from redis.asyncio import Redis
from redis.exceptions import RedisError

from app.errors import UnavailableError
from app.http.streams.turns import Turns
from app.storage.broker import run_channel
from worker.contract.broker.url import redis_url

# After this time a listener looks without an announcement: a lost one only delays events.
LOOK_SECONDS = 15.0
# A listener looks this often while the broker does not answer.
CLOCK_SECONDS = 2.0
EVERY_RUN = ""


class Listener:
    """Waits for new events. The next wait notices an announcement that came while nobody waited."""

    def __init__(self, announcements: Announcements) -> None:
        self._announcements = announcements
        self.announced = asyncio.Event()

    async def wait(self, seconds: float = LOOK_SECONDS) -> bool:
        """Wait for an announcement, at most so long. True if there was one."""
        longest = LOOK_SECONDS if self._announcements.is_connected else CLOCK_SECONDS
        try:
            async with asyncio.timeout(min(seconds, longest)):
                await self.announced.wait()
        except TimeoutError:
            return False
        self.announced.clear()
        return True


class Announcements:
    """Listens to the broker while there are listeners. `most` is the largest number of them.

    `most_of_caller` is that of one caller. Callers without a name have no limit of their own.
    """

    def __init__(self, broker_url: str, *, most: int, most_of_caller: int) -> None:
        self._url = redis_url(broker_url)
        self._most = most
        self._most_of_caller = most_of_caller
        self._of_caller: Counter[str] = Counter()
        self._listeners: dict[str, set[Listener]] = {}
        self._count = 0
        self._task: asyncio.Task[None] | None = None
        self._connected = asyncio.Event()
        self._turns = Turns()

    @property
    def is_connected(self) -> bool:
        """Whether announcements arrive. Without a broker, listeners look from time to time."""
        return self._connected.is_set()

    def require_room(self, caller: str | None) -> None:
        """Raise UnavailableError if there are too many listeners, at all or of this caller."""
        if caller is not None and self._of_caller[caller] >= self._most_of_caller:
            raise UnavailableError(
                f"You have {self._most_of_caller} open streams, the limit of one caller. Close some.",
                code="too_many_streams",
            )
        if self._count >= self._most:
            raise UnavailableError(
                f"This service has {self._most} open streams, which is its limit. Try again soon.",
                code="too_many_streams",
            )

    @contextmanager
    def listening(self, run_id: str, *, caller: str | None) -> Iterator[Listener]:
        """A listener for one run. Raises UnavailableError if there are too many."""
        with self.room(caller), self.watching(run_id) as listener:
            yield listener

    @contextmanager
    def room(self, caller: str | None) -> Iterator[None]:
        """Count one listener of this caller. Raises UnavailableError if there are too many."""
        self.require_room(caller)
        self._count += 1
        self._of_caller[caller or ""] += 1
        try:
            yield
        finally:
            self._count -= 1
            self._of_caller[caller or ""] -= 1
            # Addresses come and go.
            self._of_caller += Counter()

    @contextmanager
    def watching(self, run_id: str = EVERY_RUN) -> Iterator[Listener]:
        """A listener for one run, or for every run, that no limit counts."""
        listener = Listener(self)
        self._listeners.setdefault(run_id, set()).add(listener)
        if self._task is None or self._task.done():
            self._task = asyncio.get_running_loop().create_task(self._listen())
        try:
            yield listener
        finally:
            self._listeners[run_id].discard(listener)
            if not self._listeners[run_id]:
                del self._listeners[run_id]

    async def close(self) -> None:
        """Stop listening."""
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task

    async def _listen(self) -> None:
        while True:
            with suppress(RedisError, OSError):
                await self._listen_once()
            self._connected.clear()
            # Nobody knows what was announced meanwhile.
            self._announce(None)
            await asyncio.sleep(CLOCK_SECONDS)

    async def _listen_once(self) -> None:
        async with Redis.from_url(self._url) as redis, redis.pubsub() as pubsub:
            await pubsub.psubscribe(run_channel("*"))
            async for message in pubsub.listen():
                if message["type"] == "psubscribe":
                    self._connected.set()
                    self._announce(None)
                elif message["type"] == "pmessage":
                    self._announce(message["channel"].decode().removeprefix(run_channel("")))

    def _announce(self, run_id: str | None) -> None:
        """Wake the listeners of a run and of all runs. None wakes every listener."""
        for name in list(self._listeners) if run_id is None else [run_id, EVERY_RUN]:
            self._turns.wake([listener.announced for listener in self._listeners.get(name, ())])
