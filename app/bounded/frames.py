"""The messages between a process and its forker: a length of eight bytes, then a pickle."""

from __future__ import annotations

import socket
from dataclasses import dataclass
from typing import Any

_LENGTH_BYTES = 8


@dataclass(frozen=True, slots=True)
class CallLimits:
    """The most processor seconds and memory in bytes of one call."""

    seconds: float
    memory_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """The value of a call, or the error that it raised, or that it needed too much memory."""

    value: Any = None
    error: Exception | None = None
    out_of_memory: bool = False


def send_frame(connection: socket.socket, data: bytes) -> None:
    """Send one message."""
    connection.sendall(len(data).to_bytes(_LENGTH_BYTES, "big") + data)


def receive_frame(connection: socket.socket) -> bytes:
    """The next message. Raises EOFError if the other side has ended before it was complete."""
    return _exactly(connection, int.from_bytes(_exactly(connection, _LENGTH_BYTES), "big"))


def _exactly(connection: socket.socket, size: int) -> bytes:
    data = bytearray()
    while len(data) < size:
        part = connection.recv(min(1 << 20, size - len(data)))
        if not part:
            raise EOFError
        data += part
    return bytes(data)
