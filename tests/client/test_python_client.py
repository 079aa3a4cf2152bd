"""`samehere_client` against a real service and against a server that fails; its page runs as it stands."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest
from event_loop import run_in_thread
from running_web import web_of
from scripted_server import Answer, Scripted, answer
from stage import Stage
from working_node import working

from app.api.answers.run_answer import BriefAnswer, SubmittedRun
from app.ids import new_id
from app.runs.run_object.answer.brief import NextStep as ServiceStep
from app.runs.run_object.answer.part import AnswerPart
from samehere_client import (
    Answer as ClientAnswer,
)
from samehere_client import (
    ApiError,
    AsyncClient,
    Brief,
    Client,
    ConflictError,
    InvalidError,
    MovedError,
    NextStep,
    QuotaError,
    Run,
    UnreachableError,
)

PAGE = Path(__file__).parents[2] / "docs" / "python-client.md"
RUN = new_id()
BRIEF = {
    "id": RUN,
    "state": "finished",
    "verdict": "reproduced",
    "overruled": None,
    "defect": "undecided",
    "what": "It happens, as reported.",
    "where": "Seen on AMD EPYC.",
    "how_sure": "3 of 3 attempts.",
    "whose": "Open.",
    "caveat": "",
    "next": {"code": "bisect", "text": "Find the version."},
    "ask": [],
    "contributed": False,
    "links": {"page": "https://samehere.example/runs/1"},
    "of_a_newer_service": 1,
}


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The waits of both clients, which take no time."""
    seconds: list[float] = []

    async def note(wait: float) -> None:
        seconds.append(wait)

    monkeypatch.setattr("samehere_client.plain.time.sleep", seconds.append)
    monkeypatch.setattr(anyio, "sleep", note)
    return seconds


@pytest.fixture
def server(waits: list[float]) -> Iterator[Scripted]:
    service = Scripted()
    yield service
    service.server.shutdown()
    service.server.server_close()
    service.thread.join()


def call(url: str, name: str, *words: Any, is_async: bool, **fields: Any) -> Any:
    """The result of one method of one of the clients."""
    if not is_async:
        with Client(url) as client:
            return getattr(client, name)(*words, **fields)
    results = []

    async def main() -> None:
        async with AsyncClient(url) as client:
            results.append(await getattr(client, name)(*words, **fields))

    run_in_thread(main)
    return results[0]


def test_the_page_runs_as_it_stands(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    blocks = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(), flags=re.DOTALL | re.MULTILINE)
    names: dict[str, Any] = {}
    stage.node("n")
    with web_of(stage) as web, working(stage):
        monkeypatch.setenv("SAMEHERE", web.url)
        monkeypatch.delenv("SAMEHERE_TOKEN", raising=False)
        *plain, with_loop = blocks
        exec(compile("\n".join(plain), str(PAGE), "exec"), names)  # noqa: S102 - the page is ours
        assert names["brief"].verdict == "reproduced"
        assert f"Evidence: {web.url}/runs/{names['run'].id}" in names["comment"]
        assert "boom" not in names["comment"]
        assert names["event"].kind == "run.finished"
        assert names["first"].kind == "run.created"

        async def main() -> None:
            names["verdict"] = await names["verdict_of"]("raise RuntimeError('boom')\n", "RuntimeError: boom")

        loop, _, _ = with_loop.partition("print(asyncio.run")
        exec(compile(loop, str(PAGE), "exec"), names)  # noqa: S102 - the page is ours
        run_in_thread(main)
        assert names["verdict"] == "reproduced"


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [(Brief, BriefAnswer), (NextStep, ServiceStep), (ClientAnswer, AnswerPart), (Run, SubmittedRun)],
)
def test_every_field_of_a_model_is_one_of_the_service(ours: Any, theirs: Any) -> None:
    assert set(ours.model_fields) <= set(theirs.model_fields)


@pytest.mark.parametrize("is_async", [False, True])
def test_a_submission_is_repeated_under_one_key_and_waits_as_it_is_asked(
    server: Scripted, waits: list[float], *, is_async: bool
) -> None:
    server.answers["POST /api/v1/runs"] = [
        answer({"detail": "busy"}, 429, **{"Retry-After": "7"}),
        (0, {}, b""),
        answer({}, 503),
        answer({"id": RUN, "state": "queued", "created_at": "2026-11-30T00:00:00Z"}, 202),
    ]
    run = call(server.url, "submit", script="print(1)", wait=90, is_async=is_async)
    assert (run.id, run.state) == (RUN, "queued")
    assert waits == [7.0, 1.0, 2.0]
    assert len({headers["Idempotency-Key"] for _, headers, _ in server.asked}) == 1
    assert {body for _, _, body in server.asked} == {b'{"script": "print(1)"}'}
    assert server.asked[0][1]["Prefer"] == "wait=30"


@pytest.mark.parametrize("is_async", [False, True])
def test_what_has_no_key_and_changes_something_is_sent_once(server: Scripted, *, is_async: bool) -> None:
    from samehere_client.exchange import Request

    server.answers["POST /api/v1/reports/x/close"] = [(0, {}, b"")]
    with pytest.raises(UnreachableError):
        call(server.url, "send", Request("POST", "/reports/x/close", body={}), is_async=is_async)
    assert len(server.asked) == 1


@pytest.mark.parametrize("is_async", [False, True])
@pytest.mark.parametrize(
    ("status", "kind"), [(409, ConflictError), (422, InvalidError), (429, QuotaError), (418, ApiError)]
)
def test_a_problem_is_an_error_with_its_document(
    server: Scripted, status: int, kind: type[ApiError], *, is_async: bool
) -> None:
    problem = {"title": "Refused", "status": status, "code": "some_code", "detail": "Because.", "field": "x"}
    server.answers["POST /api/v1/gate"] = [answer(problem, status, **{"Retry-After": "2"})]
    with pytest.raises(kind, match=r"Because\.") as refused:
        call(server.url, "gate", ["a"], is_async=is_async)
    assert (refused.value.problem.code, refused.value.problem.field) == ("some_code", "x")
    assert refused.value.retry_after == 2.0


@pytest.mark.parametrize("is_async", [False, True])
@pytest.mark.parametrize("content", [b"<html>", b"[1]", b"", b'{"id": 1}'])
def test_an_answer_of_another_program_is_no_brief(
    server: Scripted, content: bytes, *, is_async: bool
) -> None:
    server.answers[f"GET /api/v1/runs/{RUN}?view=brief"] = [(200, {}, content)]
    with pytest.raises(UnreachableError, match="samehere service"):
        call(server.url, "brief", RUN, is_async=is_async)
    server.answers[f"GET /api/v1/runs/{RUN}?view=brief"] = [(307, {"Location": "http://127.0.0.1:9/"}, b"")]
    with pytest.raises(MovedError):
        call(server.url, "brief", RUN, is_async=is_async)


@pytest.mark.parametrize("is_async", [False, True])
def test_waiting_ends_with_the_run_or_with_the_time(server: Scripted, *, is_async: bool) -> None:
    address = f"GET /api/v1/runs/{RUN}?view=brief"
    server.answers[address] = [answer({**BRIEF, "state": "running", "verdict": None}), answer(BRIEF)]
    brief = call(server.url, "wait", RUN, is_async=is_async)
    assert (brief.verdict, brief.model_extra) == ("reproduced", {"of_a_newer_service": 1})
    server.answers[address] = [answer({**BRIEF, "state": "running", "verdict": None})]
    with pytest.raises(TimeoutError):
        call(server.url, "wait", RUN, seconds=0, is_async=is_async)


def stream(text: str) -> Answer:
    return 200, {"Content-Type": "text/event-stream"}, text.encode()


@pytest.mark.parametrize("is_async", [False, True])
def test_a_broken_stream_goes_on_behind_the_last_event(server: Scripted, *, is_async: bool) -> None:
    server.answers[f"GET /api/v1/runs/{RUN}"] = [
        answer({"id": RUN, "state": "running", "created_at": "2026-11-30T00:00:00Z"})
    ]
    server.answers[f"GET /api/v1/runs/{RUN}/events"] = [
        stream('id: 1\nevent: run.created\ndata: {"run": "x"}\n\nid: 2\nevent: attempt.star'),
        (503, {}, b"{}"),
        stream(": nothing\n\nid: 2\nevent: run.finished\ndata: {}\n\nid: 3\nevent: never\ndata: {}\n\n"),
    ]
    events: list[Any] = []

    async def main() -> None:
        async with AsyncClient(server.url) as client:
            events.extend([event async for event in client.events(RUN)])

    if is_async:
        run_in_thread(main)
    else:
        with Client(server.url) as client:
            events.extend(client.events(RUN))
    assert [(event.place, event.kind) for event in events] == [("1", "run.created"), ("2", "run.finished")]
    places = [headers.get("Last-Event-ID") for key, headers, _ in server.asked if key.endswith("/events")]
    assert places == [None, "1", "1"]


def test_nothing_but_an_id_gets_into_a_path() -> None:
    for name in ("run", "brief", "wait", "cancel"):
        with pytest.raises(ValueError, match="26 characters"):
            getattr(Client("http://127.0.0.1:9"), name)("../../etc")
    for url in ("", "ftp://x", "http://h:99999", "http://u:p@h", "http://h/?a=b"):
        with pytest.raises(ValueError, match=r"server|[Pp]ort"):
            Client(url)


@pytest.mark.parametrize("is_async", [False, True])
def test_a_query_in_the_path_is_sent(server: Scripted, *, is_async: bool) -> None:
    from samehere_client.exchange import Request

    server.answers["POST /api/v1/runs?dry_run=1"] = [answer({"id": RUN})]
    sent = call(server.url, "send", Request("POST", "/runs?dry_run=1", body={}), is_async=is_async)
    assert sent.status == 200
