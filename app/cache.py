"""What was made lately, kept in the process for who asks for the same again: run objects that were read, pages that were drawn."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from dataclasses import dataclass
from typing import Generic, TypeVar

Value = TypeVar("Value")
# Nothing is kept longer, so that what was erased elsewhere is gone from here, too.
MOST_SECONDS = 600.0


@dataclass(frozen=True, slots=True)
class _Kept(Generic[Value]):
    value: Value
    size: int
    until: float


class Recent(Generic[Value]):
    """By the digest of what they were made from, so that none is older than its sources. Several threads may use it."""

    def __init__(self, most_bytes: int, *, most_seconds: float = MOST_SECONDS) -> None:
        self._most_bytes = most_bytes
        self._most_seconds = most_seconds
        self._bytes = 0
        # Those used last at the end.
        self._kept: OrderedDict[str, _Kept[Value]] = OrderedDict()
        self._lock = threading.Lock()

    def find(self, made_from: str) -> Value | None:
        """What was made from this, which is now the latest."""
        with self._lock:
            self._let_old_go()
            kept = self._kept.get(made_from)
            if kept is None:
                return None
            self._kept.move_to_end(made_from)
            return kept.value

    def keep(self, made_from: str, value: Value, size: int) -> None:
        """Keep it, and let go what was not used for longest where there is no room; one larger than all the room is not kept."""
        with self._lock:
            self._let_old_go()
            if made_from in self._kept or size > self._most_bytes:
                return
            self._kept[made_from] = _Kept(value, size, time.monotonic() + self._most_seconds)
            self._bytes += size
            while self._bytes > self._most_bytes:
                self._drop(next(iter(self._kept)))

    def _let_old_go(self) -> None:
        moment = time.monotonic()
        for made_from in [made_from for made_from, kept in self._kept.items() if kept.until <= moment]:
            self._drop(made_from)

    def _drop(self, made_from: str) -> None:
        self._bytes -= self._kept.pop(made_from).size
