"""Every error is a problem document, and says nothing of our inside."""

from __future__ import annotations

import json
from collections.abc import Iterator

import psycopg
import pytest
import structlog
from api.web_client import Web
from sqlalchemy.exc import OperationalError

# In the names of tests, so that it is the same in every process that collects them.
UNKNOWN = "01k00000000000000000000000"
JSON = {"Content-Type": "application/json"}


def check(answer, status: int, code: str) -> dict[str, object]:
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    problem = answer.json()
    assert (problem["status"], problem["code"]) == (status, code)
    assert problem["detail"]
    assert problem["title"]
    assert "content-security-policy" in answer.headers
    return problem


@pytest.mark.parametrize("path", ["/api/v1/nothing", "/api/nothing", "/api/v1/runs/x/y/z"])
def test_an_unknown_path(web: Web, path: str) -> None:
    check(web.client.get(path), 404, "not_found")


@pytest.mark.parametrize("kind", ["runs", "reports", "attempts", "comparisons"])
@pytest.mark.parametrize("name", [UNKNOWN, "x", "%00", "%F0%9F%92%A5", "a" * 3000, f"{UNKNOWN}-{UNKNOWN}"])
def test_an_unknown_or_bad_id(web: Web, kind: str, name: str) -> None:
    check(web.client.get(f"/api/v1/{kind}/{name}"), 404, "not_found")


def test_another_method_names_those_that_there_are(web: Web) -> None:
    answer = web.client.put("/api/v1/runs")
    check(answer, 405, "method_not_allowed")
    assert answer.headers["allow"] == "GET, HEAD, POST"


def test_head_is_get_without_a_body(web: Web) -> None:
    for path in ("/api/v1/runs", "/healthz", "/", "/reports"):
        head, get = web.client.head(path), web.client.get(path)
        assert (head.status_code, head.content) == (200, b"")
        assert head.headers["content-length"] == get.headers["content-length"]
    assert web.client.head(f"/api/v1/runs/{web.post()['id']}/events").status_code == 200


@pytest.mark.parametrize(
    ("body", "code", "field"),
    [
        ({}, "script_or_report", "script"),
        ({"script": "1", "report": "# x"}, "script_or_report", "script"),
        ({"script": 5}, "bad_request_form", "script"),
        ({"script": "print(1)", "tagets": []}, "bad_request_form", "tagets"),
        ({"script": "  \n"}, "empty_script", None),
        ({"script": "print(1)", "preset": "nix"}, "unknown_preset", "preset"),
        ({"script": "print(1)", "targets": [{"device": "abacus"}]}, None, None),
        ({"script": "print(1)", "targets": [{"settings": {"nix": 1}}]}, None, None),
        ({"script": "print(1)", "targets": []}, "no_targets", "targets"),
        ({"script": "print(1)", "repeats": 0}, "bad_request_form", "repeats"),
        ({"script": "print(1)", "repeats": 10**6}, None, None),
        ({"script": "print(1)", "source_url": "javascript:alert(1)"}, "bad_source_url", "source_url"),
        ({"script": "print(1)", "source_url": "https://"}, "bad_source_url", "source_url"),
        ({"script": "print(1)", "title": "x" * 301}, "bad_title", "title"),
        ({"script": "print(1)", "claim": "\ud800"}, "bad_request_form", "claim"),
    ],
)
def test_a_submission_that_cannot_be_used(
    web: Web, body: dict[str, object], code: str | None, field: str | None
) -> None:
    answer = web.client.post("/api/v1/runs", content=json.dumps(body).encode(), headers=JSON)
    problem = check(answer, 422, code or answer.json()["code"])
    if field is not None:
        assert problem["field"] == field
    assert web.client.get("/api/v1/runs").json()["items"] == []


def test_a_syntax_error_says_where(web: Web) -> None:
    problem = check(
        web.client.post("/api/v1/runs", json={"script": "x = 1\nprint(x +* 2)\n"}), 422, "syntax_error"
    )
    assert "line 2" in str(problem["detail"])


def test_an_unknown_preset_lists_what_there_is(web: Web) -> None:
    detail = web.client.post("/api/v1/runs", json={"script": "print(1)", "preset": "nix"}).json()["detail"]
    assert all(name in detail for name in ("quick", "cpu-isa", "determinism"))


def test_what_was_sent_is_not_echoed(web: Web) -> None:
    answer = web.client.post("/api/v1/runs", json={"script": ["<script>secret"], "repeats": "<b>"})
    check(answer, 422, "bad_request_form")
    assert "<" not in answer.text


@pytest.mark.parametrize("body", [b"{", b"\xff\xfe{", b"[" * 100_000, b"nul", b""])
def test_a_body_that_is_no_json(web: Web, body: bytes) -> None:
    answer = web.client.post("/api/v1/runs", content=body, headers=JSON)
    assert answer.status_code in {400, 415, 422}
    check(answer, answer.status_code, answer.json()["code"])


@pytest.mark.parametrize(
    "form", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", ""]
)
def test_a_body_in_another_form(web: Web, form: str) -> None:
    for path in ("/api/v1/runs", "/api/v1/reports:read", f"/api/v1/reports/{UNKNOWN}/runs"):
        check(
            web.client.post(path, content=b'{"script": "print(1)"}', headers={"Content-Type": form}),
            415,
            "unsupported_media_type",
        )
    spelled = {"Content-Type": "Application/JSON;charset=utf-8"}
    assert web.client.post("/api/v1/runs", content=b'{"script": "print(1)"}', headers=spelled).is_success


def test_a_script_over_the_limit(web: Web) -> None:
    check(web.client.post("/api/v1/runs", json={"script": "#" * (257 * 1024)}), 413, "too_large")


def test_a_body_over_the_limit_by_its_length(web: Web) -> None:
    check(web.client.post("/api/v1/runs", content=b" " * (7 * 1024 * 1024), headers=JSON), 413, "too_large")


def test_a_body_over_the_limit_without_a_length(web: Web) -> None:
    taken = 0

    def chunks() -> Iterator[bytes]:
        nonlocal taken
        for _ in range(100):
            taken += 1
            yield b" " * 2**17

    check(web.client.post("/api/v1/runs", content=chunks(), headers=JSON), 413, "too_large")


def test_the_log_names_what_the_driver_raised(web: Web, monkeypatch: pytest.MonkeyPatch) -> None:
    """The answer says that the database does not answer; the operator learns that its disk is full."""

    def fail(*_: object, **__: object) -> None:
        raise OperationalError("SELECT 'secret'", None, psycopg.errors.DiskFull("no space, secret"))

    monkeypatch.setattr("app.api.runs.list_runs", fail)
    with structlog.testing.capture_logs() as logged:
        check(web.client.get("/api/v1/runs"), 503, "database_unavailable")
    [line] = [line for line in logged if line["event"] == "request_failed"]
    assert line["cause"] == "DiskFull"
    assert "secret" not in str(line)


def test_a_fault_of_ours_shows_nothing(web: Web, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise RuntimeError("the secret inside")

    monkeypatch.setattr("app.api.runs.list_runs", fail)
    with structlog.testing.capture_logs() as logged:
        answer = web.client.get("/api/v1/runs")
    check(answer, 500, "fault")
    assert "secret" not in answer.text
    monkeypatch.setattr("app.web.routes.home.list_reports", fail)
    # A page is drawn without the part.
    with structlog.testing.capture_logs() as logged_later:
        page = web.client.get("/")
    assert page.status_code == 200
    assert "The fault is ours" in page.text
    assert "secret" not in page.text
    assert page.headers["content-type"].startswith("text/html")
    assert "content-security-policy" in page.headers
    assert "request_failed" in [line["event"] for line in logged]
    assert "page_part_failed" in [line["event"] for line in logged_later]
