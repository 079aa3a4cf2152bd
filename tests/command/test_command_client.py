"""The client, if the service is away, refuses, moves, or breaks off; a real HTTP server plays it."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest
from scripted_server import JSON, Answer, Scripted, answer

from app.command.service.client import Client
from app.errors import (
    ForbiddenError,
    InputError,
    NotFoundError,
    SamehereError,
    UnauthorisedError,
    UnavailableError,
)
from app.ids import new_id
from samehere_client.exchange import TRIES


@pytest.fixture
def scripted(monkeypatch: pytest.MonkeyPatch) -> Iterator[Scripted]:
    monkeypatch.setattr(time, "sleep", lambda _seconds: None)
    service = Scripted()
    yield service
    service.server.shutdown()
    service.server.server_close()
    service.thread.join()


def test_a_service_that_is_away_is_asked_again_under_the_same_key(scripted: Scripted) -> None:
    scripted.answers["POST /api/v1/runs"] = [
        answer({}, 503, **{"Retry-After": "1"}),
        (0, {}, b""),
        answer({"id": "x"}, 202),
    ]
    assert Client(scripted.url).submit({"script": "1"}, idempotency_key="k1") == {"id": "x"}
    assert [asked[1]["Idempotency-Key"] for asked in scripted.asked] == ["k1"] * 3
    assert {asked[2] for asked in scripted.asked} == {b'{"script": "1"}'}


def test_a_plan_is_no_submission_and_a_list_goes_on_at_its_cursor(scripted: Scripted) -> None:
    scripted.answers["POST /api/v1/runs?dry_run=1"] = [answer({"id": "planned"})]
    scripted.answers["GET /api/v1/changes?limit=200&cursor=7"] = [answer({"items": []})]
    client = Client(scripted.url)
    assert client.plan({"script": "1"}) == {"id": "planned"}
    assert client.changes(cursor="7") == {"items": []}


def test_a_service_that_stays_away_is_given_up(scripted: Scripted) -> None:
    scripted.answers["POST /api/v1/runs"] = [
        answer({"detail": "The database is down."}, 503, **{"Retry-After": "3"})
    ]
    with pytest.raises(UnavailableError, match="database is down"):
        Client(scripted.url).submit({}, idempotency_key="k")
    assert scripted.count("POST /api/v1/runs") == TRIES


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (401, UnauthorisedError),
        (403, ForbiddenError),
        (404, NotFoundError),
        (422, InputError),
        (500, UnavailableError),
    ],
)
def test_a_problem_is_said_in_its_own_words_and_not_asked_again(
    scripted: Scripted, status: int, kind: type[SamehereError]
) -> None:
    problem = {"title": "Refused", "status": status, "code": "some_code", "detail": "Because of that."}
    scripted.answers["POST /api/v1/runs"] = [answer(problem, status)]
    with pytest.raises(kind, match=r"Because of that\.") as refused:
        Client(scripted.url).submit({}, idempotency_key="k")
    assert refused.value.code == "some_code"
    assert scripted.count("POST /api/v1/runs") == 1


def test_a_token_does_not_follow_a_redirect(scripted: Scripted) -> None:
    run = new_id()
    scripted.answers[f"GET /api/v1/runs/{run}"] = [(307, {"Location": f"{scripted.url}/elsewhere"}, b"")]
    with pytest.raises(InputError, match="another address"):
        Client(scripted.url, token="samehere_secret").run(run)
    assert [asked[0] for asked in scripted.asked] == [f"GET /api/v1/runs/{run}"]
    assert scripted.asked[0][1]["Authorization"] == "Bearer samehere_secret"


@pytest.mark.parametrize("content", [b"<html>", b"[1]", b""])
def test_an_answer_that_is_no_run_is_told(scripted: Scripted, content: bytes) -> None:
    scripted.answers["POST /api/v1/runs"] = [(200, JSON, content)]
    with pytest.raises(UnavailableError, match="samehere service"):
        Client(scripted.url).submit({}, idempotency_key="k")


def test_an_id_that_is_none_goes_into_no_path(scripted: Scripted) -> None:
    with pytest.raises(UnavailableError):
        Client(scripted.url).run("../../etc")
    assert scripted.asked == []


@pytest.mark.parametrize(
    "stream",
    [
        b"id: 1\nevent: run.created\ndata: {}\n\nid: 2\nevent: run.finished\ndata: {}\n\n",
        b": ping\n\nid: 1\nevent: attempt.started\n",
        b"",
        None,
    ],
    ids=["to its end", "broken off", "empty", "refused"],
)
def test_a_run_is_followed_to_its_end_whatever_the_stream_does(
    scripted: Scripted, stream: bytes | None
) -> None:
    run = new_id()
    path = f"GET /api/v1/runs/{run}"
    scripted.answers[path] = [
        answer({"id": run, "state": state}) for state in ("queued", "running", "finished")
    ]
    events: Answer = (
        (404, {}, b"") if stream is None else (200, {"Content-Type": "text/event-stream"}, stream)
    )
    scripted.answers[f"{path}/events"] = [events]
    assert [state["state"] for state in Client(scripted.url).follow(run)] == ["queued", "running", "finished"]


def test_a_stream_goes_on_after_the_last_event_that_was_seen(scripted: Scripted) -> None:
    run = new_id()
    path = f"GET /api/v1/runs/{run}"
    scripted.answers[path] = [
        answer({"id": run, "state": state}) for state in ("queued", "queued", "finished")
    ]
    scripted.answers[f"{path}/events"] = [
        (200, {"Content-Type": "text/event-stream"}, b"id: 7\nevent: attempt.started\n\n")
    ]
    list(Client(scripted.url).follow(run))
    asked = [headers.get("Last-Event-ID") for key, headers, _ in scripted.asked if key.endswith("/events")]
    assert asked == [None, "7"]


@pytest.mark.parametrize(
    "url", ["", "ftp://x", "http://", "127.0.0.1:80", "http://h:99999", "http://u:p@h", "http://h/?a=b"]
)
def test_what_is_no_address_is_refused(url: str) -> None:
    with pytest.raises(InputError):
        Client(url)


def test_a_token_with_a_line_end_is_refused() -> None:
    with pytest.raises(InputError):
        Client("http://127.0.0.1", token="a\r\nX: y")
