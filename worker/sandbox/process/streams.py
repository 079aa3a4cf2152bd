"""Stores a program's output: the beginning, the end and a digest of a stream, and the report."""

from __future__ import annotations

import hashlib
import os

from worker.sandbox.job import Stream

_CHUNK_BYTES = 1 << 18


class Capture:
    """One output stream, in constant memory: at most `keep_bytes`, half of them from its end."""

    def __init__(self, *, keep_bytes: int) -> None:
        self._head_bytes = keep_bytes // 2
        self._tail_bytes = keep_bytes - self._head_bytes
        self._head = bytearray()
        self._tail = bytearray()
        self._digest = hashlib.sha256()
        self.total_bytes = 0

    def feed(self, data: bytes) -> None:
        """Add data that was read."""
        self.total_bytes += len(data)
        self._digest.update(data)
        missing = self._head_bytes - len(self._head)
        self._head += data[:missing]
        if len(data) > missing:
            self._tail += data[missing:]
            del self._tail[: -self._tail_bytes]

    def stream(self) -> Stream:
        """The stream so far."""
        return Stream(bytes(self._head), bytes(self._tail), self.total_bytes, self._digest.hexdigest())


class Report:
    """The report channel: its first `keep_bytes`.

    The rest is read and dropped, so that its writer never blocks.
    """

    def __init__(self, *, keep_bytes: int) -> None:
        self._keep_bytes = keep_bytes
        self.data = bytearray()
        self.total_bytes = 0

    def feed(self, data: bytes) -> None:
        """Add data that was read."""
        self.total_bytes += len(data)
        self.data += data[: self._keep_bytes - len(self.data)]


def read_available(fd: int, into: Capture | Report) -> bool:
    """Read one chunk from a non-blocking pipe; False at its end."""
    try:
        data = os.read(fd, _CHUNK_BYTES)
    except BlockingIOError:
        return True
    into.feed(data)
    return bool(data)


def drain(fd: int, into: Capture | Report, *, at_most: int) -> None:
    """Read the rest after all writers died.

    Never waits for the end: a leaked descriptor would keep the pipe open.
    """
    limit = into.total_bytes + at_most
    while into.total_bytes < limit:
        before = into.total_bytes
        if not read_available(fd, into) or into.total_bytes == before:
            return
