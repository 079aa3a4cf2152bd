"""A receiver of webhooks on loopback: real HTTP, answers as the test says, and notes of all that arrived."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from standardwebhooks import Webhook


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrival:
    """One request, as it came."""

    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def id(self) -> str:
        return self.headers["webhook-id"]

    def verify(self, secret: str) -> dict[str, Any]:
        """The event, verified by the library of the specification."""
        return dict(Webhook(secret).verify(self.body, self.headers))


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """An answer; `drip_seconds` is the pause before each byte of it."""

    status: int = 204
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b""
    drip_seconds: float = 0.0


class Receiver:
    """Answers each request by `reply`, a function of the arrival; by default it takes everything."""

    def __init__(self, port: int = 0, *, host: str = "127.0.0.1") -> None:
        self.arrivals: list[Arrival] = []
        self.reply: Callable[[Arrival], Reply] = lambda _arrival: Reply()
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                headers = {name.lower(): value for name, value in self.headers.items()}
                arrival = Arrival(path=self.path, headers=headers, body=body)
                receiver.arrivals.append(arrival)
                self._answer(receiver.reply(arrival))

            def _answer(self, reply: Reply) -> None:
                lines = [f"HTTP/1.1 {reply.status} x", f"Content-Length: {len(reply.body)}"]
                if reply.status == 204:
                    lines.pop()
                lines += [f"{name}: {value}" for name, value in reply.headers.items()]
                data = ("\r\n".join(lines) + "\r\n\r\n").encode() + reply.body
                # A sender may hang up before the end of a long or slow answer.
                with suppress(OSError):
                    if not reply.drip_seconds:
                        self.wfile.write(data)
                        return
                    self.close_connection = True
                    for byte in data:
                        time.sleep(reply.drip_seconds)
                        self.wfile.write(bytes([byte]))
                        self.wfile.flush()

            def log_message(self, *_words: Any) -> None:
                return

        self.server = ThreadingHTTPServer((host, port), Handler)
        self.server.daemon_threads = True

    @property
    def port(self) -> int:
        return int(self.server.server_address[1])

    @property
    def url(self) -> str:
        return f"http://{self.server.server_address[0]!s}:{self.port}/news"


@contextmanager
def receiving(port: int = 0, *, host: str = "127.0.0.1") -> Iterator[Receiver]:
    """A receiver that answers, on a free port or on this one."""
    receiver = Receiver(port, host=host)
    thread = threading.Thread(target=receiver.server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield receiver
    finally:
        receiver.server.shutdown()
        receiver.server.server_close()
        thread.join(10)


def closed_port(host: str = "127.0.0.1") -> int:
    """A port of loopback on which nobody listens."""
    with socket.create_server((host, 0)) as listener:
        return int(listener.getsockname()[1])
