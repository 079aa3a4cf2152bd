"""A real HTTP server that plays a service which is away, refuses, moves, or breaks off."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Answer = tuple[int, dict[str, str], bytes]
JSON = {"Content-Type": "application/json"}


class Scripted:
    """Answers each request with its next answer, and repeats the last one; it records the requests."""

    def __init__(self) -> None:
        self.answers: dict[str, list[Answer]] = {}
        self.asked: list[tuple[str, dict[str, str], bytes]] = []
        scripted = self

        class Handler(BaseHTTPRequestHandler):
            def answer(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                key = f"{self.command} {self.path}"
                scripted.asked.append((key, dict(self.headers.items()), body))
                waiting = scripted.answers.get(key, [(404, {}, b"")])
                status, headers, content = waiting.pop(0) if len(waiting) > 1 else waiting[0]
                if status:
                    self.send_response(status)
                    for name, value in headers.items():
                        self.send_header(name, value)
                    self.end_headers()
                    self.wfile.write(content)

            do_GET = do_POST = answer  # noqa: N815

            def log_message(self, *_: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.thread = threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.01})
        self.thread.start()
        self.url = f"http://127.0.0.1:{self.server.server_port}"

    def count(self, key: str) -> int:
        return sum(asked[0] == key for asked in self.asked)


def answer(value: Any, status: int = 200, **headers: str) -> Answer:
    return status, {**JSON, **headers}, json.dumps(value).encode()
