"""HTTP connections with one moment by which everything has ended, however slowly the other side drips."""

from __future__ import annotations

import ssl
import time
from collections.abc import Callable, Iterable
from typing import Any

import httpcore2

# The addresses, in digits, to which a connection for a host and a port may go.
Addresses = Callable[[str, int], Iterable[str]]


class Deadline:
    """One moment for all parts of a request."""

    def __init__(self) -> None:
        self._end = 0.0

    def start(self, seconds: float) -> None:
        """Begin a request."""
        self._end = time.monotonic() + seconds

    def left(self) -> float:
        """The seconds that are left. Raises ReadTimeout if there are none."""
        left = self._end - time.monotonic()
        if left <= 0:
            raise httpcore2.ReadTimeout("the deadline is over")
        return left


def _any_address(host: str, _port: int) -> Iterable[str]:
    return (host,)


class DeadlineBackend(httpcore2.NetworkBackend):
    """Connects to the addresses that it is given. TLS and the header `Host` keep the name.

    The resolution of a name has no limit but the system's own.
    """

    def __init__(self, deadline: Deadline, addresses: Addresses = _any_address) -> None:
        self._deadline, self._addresses = deadline, addresses
        self._backend = httpcore2.SyncBackend()

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ARG002  # the deadline counts
        local_address: str | None = None,  # noqa: ARG002  # never given
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,
    ) -> httpcore2.NetworkStream:
        problem = httpcore2.ConnectError("there is no address")
        for address in self._addresses(host, port):
            try:
                stream = self._backend.connect_tcp(
                    address, port, timeout=self._deadline.left(), socket_options=socket_options
                )
            except httpcore2.ConnectError as error:
                problem = error
            else:
                return _Stream(stream, self._deadline)
        raise problem


class _Stream(httpcore2.NetworkStream):
    """A stream whose every step ends at the deadline."""

    def __init__(self, stream: httpcore2.NetworkStream, deadline: Deadline) -> None:
        self._stream, self._deadline = stream, deadline

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:  # noqa: ARG002  # as above
        return self._stream.read(max_bytes, self._deadline.left())

    def write(self, buffer: bytes, timeout: float | None = None) -> None:  # noqa: ARG002  # as above
        self._stream.write(buffer, self._deadline.left())

    def close(self) -> None:
        self._stream.close()

    def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,  # noqa: ARG002  # as above
    ) -> httpcore2.NetworkStream:
        inner = self._stream.start_tls(ssl_context, server_hostname, self._deadline.left())
        return _Stream(inner, self._deadline)

    def get_extra_info(self, info: str) -> Any:
        return self._stream.get_extra_info(info)
