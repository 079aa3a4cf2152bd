"""A cache in the memory of this process, for run objects and rendered pages."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Generic, TypeVar

from cachetools import TTLCache

Value = TypeVar("Value")
# A text that was erased in the database must not stay in memory for longer than this.
MOST_SECONDS = 600.0


class SizedCache(Generic[Value]):
    """A thread-safe cache. It drops the least recently used values when full, and each value after a time.

    A key is a digest of everything that its value was built from, so a value is never out of date.
    """

    def __init__(
        self,
        most_bytes: int,
        *,
        most_seconds: float = MOST_SECONDS,
        timer: Callable[[], float] = time.monotonic,
    ) -> None:
        self._entries: TTLCache[str, tuple[Value, int]] = TTLCache(
            maxsize=most_bytes, ttl=most_seconds, timer=timer, getsizeof=lambda entry: entry[1]
        )
        self._lock = threading.Lock()

    def find(self, key: str) -> Value | None:
        """The value of a key, or None. The value becomes the most recently used one."""
        with self._lock:
            entry = self._entries.get(key)
            return None if entry is None else entry[0]

    def store(self, key: str, value: Value, size: int) -> None:
        """Store a value of `size` bytes. One that is larger than the whole cache is not stored.

        A key that is there already keeps its value and its age.
        """
        with self._lock:
            if size <= self._entries.maxsize:
                self._entries.setdefault(key, (value, size))
