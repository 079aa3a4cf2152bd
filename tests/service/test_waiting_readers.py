"""Many readers at once wait for a place of a call. None is refused as long as the wait is bearable."""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor

import httpx2
import pytest
from running_web import Web, web_of
from stage import Stage

from app.bounded import calls, waiting
from app.bounded.callers import Places

READERS = 24


@pytest.fixture(autouse=True)
def limits(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(calls, "_forker", None)
    yield
    calls.end()


@pytest.fixture
def web(stage: Stage) -> Iterator[Web]:
    with web_of(stage) as web:
        yield web


def taken_places() -> Places:
    """The places of strangers, all of them taken."""
    forker = calls._forker
    assert forker is not None
    forker.strangers.taken["192.0.2.1"] += forker.strangers.most
    return forker.strangers


@pytest.mark.parametrize("kind", ["", "/api/v1"])
def test_many_readers_of_runs_are_all_answered(web: Web, kind: str) -> None:
    ids = [web.stage.submit(f"print({number})").document.id for number in range(READERS)]
    with ThreadPoolExecutor(READERS) as readers:
        answers = list(readers.map(lambda run: web.client.get(f"{kind}/runs/{run}"), ids))
    assert [answer.status_code for answer in answers] == [200] * READERS
    assert all(run in answer.text for run, answer in zip(ids, answers, strict=True))


def test_a_reader_waits_until_a_place_is_free_and_holds_nothing_meanwhile(web: Web) -> None:
    run = web.stage.submit("print(1)").document.id
    places = taken_places()
    with ThreadPoolExecutor(READERS) as readers:
        waiting_readers: list[Future[httpx2.Response]] = [
            readers.submit(web.client.get, f"/runs/{run}") for _ in range(READERS)
        ]
        time.sleep(0.3)
        assert not any(reader.done() for reader in waiting_readers)
        # Far more wait than there are threads and connections, and others are answered at once.
        assert web.client.get("/readyz", timeout=5).status_code == 200
        assert web.client.post("/api/v1/runs", json={"script": "print(2)"}).status_code == 202
        places.taken.clear()
        assert {reader.result(30).status_code for reader in waiting_readers} == {200}


def test_a_reader_is_refused_in_the_end(web: Web, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waiting, "MOST_SECONDS", 0.2)
    run = web.stage.submit("print(1)").document.id
    places = taken_places()
    answer = web.client.get(f"/api/v1/runs/{run}")
    assert (answer.status_code, answer.json()["code"]) == (503, "busy")
    assert answer.headers["Retry-After"]
    page = web.client.head(f"/runs/{run}")
    assert page.status_code == 503
    places.taken.clear()
    assert web.client.get(f"/runs/{run}").status_code == 200


def test_too_many_readers_do_not_wait(web: Web, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waiting, "MOST_WAITING", 0)
    run = web.stage.submit("print(1)").document.id
    taken_places()
    assert web.client.get(f"/runs/{run}").status_code == 503
