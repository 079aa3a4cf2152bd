"""The endpoint of a model that reads reports, too: right answers, wrong ones, slow ones, and its key."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
import structlog
from running_web import web_of
from stage import Stage

from app.bounded.callers import Caller, current_caller
from app.errors import SetupError
from app.runs.submission.model_reader import ask_model
from app.runs.submission.report_intake import read_bounded
from app.settings import ServiceSettings

REPORT = """# sum

```python
import numpy as np
print(np.arange(100, dtype=np.uint8).sum())
print(4)
```

```
86
4
```

My calculator says 4950 for the first line.
"""
LAST_LINE = REPORT.rstrip().count("\n") + 1
CALCULATOR = {"kind": "value", "first": LAST_LINE, "text": "4950"}
SHOWN = {"kind": "value", "stance": "actual", "first": 10, "text": "86"}
ANSWER = json.dumps({"readings": [{"why": "a sum", "items": [SHOWN, {**CALCULATOR, "stance": "expected"}]}]})


@dataclass
class Endpoint:
    """A model behind an address of this machine."""

    url: str = ""
    requests: list[tuple[dict[str, str], dict[str, Any]]] = field(default_factory=list)
    status: int = 200
    body: Callable[[], bytes] = lambda: json.dumps({"choices": [{"message": {"content": ANSWER}}]}).encode()


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    model = Endpoint()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            data = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            model.requests.append((dict(self.headers), data))
            self.send_response(model.status)
            self.send_header("Location", model.url)
            self.end_headers()
            self.wfile.write(model.body())

        def log_message(self, *_: object) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    # Each test has an address of its own, so that no answer of another one is stored.
    model.url = f"http://127.0.0.1:{server.server_port}/v1/chat/completions?test={time.monotonic_ns()}"
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    yield model
    server.shutdown()
    server.server_close()


def settings_for(endpoint: Endpoint, **changed: Any) -> ServiceSettings:
    return ServiceSettings(reader_url=endpoint.url, reader_model="reader-1", **changed)


def test_it_is_asked_once_with_the_report_as_data(endpoint: Endpoint, tmp_path: Path) -> None:
    key = tmp_path / "key"
    key.write_text("secret-key\n")
    settings = settings_for(endpoint, reader_key_file=key)
    assert ask_model(REPORT, title="a sum", settings=settings) == ANSWER
    assert ask_model(REPORT, title="a sum", settings=settings) == ANSWER
    [(headers, body)] = endpoint.requests
    assert headers["Authorization"] == "Bearer secret-key"
    assert (body["model"], body["temperature"]) == ("reader-1", 0)
    assert json.loads(body["messages"][1]["content"])["title"] == "a sum"
    assert body["response_format"]["json_schema"]["schema"]["properties"]["readings"]


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (500, b"{}"),
        (302, b"{}"),
        (200, b"no json"),
        (200, b'{"choices": []}'),
        (200, b'{"choices": [{"message": {}}]}'),
        (200, b"[" * 2_000_000),
        (200, b"[" * 900_000),
    ],
    ids=["error", "redirect", "no_json", "no_choice", "no_text", "endless", "deep"],
)
def test_nonsense_is_no_answer(endpoint: Endpoint, status: int, body: bytes) -> None:
    endpoint.status, endpoint.body = status, lambda: body
    assert ask_model(REPORT, title="", settings=settings_for(endpoint)) is None
    assert len(endpoint.requests) == 1


def test_a_slow_model_is_not_waited_for(endpoint: Endpoint) -> None:
    released = threading.Event()
    endpoint.body = lambda: b"{}" if released.wait(60) else b""
    assert ask_model(REPORT, title="", settings=settings_for(endpoint, reader_seconds=0.2)) is None
    released.set()


def test_an_endpoint_that_drips_its_headers_is_not_waited_for() -> None:
    """Each line comes in time, but all of them take longer than there is time."""
    body = json.dumps({"choices": [{"message": {"content": ANSWER}}]}).encode()

    def drip(connection: socket.socket) -> None:
        with connection, suppress(OSError):
            connection.sendall(b"HTTP/1.1 200 OK\r\n")
            for _ in range(20):
                time.sleep(0.1)
                connection.sendall(b"a: b\r\n")
            connection.sendall(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))
            connection.shutdown(socket.SHUT_WR)
            while connection.recv(65536):
                pass

    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = threading.Thread(target=lambda: drip(server.accept()[0]), daemon=True)
        thread.start()
        settings = ServiceSettings(
            reader_url=f"http://127.0.0.1:{server.getsockname()[1]}/v1", reader_seconds=0.5
        )
        assert ask_model(REPORT, title="", settings=settings) is None
        thread.join()


def test_a_busy_model_is_not_waited_for(endpoint: Endpoint) -> None:
    began, released = threading.Event(), threading.Event()

    def wait() -> bytes:
        began.set()
        released.wait(60)
        return b"{}"

    endpoint.body = wait
    settings = settings_for(endpoint, reader_at_once=1)
    first = threading.Thread(target=ask_model, args=(REPORT,), kwargs={"title": "", "settings": settings})
    first.start()
    assert began.wait(60)
    assert ask_model(f"{REPORT}another", title="", settings=settings) is None
    released.set()
    first.join()
    assert len(endpoint.requests) == 1


def test_only_who_may_submit_makes_the_service_ask(endpoint: Endpoint) -> None:
    open_to_all = settings_for(endpoint, anonymous_scopes=("read", "submit"))
    read_only = settings_for(endpoint, anonymous_scopes=("read",))
    for settings, is_stranger, asked in ((read_only, True, 0), (open_to_all, True, 1), (read_only, False, 1)):
        token = current_caller.set(Caller("192.0.2.1", is_stranger=is_stranger))
        read_bounded(REPORT, form="report", claim=None, title="", settings=settings)
        current_caller.reset(token)
        assert len(endpoint.requests) == asked


def test_a_long_report_is_not_sent(endpoint: Endpoint) -> None:
    settings = settings_for(endpoint, reader_characters=1_000)
    assert ask_model("x" * 1_001, title="", settings=settings) is None
    assert endpoint.requests == []


def test_no_log_has_the_key_or_the_address(endpoint: Endpoint, tmp_path: Path) -> None:
    key = tmp_path / "key"
    key.write_text("secret-key")
    endpoint.body = lambda: b"secret-key"
    with structlog.testing.capture_logs() as logs:
        assert ask_model(REPORT, title="", settings=settings_for(endpoint, reader_key_file=key)) is None
    assert logs
    assert "secret-key" not in str(logs)
    assert "127.0.0.1" not in str(logs)


def test_a_missing_key_says_which_setting_names_it(endpoint: Endpoint, tmp_path: Path) -> None:
    settings = settings_for(endpoint, reader_key_file=tmp_path / "none")
    with pytest.raises(SetupError, match="SAMEHERE_READER_KEY_FILE"):
        ask_model(REPORT, title="", settings=settings)


@pytest.mark.service
def test_its_reading_is_stored_with_the_report(stage: Stage, endpoint: Endpoint) -> None:
    with web_of(stage, reader_url=endpoint.url, reader_model="reader-1") as web:
        body = {"report": REPORT}
        read = web.client.post("/api/v1/reports:read", json=body).json()["report"]
        run = web.client.post("/api/v1/runs", json=body).json()
        stored = web.client.get(f"/api/v1/reports/{run['report']['id']}").json()
        assert len(endpoint.requests) == 1
        for report in (read, run["report"]):
            expected = [check["number"] for check in report["claim"]["checks"] if check["role"] == "expected"]
            assert expected == ["4950"]
            assert (report["model"]["name"], report["model"]["changed"]) == ("reader-1", True)
        assert "answer" not in run["report"]["model"]
        assert stored["report"]["model"]["answer"] == ANSWER
        endpoint.status = 500
        other = web.client.post("/api/v1/reports:read", json={"report": f"{REPORT}\nMore words."})
        assert other.status_code == 200
        assert "model" not in other.json()["report"]
