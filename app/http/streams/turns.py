"""Wakes many waiting tasks in turns, so that pages get theirs in between."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Collection

# So many are woken at once, and the next ones so much later.
WOKEN_AT_ONCE = 5
WAKE_SECONDS = 0.005


class Turns:
    """Sets events: a few at once, and of many each in its turn.

    Whoever waits for a turn gets no second one meanwhile, and misses nothing: it then sees all that came.
    """

    def __init__(self) -> None:
        self._due: OrderedDict[asyncio.Event, None] = OrderedDict()
        self._is_waking = False

    def wake(self, events: Collection[asyncio.Event]) -> None:
        """Set these events, now or soon."""
        if len(events) <= WOKEN_AT_ONCE:
            for event in events:
                event.set()
            return
        self._due.update(dict.fromkeys(events))
        if not self._is_waking:
            self._wake_next()

    def _wake_next(self) -> None:
        for _ in range(min(WOKEN_AT_ONCE, len(self._due))):
            self._due.popitem(last=False)[0].set()
        self._is_waking = bool(self._due)
        if self._is_waking:
            asyncio.get_running_loop().call_later(WAKE_SECONDS, self._wake_next)
