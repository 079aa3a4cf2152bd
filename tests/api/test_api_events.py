"""The events of a run as a stream, over real HTTP: in order, replayed, ending with the run, costing no
session meanwhile.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator

import httpx2
import pytest
from api.follower import WAIT_SECONDS, Follower, following, held_sessions, wait_until
from pydantic import SecretStr
from running_web import Web, web_of
from stage import Stage, result


@pytest.fixture
def over_http(stage: Stage) -> Iterator[Web]:
    """A web over HTTP, with the node `n`."""
    stage.node("n")
    with web_of(stage) as web:
        yield web


def test_an_open_stream_holds_no_turn_of_an_idempotency_key(over_http: Web) -> None:
    """A stranger who guesses a key and follows a run with it must not delay the submission with that key."""
    key = {"Idempotency-Key": "guessed"}
    body = {"script": "raise RuntimeError('boom')\n", "claim": "RuntimeError: boom"}
    url = f"{over_http.url}/api/v1/runs"
    run_id = httpx2.post(url, json=body, timeout=WAIT_SECONDS).json()["id"]
    with following(over_http, run_id, **key) as follower:
        wait_until(lambda: bool(follower.lines))
        answer = httpx2.post(url, json={**body, "title": "other"}, headers=key, timeout=WAIT_SECONDS)
        assert answer.status_code == 202, answer.text
        assert not follower.ended.is_set()
        assert httpx2.post(f"{url}/{run_id}/cancel", timeout=WAIT_SECONDS).status_code == 200


def finish(stage: Stage) -> None:
    for attempt in stage.dispatch():
        stage.say(result(attempt, node="n"))


def test_a_stream_goes_along_and_ends_with_the_run(over_http: Web) -> None:
    stage = over_http.stage
    run_id = stage.submit().document.id
    with following(over_http, run_id) as follower:
        follower.wait_for("run.created")
        before = time.monotonic()
        attempts = stage.dispatch()
        follower.wait_for("attempt.leased")
        # Woken by the broker, long before the next look at the database.
        assert time.monotonic() - before < 5
        for attempt in attempts:
            stage.start(attempt, node="n")
            stage.say(result(attempt, node="n"))
    kinds = follower.values("event")
    assert kinds[0] == "run.created"
    assert kinds[-2:] == ["job.judged", "run.finished"]
    assert [kinds.count(kind) for kind in ("attempt.leased", "attempt.started", "attempt.recorded")] == [
        3,
        3,
        3,
    ]
    assert follower.values("id") == [str(number) for number in range(1, len(kinds) + 1)]


def test_a_stream_holds_ids_only(over_http: Web) -> None:
    run_id = over_http.stage.submit("print('secret words')\nraise RuntimeError('boom')\n").document.id
    finish(over_http.stage)
    with following(over_http, run_id) as follower:
        pass
    assert f'{{"run": "{run_id}"}}' in follower.values("data")
    assert not {"secret", "boom"} & set("\n".join(follower.lines).split())


def test_a_stream_is_replayed_from_where_it_was_left(over_http: Web) -> None:
    run_id = over_http.stage.submit().document.id
    finish(over_http.stage)
    with following(over_http, run_id) as whole:
        pass
    with following(over_http, run_id, **{"Last-Event-ID": "4"}) as rest:
        pass
    assert rest.values("id") == whole.values("id")[4:]
    assert rest.values("event") == whole.values("event")[4:]
    over = over_http.client.get(
        f"/api/v1/runs/{run_id}/events", headers={"Last-Event-ID": whole.values("id")[-1]}
    )
    assert (over.status_code, over.content) == (204, b"")


def test_a_stopped_run_ends_its_stream(over_http: Web) -> None:
    run_id = over_http.stage.submit().document.id
    with following(over_http, run_id) as follower:
        follower.wait_for("run.created")
        assert over_http.client.post(f"/api/v1/runs/{run_id}/cancel").status_code == 200
    assert follower.values("event")[-1] == "run.cancelled"


def test_a_run_that_was_opened_again_is_followed_beyond_its_first_end(over_http: Web) -> None:
    run_id = over_http.stage.submit(repeats=1).document.id
    finish(over_http.stage)
    added = over_http.client.post(
        f"/api/v1/runs/{run_id}/cells", json={"target": {"settings": {"threads": 1}}}
    )
    assert added.status_code == 202
    with following(over_http, run_id) as follower:
        follower.wait_for("job.added")
        finish(over_http.stage)
    kinds = follower.values("event")
    assert [kind for kind in kinds if kind.startswith("run.")] == [
        "run.created",
        "run.finished",
        "run.reopened",
        "run.finished",
    ]


def test_many_streams_hold_no_session(over_http: Web) -> None:
    stage = over_http.stage
    run_id = stage.submit().document.id
    followers = [Follower() for _ in range(40)]
    threads = [
        threading.Thread(
            target=one.read, args=(f"{over_http.url}/api/v1/runs/{run_id}/events", {}), daemon=True
        )
        for one in followers
    ]
    for thread in threads:
        thread.start()
    for follower in followers:
        follower.wait_for("run.created")
    # More streams than connections in the pool, and requests are answered, and nobody sits in a transaction.
    assert len(followers) > 2 * stage.settings.database_pool_size
    assert over_http.client.get(f"/api/v1/runs/{run_id}", timeout=20).status_code == 200
    wait_until(lambda: held_sessions(stage) == 0)
    assert over_http.client.post(f"/api/v1/runs/{run_id}/cancel", timeout=20).status_code == 200
    for follower in followers:
        assert follower.ended.wait(WAIT_SECONDS)
        assert follower.values("event")[-1] == "run.cancelled"


def test_a_stream_goes_on_without_a_broker(stage: Stage) -> None:
    stage.node("n")
    with web_of(stage, broker_url=SecretStr("redis+socket:///nonexistent/socket")) as web:
        run_id = stage.submit().document.id
        with following(web, run_id) as follower:
            follower.wait_for("run.created")
            finish(stage)
        assert follower.values("event")[-1] == "run.finished"


@pytest.mark.parametrize("last", ["x", "-1", "1.5", "9999999999", "²"])
def test_a_last_event_that_is_none(over_http: Web, last: str) -> None:
    run_id = over_http.stage.submit().document.id
    answer = over_http.client.get(f"/api/v1/runs/{run_id}/events", headers={"Last-Event-ID": last.encode()})
    assert (answer.status_code, answer.json()["code"]) == (422, "bad_last_event_id")


def test_the_stream_of_no_run(over_http: Web) -> None:
    assert over_http.client.get("/api/v1/runs/nothing/events").status_code == 404
