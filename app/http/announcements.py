"""Announcements of the broker, for all requests of a web process that wait for new events of a run.

One connection serves all of them, so a thousand listeners cost the broker as much as one.
"""

from __future__ import annotations

import asyncio
import itertools
from collections import Counter, deque
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress

from redis.asyncio import Redis
from redis.exceptions import RedisError

from app.errors import UnavailableError
from app.storage.broker import run_channel
from worker.contract.broker.url import redis_url

# After this time a listener looks without an announcement: a lost one only delays events.
LOOK_SECONDS = 15.0
# A listener looks this often while the broker does not answer.
CLOCK_SECONDS = 2.0
# So many listeners are woken at once, and the next ones so much later: between them pages get their turn. A
# listener that waits for its turn misses nothing: it then sees all that came meanwhile.
WOKEN_AT_ONCE = 5
WAKE_SECONDS = 0.005
_EVERY_RUN = ""


class Listener:
    """Waits for new events. The next wait notices an announcement that came while nobody waited."""

    def __init__(self, announcements: Announcements, run_id: str) -> None:
        self._announcements = announcements
        self.run_id = run_id
        self.announced = asyncio.Event()
        # Whether it waits for its turn to be woken.
        self.is_due = False

    async def wait(self, seconds: float = LOOK_SECONDS) -> bool:
        """Wait for an announcement, at most so long. True if there was one."""
        longest = LOOK_SECONDS if self._announcements.is_connected else CLOCK_SECONDS
        try:
            await asyncio.wait_for(self.announced.wait(), min(seconds, longest))
        except TimeoutError:
            return False
        self.announced.clear()
        return True

    @property
    def version(self) -> int:
        """A number that grows with each announcement for this listener."""
        return self._announcements.versions[self.run_id]


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
        # The number of the last announcement, for each run with listeners and for all runs (the empty id).
        self.versions: dict[str, int] = {}
        self._numbers = itertools.count(1)
        self._due: deque[Listener] = deque()
        self._is_waking = False

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
    def listening(self, run_id: str = _EVERY_RUN, *, caller: str | None) -> Iterator[Listener]:
        """A listener for one run, or for every run. Raises UnavailableError if there are too many."""
        self.require_room(caller)
        listener = Listener(self, run_id)
        if run_id not in self._listeners:
            self._listeners[run_id] = set()
            self._note(run_id)
        self._listeners[run_id].add(listener)
        self._count += 1
        self._of_caller[caller or ""] += 1
        if self._task is None or self._task.done():
            self._task = asyncio.get_running_loop().create_task(self._listen())
        try:
            yield listener
        finally:
            self._count -= 1
            self._of_caller[caller or ""] -= 1
            # Addresses come and go.
            self._of_caller += Counter()
            self._listeners[run_id].discard(listener)
            if not self._listeners[run_id]:
                del self._listeners[run_id], self.versions[run_id]

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

    def _note(self, name: str) -> None:
        self.versions[name] = next(self._numbers)

    def _announce(self, run_id: str | None) -> None:
        """Wake the listeners of a run and of all runs. None wakes every listener."""
        for name in list(self._listeners) if run_id is None else [run_id, _EVERY_RUN]:
            if name in self._listeners:
                self._note(name)
                self._wake(self._listeners[name])

    def _wake(self, listeners: Collection[Listener]) -> None:
        """Wake listeners: a few at once, and of many each in its turn."""
        if len(listeners) <= WOKEN_AT_ONCE:
            for listener in listeners:
                listener.announced.set()
            return
        for listener in listeners:
            if not listener.is_due:
                listener.is_due = True
                self._due.append(listener)
        if not self._is_waking:
            self._wake_next()

    def _wake_next(self) -> None:
        for _ in range(min(WOKEN_AT_ONCE, len(self._due))):
            listener = self._due.popleft()
            listener.is_due = False
            listener.announced.set()
        self._is_waking = bool(self._due)
        if self._is_waking:
            asyncio.get_running_loop().call_later(WAKE_SECONDS, self._wake_next)
