"""Runs over REST: submitted, shown, listed, stopped."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import httpx2
import pytest
from api.web_client import Web
from stage import CLAIM, SCRIPT, result

from app.ids import new_id
from app.runs.run_object.document import RunDocument
from app.storage.models import RunRow
from worker.contract import ExceptionFacts, Observation

BODY: dict[str, Any] = {"script": SCRIPT, "claim": CLAIM, "repeats": 3}


def problem(answer: httpx2.Response, status: int, code: str) -> dict[str, Any]:
    """Check that an answer is a whole problem document."""
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    found: dict[str, Any] = answer.json()
    assert found["status"] == status
    assert found["code"] == code
    assert found["title"]
    assert found["detail"]
    return found


def test_a_submission_is_answered_with_the_run_as_planned(web: Web) -> None:
    answer = web.client.post("/api/v1/runs", json=BODY)
    assert answer.status_code == 202
    run = RunDocument.model_validate(answer.json())
    assert answer.headers["location"] == f"/api/v1/runs/{run.id}"
    assert (run.state, run.verdict, len(run.jobs)) == ("queued", None, 1)
    assert [attempt.state for attempt in run.jobs[0].attempts] == ["queued"] * 3
    link = answer.json()["withdraw_url"]
    after = web.client.get(answer.headers["location"]).json()
    # An attempt waits from the moment on at which it is stored.
    assert [job.pop("progress")["stage"] for job in after["jobs"]] == ["queued"]
    assert {**after, "withdraw_url": link} == answer.json()


def test_the_run_object_has_every_field_of_the_contract(web: Web) -> None:
    found = web.client.post("/api/v1/runs", json=BODY).json()
    assert found["schema"] == 1
    whole = {
        *(
            "schema",
            "id",
            "state",
            "verdict",
            "so_far",
            "seen",
            "defect",
            "cause",
            "summary",
            "answer",
            "scope",
            "where",
            "not_where",
            "contrast",
            "fixed",
            "newest",
        ),
        *(
            "without_result",
            "ask",
            "report",
            "jobs",
            "comparisons",
            "environments",
            "created_at",
            "finished_at",
        ),
    }
    assert whole <= set(found)
    assert {"title", "scripts", "claim", "environment"} <= set(found["report"])
    assert {"role", "as_given", "script", "repairs", "digest", "needs"} <= set(found["report"]["scripts"][0])
    assert {"text", "kind", "role", "where", "over"} <= set(found["report"]["claim"]["checks"][0])
    [job] = found["jobs"]
    parts = {
        "id",
        "script",
        "target",
        "state",
        "verdict",
        "reason",
        "matched",
        "of",
        "rate_upper_bound",
        "rate_interval",
        "checks",
        "attempts",
    }
    assert parts <= set(job)
    assert set(job["target"]) == {"device", "gpus", "toolchain", "settings"}
    assert datetime.fromisoformat(found["created_at"]).tzinfo is not None


def test_a_run_is_followed_to_its_verdict(web: Web) -> None:
    stage = web.stage
    run_id = web.client.post("/api/v1/runs", json=BODY).json()["id"]
    for attempt in stage.dispatch():
        stage.say(result(attempt, node="n"))
    run = web.client.get(f"/api/v1/runs/{run_id}").json()
    assert (run["state"], run["verdict"], run["seen"]) == ("finished", "reproduced", True)
    [job] = run["jobs"]
    assert (job["matched"], job["of"], job["state"]) == (3, 3, "judged")
    [listed] = web.client.get("/api/v1/runs").json()["items"]
    assert (listed["id"], listed["verdict"], listed["summary"]) == (run_id, "reproduced", run["summary"])
    assert "boom" not in run["summary"]


def test_a_dry_run_plans_and_stores_nothing(web: Web) -> None:
    answer = web.client.post(
        "/api/v1/runs?dry_run=1", json={"script": SCRIPT, "targets": [{"device": "cpu"}, {"device": "cuda"}]}
    )
    assert answer.status_code == 200
    assert "location" not in answer.headers
    run = answer.json()
    assert [(job["state"], job["verdict"]) for job in run["jobs"]] == [
        ("queued", None),
        ("judged", "cannot_show"),
    ]
    assert run["jobs"][1]["reason"]["code"]
    assert web.stage.count(RunRow) == 0


def test_a_report_that_lacks_something_is_a_finished_run(web: Web) -> None:
    answer = web.client.post("/api/v1/runs", json={"report": "# It crashes\n\nIt crashes when I train.\n"})
    assert answer.status_code == 202
    run = answer.json()
    assert (run["state"], run["verdict"], run["jobs"]) == ("finished", "needs_info", [])
    assert [ask["code"] for ask in run["ask"]] == ["no_script"]


def test_a_target_that_no_node_serves_says_so(web: Web) -> None:
    run = web.client.post("/api/v1/runs", json={**BODY, "targets": [{"device": "cuda"}]}).json()
    assert (run["state"], run["verdict"], run["without_result"]) == ("finished", "cannot_show", 0)
    assert run["jobs"][0]["reason"]["who_can_act"]


def test_the_same_key_is_answered_once(web: Web) -> None:
    headers = {"Idempotency-Key": "issue-1"}
    first = web.client.post("/api/v1/runs", json=BODY, headers=headers)
    again = web.client.post("/api/v1/runs", json=BODY, headers=headers)
    assert (first.status_code, again.status_code) == (202, 202)
    assert (again.json()["id"], again.headers["location"]) == (first.json()["id"], first.headers["location"])
    other = web.client.post("/api/v1/runs", json={**BODY, "repeats": 4}, headers=headers)
    assert problem(other, 422, "idempotency_key_reused")["field"] == "Idempotency-Key"
    assert web.stage.count(RunRow) == 1
    problem(
        web.client.post("/api/v1/runs", json=BODY, headers={"Idempotency-Key": "k" * 256}),
        422,
        "bad_idempotency_key",
    )


def test_a_run_can_be_stopped_until_it_has_finished(web: Web) -> None:
    stage = web.stage
    run_id = web.client.post("/api/v1/runs", json=BODY).json()["id"]
    stopped = web.client.post(f"/api/v1/runs/{run_id}/cancel")
    assert (stopped.status_code, stopped.json()["state"]) == (200, "cancelled")
    assert web.client.post(f"/api/v1/runs/{run_id}/cancel").json()["state"] == "cancelled"
    other = web.client.post("/api/v1/runs", json=BODY).json()["id"]
    for attempt in stage.dispatch():
        stage.say(result(attempt, node="n"))
    problem(web.client.post(f"/api/v1/runs/{other}/cancel"), 409, "run_finished")


def test_an_attempt_has_all_that_was_kept(web: Web) -> None:
    stage = web.stage
    run_id = web.client.post("/api/v1/runs", json={**BODY, "repeats": 1}).json()["id"]
    long = "x" * 9000 + "end\n"
    facts = ExceptionFacts(type="RuntimeError", message="boom")
    [attempt] = stage.dispatch()
    stage.say(
        result(
            attempt,
            node="n",
            observation=Observation(exit_status=1, exception=facts, stdout=long, stdout_bytes=len(long)),
        )
    )
    short = web.client.get(f"/api/v1/runs/{run_id}").json()["jobs"][0]["attempts"][0]
    assert len(short["stdout"]) <= 4096 + 100
    assert short["truncated"]
    full = web.client.get(f"/api/v1/attempts/{attempt.attempt_id}").json()
    assert full["observation"]["stdout"] == long
    assert full["environment"] == {"cpu.model": "x", "torch.version": "2.13.0"}
    assert (full["run"], full["outcome"], full["level"]) == (run_id, "raised", "ns+seccomp+cgroup")


def test_two_attempts_are_compared(web: Web) -> None:
    stage = web.stage
    targets = [{"device": "cpu"}, {"device": "cpu", "settings": {"threads": 1}}]
    run_id = web.client.post(
        "/api/v1/runs", json={"script": SCRIPT, "claim": CLAIM, "targets": targets, "repeats": 1}
    ).json()["id"]
    for number, attempt in enumerate(stage.dispatch()):
        stage.say(
            result(attempt, node="n", observation=Observation(exit_status=0, stdout=f"value {number}.5\n"))
        )
    [found] = web.client.get(f"/api/v1/runs/{run_id}").json()["comparisons"]
    whole = web.client.get(f"/api/v1/comparisons/{found['id']}").json()
    assert whole["comparison"] == found
    assert found["result"] == "different"
    assert {whole["baseline"]["id"], whole["candidate"]["id"]} == {found["baseline"], found["candidate"]}
    assert {whole[side]["observation"]["stdout"] for side in ("baseline", "candidate")} == {
        "value 0.5\n",
        "value 1.5\n",
    }


@pytest.mark.parametrize("kind", ["runs", "attempts", "reports", "comparisons"])
@pytest.mark.parametrize("bad", ["x", "%00", "%E2%80%AE", "a" * 500, "..%2f..%2fetc", None])
def test_an_unknown_id_is_a_problem(web: Web, kind: str, bad: str | None) -> None:
    problem(web.client.get(f"/api/v1/{kind}/{bad or new_id()}"), 404, "not_found")
