"""`Prefer: wait=SECONDS`: an answer waits for the end of the run, without a session meanwhile."""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import httpx2
import pytest
from api.follower import held_sessions, wait_until
from event_loop import run_in_thread
from running_web import web_of
from stage import Stage, result

from app.errors import UnavailableError
from app.http.prefer import preferred_wait
from app.http.streams.announcements import Announcements
from app.storage.models import RunRow

BODY = {"script": "raise RuntimeError('boom')\n", "claim": "RuntimeError: boom"}
WAIT = {"Prefer": "wait=40"}


@pytest.mark.parametrize(
    ("values", "seconds"),
    [
        (["wait=5"], 5),
        (['respond-async, WAIT = "7" ; x=1'], 7),
        (["wait=5, wait=9"], 5),
        (["return=minimal", "wait=3"], 3),
        (["wait=500"], 30),
        (["wait=0"], 0),
        (["wait=soon"], None),
        (["wait"], None),
        (["wait=-1"], None),
        ([], None),
    ],
)
def test_the_header_is_read_as_the_standard_says(values: list[str], seconds: float | None) -> None:
    assert preferred_wait(values, most=30) == seconds


def answered(stage: Stage, waiting: Future[httpx2.Response]) -> dict[str, Any]:
    """Let the node `n` do everything while a request waits; the answer."""
    while attempts := stage.dispatch():
        for attempt in attempts:
            stage.start(attempt, node="n")
            stage.say(result(attempt, node="n"))
    answer = waiting.result(60)
    assert answer.headers["preference-applied"] == "wait=30"
    return dict(answer.json())


def test_a_submission_and_a_look_wait_for_the_end(stage: Stage) -> None:
    stage.node("n")
    with web_of(stage) as web, ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(web.client.post, "/api/v1/runs", json=BODY, headers=WAIT)
        wait_until(lambda: stage.count(RunRow) == 1)
        wait_until(lambda: held_sessions(stage) == 0)
        assert not waiting.done()
        run = answered(stage, waiting)
        assert waiting.result().status_code == 200
        assert waiting.result().headers["location"] == f"/api/v1/runs/{run['id']}"
        assert (run["state"], run["verdict"]) == ("finished", "reproduced")
        assert run["withdraw_url"].startswith(f"{web.url}/withdraw/")
        assert run["links"]["page"] == f"{web.url}/runs/{run['id']}"

        body = {"which": "all"}
        again = web.client.post(f"/api/v1/runs/{run['id']}/rerun", json=body).json()["id"]
        waiting = pool.submit(web.client.get, f"/api/v1/runs/{again}", headers=WAIT)
        assert answered(stage, waiting)["state"] == "finished"
        # What has ended is answered at once.
        assert web.client.get(f"/api/v1/runs/{again}", headers=WAIT).json()["id"] == again


def test_the_operator_bounds_the_wait(stage: Stage) -> None:
    stage.node("n")
    with web_of(stage, wait_seconds=0.05) as web:
        answer = web.client.post("/api/v1/runs", json=BODY, headers=WAIT)
        assert (answer.status_code, answer.headers["preference-applied"]) == (202, "wait=0.05")
        assert answer.json()["state"] == "queued"
        address = answer.headers["location"]
        assert web.client.get(address, headers=WAIT).json()["state"] == "queued"
        assert web.client.head(address, headers=WAIT).status_code == 200
        plan = web.client.post("/api/v1/runs?dry_run=1", json=BODY, headers=WAIT)
        assert (plan.status_code, plan.json()["url"]) == (200, None)
        assert web.client.get("/api/v1/runs/nothing", headers=WAIT).status_code == 404
        assert "preference-applied" not in web.client.get(address).headers


def test_one_caller_does_not_take_all_streams() -> None:
    async def scene() -> None:
        announcements = Announcements("redis://localhost:1", most=3, most_of_caller=1)
        with announcements.listening("a", caller="address:192.0.2.1"):
            with pytest.raises(UnavailableError):
                announcements.require_room("address:192.0.2.1")
            with (
                announcements.listening("a", caller=None),
                announcements.listening("b", caller=None),
                pytest.raises(UnavailableError),
            ):
                announcements.require_room("address:192.0.2.2")
            announcements.require_room("address:192.0.2.2")
        announcements.require_room("address:192.0.2.1")
        await announcements.close()

    run_in_thread(scene)


def test_there_is_a_limit_of_waits(stage: Stage) -> None:
    stage.node("n")
    with web_of(stage, streams=1) as web:
        run_id = stage.submit().document.id
        with httpx2.stream("GET", f"{web.url}/api/v1/runs/{run_id}/events", timeout=60) as first:
            lines = first.iter_lines()
            next(lines)
            at_once = web.client.get(f"/api/v1/runs/{run_id}", headers=WAIT)
            assert (at_once.status_code, at_once.json()["state"]) == (200, "queued")
            assert "preference-applied" not in at_once.headers
            stream = web.client.get(f"/api/v1/runs/{run_id}/events")
            assert (stream.status_code, stream.json()["code"]) == (503, "too_many_streams")
