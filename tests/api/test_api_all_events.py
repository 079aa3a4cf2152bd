"""The events of all runs: one order that never changes, live, resumed, and nothing passed over."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager

import httpx2
import pytest
from running_web import Web, web_of
from stage import Stage, result

from app.errors import InputError
from app.runs.rows.events import START, Place, emit, events_of_all, newest_place, place_of
from app.storage.queries.runs import lock_run


def finish(stage: Stage) -> None:
    for attempt in stage.dispatch():
        stage.start(attempt, node="n")
        stage.say(result(attempt, node="n"))


@pytest.fixture
def over_http(stage: Stage) -> Iterator[Web]:
    stage.node("n")
    with web_of(stage) as web:
        yield web


@contextmanager
def stream(web: Web, *, since: str | None = None, last: str | None = None) -> Iterator[Iterator[list[str]]]:
    """The events of an open stream, each as its id, kind and run."""
    headers = {} if last is None else {"Last-Event-ID": last}
    parameters = {} if since is None else {"since": since}
    url = f"{web.url}/api/v1/events"
    with httpx2.stream("GET", url, params=parameters, headers=headers, timeout=30) as answer:
        assert answer.headers["content-type"].startswith("text/event-stream")
        yield _events(answer.iter_lines())


def _events(lines: Iterator[str]) -> Iterator[list[str]]:
    event: dict[str, str] = {}
    for line in lines:
        name, _, value = line.partition(": ")
        event[name] = value
        if not line:
            if "id" in event:
                yield [event["id"], event["event"], json.loads(event["data"])["run"]]
            event = {}


def until(events: Iterator[list[str]], kind: str) -> list[list[str]]:
    found = []
    for event in events:
        found.append(event)
        if event[1] == kind:
            return found
    raise AssertionError(found)


def test_all_runs_are_followed_live_and_again_from_any_place(over_http: Web) -> None:
    stage = over_http.stage
    old = stage.submit().document.id
    with stream(over_http) as events:
        new = stage.submit("raise RuntimeError('boom')  # other\n").document.id
        finish(stage)
        live = until(events, "run.finished")
        live += until(events, "run.finished")
    # What was there before is not told again.
    assert (old, "run.created") not in {(run, kind) for _, kind, run in live}
    assert {run for _, _, run in live} == {old, new}
    with stream(over_http, since="0") as events:
        every = [next(events) for _ in range(len(live) + 1)]
    assert every[0][1:] == ["run.created", old]
    assert every[1:] == live
    with stream(over_http, since="0", last=live[3][0]) as events:
        assert [next(events) for _ in live[4:]] == live[4:]


def test_nothing_is_passed_over_while_an_earlier_transaction_is_under_way(stage: Stage) -> None:
    stage.node("n")
    first, second = (stage.submit(f"print({number})\n").document.id for number in (1, 2))
    with stage.session() as session:
        before = newest_place(session)
        assert events_of_all(session, before) == ([], False)
    with stage.session() as slow:
        run = lock_run(slow, first)
        assert run is not None
        emit(slow, run, "job.added", job="slow")
        slow.flush()
        with stage.session() as quick:
            other = lock_run(quick, second)
            assert other is not None
            emit(quick, other, "job.added", job="quick")
        with stage.session() as session:
            assert events_of_all(session, before) == ([], True)
    with stage.session() as session:
        found, is_held_back = events_of_all(session, before)
        assert ([event.ids["job"] for _, event in found], is_held_back) == (["slow", "quick"], False)
        assert events_of_all(session, found[0][0])[0] == found[1:]
        assert events_of_all(session, found[1][0]) == ([], False)


def test_a_place_is_a_word() -> None:
    place = Place(812, "01k1v3q4x5y6z7a8b9c0d1e2f3", 7)
    assert place_of(str(place)) == place
    assert place > START
    for text in ("x", "-1", "1-2", "1-a-b", "1-a-1 ", "²-a-1", "9" * 30 + "-a-1"):
        with pytest.raises(InputError):
            place_of(text)


def test_a_place_of_another_history_is_refused(over_http: Web) -> None:
    for since, code in (("999999999999-01k-1", "unknown_place"), ("new", "bad_since")):
        answer = over_http.client.get("/api/v1/events", params={"since": since})
        assert (answer.status_code, answer.json()["code"]) == (422, code)
    assert over_http.client.head("/api/v1/events").status_code == 200


def test_a_restored_database_has_its_old_events_first(stage: Stage) -> None:
    """As `samehere restore` leaves them: their transactions were those of another database."""
    stage.node("n")
    run_id = stage.submit().document.id
    with stage.session() as session:
        session.connection().exec_driver_sql("UPDATE event SET transaction = 0")
    with stage.session() as session:
        found, _ = events_of_all(session, START)
    assert [event.ids["run"] for _, event in found] == [run_id]
