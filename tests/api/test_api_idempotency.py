"""An idempotency key is answered once, also when its requests come at the same time."""

from __future__ import annotations

import pytest
from api.web_client import Web
from stage import together

from app.runs.submission.submit import Submission
from app.storage.models import RunRow
from app.targets.target import Target

BODY = {"script": "raise RuntimeError('boom')\n", "claim": "RuntimeError: boom"}


def test_together(web: Web) -> None:
    def send():
        return web.client.post("/api/v1/runs", json=BODY, headers={"Idempotency-Key": "one"})

    answers = together(*[send] * 8)
    assert [answer.status_code for answer in answers] == [202] * 8
    assert len({answer.json()["id"] for answer in answers}) == 1
    assert web.stage.count(RunRow) == 1


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
