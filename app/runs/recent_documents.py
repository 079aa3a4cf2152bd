"""The objects of runs that were read lately, kept in the process: reading one of 2 000 attempts takes longer than all else on its page."""

from __future__ import annotations

import threading
from collections import OrderedDict

from app.runs.document import RunDocument

# Of all that is kept, as JSON; read, it takes several times as much.
MOST_BYTES = 16 * 2**20


class RecentDocuments:
    """By the digest of what they were made from, so that none is older than its run. Several threads may use it."""

    def __init__(self, most_bytes: int = MOST_BYTES) -> None:
        self._most_bytes = most_bytes
        self._bytes = 0
        self._kept: OrderedDict[str, tuple[RunDocument, int]] = OrderedDict()
        self._lock = threading.Lock()

    def find(self, made_from: str) -> RunDocument | None:
        """The object, which is now the latest one."""
        with self._lock:
            if made_from not in self._kept:
                return None
            self._kept.move_to_end(made_from)
            return self._kept[made_from][0]

    def keep(self, made_from: str, document: RunDocument, size: int) -> None:
        """Keep it, and let the oldest go that there is no room for; one larger than all the room is not kept."""
        with self._lock:
            if made_from in self._kept or size > self._most_bytes:
                return
            self._kept[made_from] = (document, size)
            self._bytes += size
            while self._bytes > self._most_bytes:
                _, (_, freed) = self._kept.popitem(last=False)
                self._bytes -= freed
