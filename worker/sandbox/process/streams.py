"""What is kept of a program's output: a stream's beginning and end with a digest of all of it, and a capped report."""

from __future__ import annotations

import hashlib
import os

from worker.sandbox.job import Stream

_CHUNK_BYTES = 1 << 18


class Capture:
    """One output stream, in constant memory."""

    def __init__(self, *, keep_bytes: int) -> None:
        self._head_bytes = keep_bytes // 2
        self._tail_bytes = keep_bytes - self._head_bytes
        self._head = bytearray()
        self._tail = bytearray()
        self._digest = hashlib.sha256()
        self.total_bytes = 0

    def feed(self, data: bytes) -> None:
        """Take what was read."""
        self.total_bytes += len(data)
        self._digest.update(data)
        room = self._head_bytes - len(self._head)
        self._head += data[:room]
        if len(data) > room:
            self._tail += data[room:]
            del self._tail[: -self._tail_bytes]

    def stream(self) -> Stream:
        """What was kept so far."""
        return Stream(bytes(self._head), bytes(self._tail), self.total_bytes, self._digest.hexdigest())


class Report:
    """The report channel: its beginning is kept, the rest is read and dropped, so that its writer never blocks."""

    def __init__(self, *, keep_bytes: int) -> None:
        self._keep_bytes = keep_bytes
        self.kept = bytearray()
        self.total_bytes = 0

    def feed(self, data: bytes) -> None:
        """Take what was read."""
        self.total_bytes += len(data)
        self.kept += data[: self._keep_bytes - len(self.kept)]


def read_available(fd: int, into: Capture | Report) -> bool:
    """Take one chunk of what a non-blocking pipe holds; False at its end."""
    try:
        data = os.read(fd, _CHUNK_BYTES)
    except BlockingIOError:
        return True
    into.feed(data)
    return bool(data)


def drain(fd: int, into: Capture | Report, *, at_most: int) -> None:
    """Take what is left after all writers died. Never waits for the end: a leaked descriptor would hold it open."""
    limit = into.total_bytes + at_most
    while into.total_bytes < limit:
        before = into.total_bytes
        if not read_available(fd, into) or into.total_bytes == before:
            return
