"""No request holds the web: the scope is checked before the body, and the body before it is parsed."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from urllib.parse import urlsplit

import httpx2
import pytest
from running_web import Web, web_of
from stage import Stage

from app.errors import InputError, MediaTypeError
from app.http.json_limits import JsonLimits, check_json
from app.runs.maintenance.tokens import Scope, create

JSON = {"Content-Type": "application/json"}
KEYS = b"{" + b",".join(b'"k%d":1' % number for number in range(500_000)) + b"}"
MIB = 1024 * 1024
TRIES = 3


@pytest.fixture
def closed_web(stage: Stage) -> Iterator[Web]:
    """A web that allows nothing without a token, with short times and a small limit."""
    with web_of(stage, anonymous_scopes=(), body_seconds=1.0) as web:
        yield web


@pytest.fixture
def token(stage: Stage) -> dict[str, str]:
    with stage.session() as session:
        return {"Authorization": f"Bearer {create(session, name='t', scopes=(Scope.SUBMIT,)).secret}"}


def longest_wait(web: Web, request: Callable[[], None]) -> float:
    """The longest time that /healthz took to answer while a request was answered, in seconds."""
    done = threading.Event()
    waits = [0.0]

    def ask() -> None:
        with httpx2.Client(base_url=web.url, timeout=60) as client:
            while not done.is_set():
                started = time.perf_counter()
                assert client.get("/healthz").status_code == 200
                waits.append(time.perf_counter() - started)

    asker = threading.Thread(target=ask)
    asker.start()
    try:
        request()
    finally:
        done.set()
        asker.join(60)
    return max(waits)


@pytest.mark.parametrize("path", ["/api/v1/runs", "/api/v1/reports:read"])
@pytest.mark.parametrize("known", [False, True], ids=["without a token", "with a token"])
def test_half_a_million_keys(closed_web: Web, token: dict[str, str], path: str, *, known: bool) -> None:
    assert len(KEYS) > 5.8e6
    started = time.perf_counter()
    json.loads(KEYS)
    yardstick = time.perf_counter() - started
    headers = {**JSON, **(token if known else {})}

    def post() -> None:
        answer = closed_web.client.post(path, content=KEYS, headers=headers)
        assert answer.status_code == (422 if known else 401)
        assert len(answer.content) < 3_000
        assert not known or answer.json()["code"] == "json_too_many_values"

    # Parsing alone takes longer than this, and the errors took forty times as long.
    assert any(longest_wait(closed_web, post) < yardstick for _ in range(TRIES))


@pytest.mark.parametrize(
    "body",
    [
        {"script": "print(1)", **{f"k{number}": 1 for number in range(5_000)}},
        {"script": "print(1)", "targets": [{f"k{number}": 1 for number in range(1_200)}] * 30},
        {"script": "print(1)", "targets": [{"settings": {f"k{number}": [] for number in range(20_000)}}]},
    ],
)
def test_few_errors_are_made_of_many_keys(
    web: Web, monkeypatch: pytest.MonkeyPatch, body: dict[str, object]
) -> None:
    from fastapi.exceptions import RequestValidationError

    counts = []
    made = RequestValidationError.errors

    def errors(self: RequestValidationError) -> object:
        counts.append(len(made(self)))
        return made(self)

    monkeypatch.setattr(RequestValidationError, "errors", errors)
    answer = web.client.post("/api/v1/runs", json=body)
    assert answer.status_code == 422
    assert "fields" in answer.text or "settings" in answer.text
    assert max(counts) <= 30


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"[" * 101, "json_too_deep"),
        (b'{"a":' * 101, "json_too_deep"),
        (b"[" + b"1," * 1_000 + b"1]", "json_too_many_values"),
        (b'{"a": 1' + b"0" * 400 + b"}", "json_number_too_long"),
    ],
)
def test_a_document_over_a_limit(body: bytes, code: str) -> None:
    with pytest.raises(InputError) as error:
        check_json(body, JsonLimits(values=1_000, depth=100, digits=400))
    assert error.value.code == code


def test_signs_inside_of_texts_do_not_count() -> None:
    text = json.dumps({"report": '{"a": [1, 2]}, \\" ' * 5_000 + "9" * 5_000}).encode()
    check_json(text, JsonLimits(values=10, depth=2, digits=40))


def test_a_small_limit_where_no_report_comes(web: Web) -> None:
    body = b'{"which": "' + b"x" * MIB + b'"}'
    answer = web.client.post("/api/v1/runs/x/rerun", content=body, headers=JSON)
    assert (answer.status_code, answer.json()["code"]) == (413, "too_large")
    assert web.client.post("/api/v1/reports:read", json={"report": "x " * 300_000}).status_code == 200


@pytest.mark.parametrize("path", ["/", "/api/v1/runs/x/cancel", "/api/v1/reports:read", "/runs/x/rerun"])
def test_a_chunked_body_over_the_limit(web: Web, path: str) -> None:
    def parts() -> Iterator[bytes]:
        yield b"{" if path.startswith("/api") else b"text="
        for _ in range(8):
            yield b"x" * MIB

    kind = "application/json" if path.startswith("/api") else "application/x-www-form-urlencoded"
    answer = web.client.post(path, content=parts(), headers={"Content-Type": kind})
    assert answer.status_code == 413


@pytest.mark.parametrize(
    ("framing", "start"),
    [(b"Content-Length: 1000\r\n", b'{"rep'), (b"Transfer-Encoding: chunked\r\n", b'5\r\n{"rep\r\n')],
    ids=["length", "chunked"],
)
def test_a_body_that_does_not_arrive(
    closed_web: Web, token: dict[str, str], framing: bytes, start: bytes
) -> None:
    address = urlsplit(closed_web.url)
    with socket.create_connection((address.hostname, address.port), timeout=20) as connection:
        connection.sendall(
            b"POST /api/v1/reports:read HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
            + f"Authorization: {token['Authorization']}\r\n".encode()
            + framing
            + b"\r\n"
            + start
        )
        answer = b"".join(iter(lambda: connection.recv(65536), b""))
    assert answer.startswith(b"HTTP/1.1 408")
    assert b"slow_body" in answer


def test_a_caller_without_the_scope_needs_to_send_no_body(closed_web: Web) -> None:
    """The answer comes while the body is still on its way."""
    address = urlsplit(closed_web.url)
    with socket.create_connection((address.hostname, address.port), timeout=20) as connection:
        connection.sendall(
            b"POST /api/v1/runs HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
            b"Content-Length: 1000\r\n\r\n"
        )
        assert connection.recv(65536).startswith(b"HTTP/1.1 401")


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be", "utf-16", "utf-32-le", "utf-32", "utf-8-sig"])
def test_only_utf_8_is_read(encoding: str) -> None:
    # In UTF-16, the first sign has the byte of a quotation mark.
    text = json.dumps({"\u2261": dict.fromkeys(map(str, range(200)), 1)}, ensure_ascii=False)
    with pytest.raises(MediaTypeError) as caught:
        check_json(text.encode(encoding), JsonLimits(values=100, depth=10, digits=10))
    assert caught.value.code == "json_encoding"
