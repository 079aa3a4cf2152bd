"""An idempotency key is answered once, also when its requests come at the same time."""

from __future__ import annotations

import asyncio
import hashlib
from collections import Counter
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from api.web_client import Web, serving
from fastapi import Request
from sqlalchemy import select, update
from stage import together

from app.http.one_at_a_time import OneAtATime, take_turn
from app.runs.maintenance.tokens import Scope
from app.runs.submission.submit import Submission
from app.settings import ServiceSettings
from app.storage.models import IdempotencyKeyRow, RunRow
from app.targets.target import Target
from worker.contract import Outcome

BODY = {"script": "raise RuntimeError('boom')\n", "claim": "RuntimeError: boom"}


def test_together(web: Web) -> None:
    def send():
        return web.client.post("/api/v1/runs", json=BODY, headers={"Idempotency-Key": "one"})

    answers = together(*[send] * 8)
    assert [answer.status_code for answer in answers] == [202] * 8
    assert len({answer.json()["id"] for answer in answers}) == 1
    assert web.stage.count(RunRow) == 1


def test_fifty_together(web: Web) -> None:
    """Those that wait for the first hold no connection, so none is refused, and others are not delayed."""

    def send():
        return web.client.post("/api/v1/runs", json=BODY, headers={"Idempotency-Key": "one"})

    answers = together(*[send] * 50)
    assert Counter(answer.status_code for answer in answers) == {202: 50}
    assert len({(answer.json()["id"], answer.json()["withdraw_url"]) for answer in answers}) == 1
    assert web.stage.count(RunRow) == 1


def test_nobody_takes_the_key_of_another_token(web: Web) -> None:
    """Keys can be guessed. Whoever uses one first changes nothing for its owner."""
    key = {"Idempotency-Key": "https://github.com/numpy/numpy/issues/7"}
    stranger, owner = (web.token(Scope.SUBMIT) | key for _ in range(2))
    other = {**BODY, "claim": "ValueError: other"}
    ids = [
        web.client.post("/api/v1/runs", json=body, headers=headers)
        for body, headers in ((other, stranger), (BODY, owner), (other, stranger), (BODY, owner), (BODY, key))
    ]
    assert [answer.status_code for answer in ids] == [202] * 5
    first, own, first_again, own_again, nobodys = (answer.json() for answer in ids)
    assert (first["id"], own["id"]) == (first_again["id"], own_again["id"])
    assert len({first["id"], own["id"], nobodys["id"]}) == 3
    assert own["withdraw_url"] == own_again["withdraw_url"]
    change = f"/api/v1/runs/{own['id']}/cancel"
    assert web.client.post(change, headers=owner).status_code == 422
    # A key that an earlier version stored, for all callers together, is still that of its owner alone.
    with web.stage.session() as session:
        session.execute(
            update(IdempotencyKeyRow)
            .where(IdempotencyKeyRow.run_id == own["id"])
            .values(key="sha256:" + hashlib.sha256(b"earlier").hexdigest())
        )
    earlier = {"Idempotency-Key": "earlier"}
    for headers, same in ((owner | earlier, True), (stranger | earlier, False)):
        answer = web.client.post("/api/v1/runs", json=BODY, headers=headers)
        assert (answer.json()["id"] == own["id"]) is same


def test_a_repeated_request_gets_the_withdraw_link_again(web: Web) -> None:
    headers = {"Idempotency-Key": "one"}
    first, second = (web.client.post("/api/v1/runs", json=BODY, headers=headers).json() for _ in range(2))
    assert first["withdraw_url"] is not None
    assert second["withdraw_url"] == first["withdraw_url"]
    with web.stage.session() as session:
        row = session.scalars(select(IdempotencyKeyRow)).one()
        stored = f"{row.key} {row.salt}"
    assert "one" not in stored.split()
    assert first["withdraw_url"].rsplit("/", 1)[1] not in stored
    erased = web.client.post(first["withdraw_url"], follow_redirects=False)
    assert erased.status_code == 303
    assert web.client.post("/api/v1/runs", json=BODY, headers=headers).json()["withdraw_url"] is None


def test_only_the_token_that_submitted_gets_the_withdraw_link_again(web: Web) -> None:
    owner, other = web.token(Scope.SUBMIT), web.token(Scope.ADMIN)
    key = {"Idempotency-Key": "one"}
    first = web.client.post("/api/v1/runs", json=BODY, headers={**key, **owner}).json()
    again = web.client.post("/api/v1/runs", json=BODY, headers={**key, **owner}).json()
    assert (again["id"], again["withdraw_url"]) == (first["id"], first["withdraw_url"])
    for headers in ({}, other):
        own = web.client.post("/api/v1/runs", json=BODY, headers={**key, **headers}).json()
        assert own["id"] != first["id"]
        assert own["withdraw_url"] != first["withdraw_url"]


def test_without_a_token_it_is_given_again_on_loopback_only(settings: ServiceSettings) -> None:
    """Elsewhere anyone could guess the key of an import and erase the report of a stranger."""
    open_to_all = settings.model_copy(
        update={"host": "0.0.0.0", "anonymous_scopes": ("read", "submit")}  # noqa: S104  # nothing is bound
    )
    with serving(open_to_all) as web:
        web.stage.node("n")
        headers = {"Idempotency-Key": "one"}
        first, second = (web.client.post("/api/v1/runs", json=BODY, headers=headers).json() for _ in range(2))
    assert first["id"] == second["id"]
    assert first["withdraw_url"] is not None
    assert second["withdraw_url"] is None


def test_a_key_that_was_stored_as_it_is_still_counts(web: Web) -> None:
    """Rows of earlier versions hold the key itself, and no salt."""
    headers = {"Idempotency-Key": "one"}
    first = web.client.post("/api/v1/runs", json=BODY, headers=headers).json()
    with web.stage.session() as session:
        session.execute(update(IdempotencyKeyRow).values(key="one", salt=None))
    again = web.client.post("/api/v1/runs", json=BODY, headers=headers).json()
    assert (again["id"], again["withdraw_url"]) == (first["id"], None)


def test_a_rerun_is_done_once(web: Web) -> None:
    run = web.post()
    web.finish(run["id"], outcome=Outcome.SETUP_FAILED)
    headers, address = {"Idempotency-Key": "again"}, f"/api/v1/runs/{run['id']}/rerun"
    first = web.client.post(address, json={"which": "undecided"}, headers=headers)
    assert first.status_code == 202, first.text
    web.finish(run["id"])
    second = web.client.post(address, json={"which": "undecided"}, headers=headers)
    assert (second.status_code, second.json()["id"], second.json()["state"]) == (202, run["id"], "finished")
    other = web.client.post(address, json={"which": "failed"}, headers=headers)
    assert (other.status_code, other.json()["code"]) == (422, "idempotency_key_reused")


def test_a_refused_rerun_leaves_the_key_free(web: Web) -> None:
    run = web.post()
    web.finish(run["id"])
    headers, address = {"Idempotency-Key": "again"}, f"/api/v1/runs/{run['id']}/rerun"
    assert web.client.post(address, json={"which": "failed"}, headers=headers).status_code == 409
    assert web.client.post(address, json={"which": "all"}, headers=headers).status_code == 202


def test_a_repeated_cancellation_cancels_no_rerun(web: Web) -> None:
    run = web.post()
    address = f"/api/v1/runs/{run['id']}"
    headers = {"Idempotency-Key": "stop"}
    assert web.client.post(f"{address}/cancel", headers=headers).json()["state"] == "cancelled"
    again = web.client.post(f"{address}/rerun", json={"which": "failed"})
    assert again.status_code == 202, again.text
    repeated = web.client.post(f"{address}/cancel", headers=headers)
    assert (repeated.status_code, repeated.json()["state"]) == (200, "running")
    assert web.client.post(f"{address}/cancel").json()["state"] == "cancelled"


def test_a_cell_is_cancelled_and_added_once(web: Web) -> None:
    run = web.post()
    address, job = f"/api/v1/runs/{run['id']}", run["jobs"][0]["id"]
    stop, add = {"Idempotency-Key": "stop"}, {"Idempotency-Key": "add"}
    target = {"target": {"settings": {"threads": 1}}}
    added = [web.client.post(f"{address}/cells", json=target, headers=add) for _ in range(2)]
    assert [answer.status_code for answer in added] == [202, 202]
    assert len(added[1].json()["jobs"]) == len(run["jobs"]) + 1
    for _ in range(2):
        assert web.client.post(f"{address}/cells/{job}/cancel", headers=stop).status_code == 200
    other = web.client.post(f"{address}/cancel", headers=stop)
    assert (other.status_code, other.json()["code"]) == (422, "idempotency_key_reused")


def test_together_with_different_bodies(web: Web) -> None:
    def send(number: int):
        return lambda: web.client.post(
            "/api/v1/runs", json={**BODY, "title": str(number % 2)}, headers={"Idempotency-Key": "one"}
        )

    answers = together(*[send(number) for number in range(6)])
    assert sorted(answer.status_code for answer in answers) == [202] * 3 + [422] * 3
    assert {answer.json()["code"] for answer in answers if answer.status_code == 422} == {
        "idempotency_key_reused"
    }
    assert web.stage.count(RunRow) == 1


def test_later_the_run_as_it_is_now(web: Web) -> None:
    headers = {"Idempotency-Key": "one"}
    run = web.client.post("/api/v1/runs", json=BODY, headers=headers).json()
    web.finish(run["id"])
    again = web.client.post("/api/v1/runs", json=BODY, headers=headers)
    assert (again.json()["id"], again.json()["state"]) == (run["id"], "finished")
    assert again.headers["location"] == f"/api/v1/runs/{run['id']}"


def test_a_refused_body_leaves_the_key_free(web: Web) -> None:
    headers = {"Idempotency-Key": "one"}
    assert web.client.post("/api/v1/runs", json={**BODY, "preset": "nix"}, headers=headers).status_code == 422
    assert web.client.post("/api/v1/runs", json=BODY, headers=headers).status_code == 202


def test_a_dry_run_takes_no_key(web: Web) -> None:
    headers = {"Idempotency-Key": "one"}
    assert web.client.post("/api/v1/runs?dry_run=1", json=BODY, headers=headers).status_code == 200
    assert (
        web.client.post("/api/v1/runs", json={**BODY, "title": "other"}, headers=headers).status_code == 202
    )


def test_running_a_report_again(web: Web) -> None:
    report = web.client.post("/api/v1/runs", json=BODY).json()["report"]["id"]
    headers = {"Idempotency-Key": "again"}
    first, second = (
        web.client.post(f"/api/v1/reports/{report}/runs", json={}, headers=headers) for _ in range(2)
    )
    assert first.json()["id"] == second.json()["id"]
    assert (
        web.client.post(f"/api/v1/reports/{report}/runs", json={"repeats": 2}, headers=headers).status_code
        == 422
    )
    assert (
        web.client.post("/api/v1/runs", json=BODY, headers=headers).json()["code"] == "idempotency_key_reused"
    )


@pytest.mark.parametrize("key", ["", "x" * 256, "a\tb", "\x85"])
def test_a_bad_key(web: Web, key: str) -> None:
    answer = web.client.post("/api/v1/runs", json=BODY, headers={"Idempotency-Key": key.encode("latin-1")})
    assert (answer.status_code, answer.json()["code"]) == (422, "bad_idempotency_key")


def test_keys_of_before_still_match() -> None:
    plain = Submission(script="x", targets=(Target(),), repeats=2)
    assert plain.digest() == "sha256:d6255139cdcd95db112f1d462340faffdc4c185bdf4382a08343bee17000d32c"
    later = Submission(report="x", claim="c", awaited=False, include=("cuda",), preset="quick")
    assert later.digest() == "sha256:75f75c3ceec7796254d2b89f6f51703cb50f26f051775abf69696a2ede6098ca"


async def turns_at_once(*callers: tuple[str, str, str | None, str]) -> set[int]:
    """The numbers of the callers (address, key, token, route) that have their turn at the same time."""
    having: set[int] = set()
    asked, end = asyncio.Event(), asyncio.Event()

    async def application(scope: Any, _receive: Any, _send: Any) -> None:
        address, key, token, route = callers[scope["number"]]
        headers = [(b"idempotency-key", key.encode())]
        request = Request({**scope, "headers": headers, "client": (address, 1)})
        if scope["number"] == len(callers) - 1:
            asyncio.get_running_loop().call_soon(asked.set)
        await take_turn(request, token=token, route=route)
        having.add(scope["number"])
        await end.wait()

    turns: Any = OneAtATime(application)
    async with asyncio.timeout(10), asyncio.TaskGroup() as group:
        for number in range(len(callers)):
            group.create_task(turns({"type": "http", "number": number}, None, None))
        await asked.wait()
        at_once = set(having)
        end.set()
    assert having == set(range(len(callers)))
    return at_once


def run_apart(turns: Coroutine[Any, Any, set[int]]) -> set[int]:
    """Run it in a thread: a browser of another test may have left a running loop in this one."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, turns).result()


def test_a_turn_belongs_to_the_caller_the_key_and_the_route() -> None:
    """Whoever guesses a key must not make its owner wait."""
    first = ("127.0.0.1", "one", "a", "/runs")
    assert run_apart(turns_at_once(first, ("127.0.0.2", "one", "a", "/runs"))) == {0}
    others = [
        ("127.0.0.1", "one", "b", "/runs"),
        ("127.0.0.1", "one", None, "/runs"),
        ("127.0.0.2", "one", None, "/runs"),
        ("127.0.0.1", "two", "a", "/runs"),
        ("127.0.0.1", "one", "a", "/runs/{run_id}/rerun"),
    ]
    assert run_apart(turns_at_once(first, *others)) == set(range(6))
