"""Matrices over REST: presets and patterns, plans with what they would take, places in line, cells stopped,
run again and added.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from api.test_api_runs import BODY, problem
from api.web_client import Web, serving
from stage import CLAIM, SCRIPT, result

from app.runs.maintenance.tokens import Scope
from app.settings import ServiceSettings
from app.storage.models import JobRow, RunRow
from worker.contract import Outcome

CELLS: dict[str, Any] = {
    "script": SCRIPT,
    "claim": CLAIM,
    "repeats": 1,
    "targets": [{"device": "cpu"}, {"device": "cpu", "settings": {"threads": 1}}],
}


def act(web: Web, path: str, status: int = 202, **body: Any) -> dict[str, Any]:
    answer = web.client.post(f"/api/v1/runs/{path}", json=body)
    assert answer.status_code == status, answer.text
    return dict(answer.json())


def get(web: Web, run_id: str) -> dict[str, Any]:
    return dict(web.client.get(f"/api/v1/runs/{run_id}").json())


def labels(run: dict[str, Any]) -> list[str]:
    return [f"{job['target']['device']}:{job['target']['settings']}" for job in run["jobs"]]


def kinds(web: Web, run_id: str) -> list[str]:
    from app.runs.rows.events import events_after

    with web.stage.session() as session:
        return [event.kind for event in events_after(session, run_id)]


def test_cells_are_included_and_excluded(web: Web) -> None:
    run = web.post(preset="determinism", include=["cpu:seed=3"], exclude=["*:threads=*"])
    assert labels(run) == ["cpu:{}", "cpu:{'deterministic': 'on'}", "cpu:{'seed': '3'}"]
    problem(web.client.post("/api/v1/runs", json={**BODY, "exclude": ["gpu"]}), 422, "bad_pattern")
    problem(web.client.post("/api/v1/runs", json={**BODY, "exclude": ["cpu"]}), 422, "nothing_left")
    again = web.client.post(
        f"/api/v1/reports/{run['report']['id']}/runs", json={"include": ["cpu:threads=2"]}
    ).json()
    assert labels(again) == ["cpu:{}", "cpu:{'threads': '2'}"]


def test_a_plan_says_what_it_would_take_and_what_cannot_be_served(web: Web) -> None:
    body = {
        **BODY,
        "repeats": 4,
        "targets": [{"device": "cpu"}, {"device": "cuda"}],
        "exclude": ["*:threads=*"],
    }
    plan = web.client.post("/api/v1/runs?dry_run=1", json=body).json()
    estimate = plan["estimate"]
    assert (
        estimate["cells"],
        estimate["not_served"],
        estimate["attempts_at_least"],
        estimate["attempts_at_most"],
    ) == (2, 1, 4, 4)
    assert estimate["basis"] == "guess"
    assert estimate["left_out"] == [{"exclude": "*:threads=*", "cells": 0}]
    seconds = estimate["machine_seconds"]
    assert 0 < seconds["at_least"] < seconds["about"] < seconds["at_most"]
    assert estimate["starts_in"]["about"] == 0
    served, lacking = plan["jobs"]
    assert (served["waiting"]["position"], served["estimate"]["attempts_at_most"]) == (1, 4)
    assert (lacking["estimate"], lacking["reason"]["code"]) == (None, "no_gpu")
    assert web.stage.count(RunRow) == 0


def test_a_plan_of_a_script_that_ran_before_rests_on_that(web: Web) -> None:
    run = web.post(repeats=3)
    web.finish(run["id"])
    estimate = web.client.post("/api/v1/runs?dry_run=1", json=BODY).json()["estimate"]
    assert estimate["basis"] == "measured"
    assert estimate["machine_seconds"]["at_most"] < 60
    other = {**BODY, "targets": [{"device": "cpu", "settings": {"threads": 1}}]}
    assert web.client.post("/api/v1/runs?dry_run=1", json=other).json()["estimate"]["basis"] == "script"
    unknown = {"script": "print(1)", "claim": "prints 2"}
    assert web.client.post("/api/v1/runs?dry_run=1", json=unknown).json()["estimate"]["basis"] == "recent"


def test_a_waiting_cell_has_its_place_in_line_until_it_is_given_out(web: Web) -> None:
    web.stage.node("n", slots=1)
    first, second = web.post(**CELLS), web.post(**CELLS)
    assert [job["waiting"]["position"] for job in first["jobs"]] == [1, 2]
    # Runs take turns: the second cell of the first run comes after the first of the second.
    assert [job["waiting"]["position"] for job in get(web, first["id"])["jobs"]] == [1, 3]
    assert [job["waiting"]["position"] for job in get(web, second["id"])["jobs"]] == [2, 4]
    waiting = get(web, second["id"])["jobs"][1]["waiting"]
    assert waiting["of"] == 4
    starts_in = waiting["starts_in"]
    assert 0 <= starts_in["at_least"] <= starts_in["about"] <= starts_in["at_most"]
    given = web.stage.dispatch()
    assert get(web, first["id"])["jobs"][0]["waiting"] is None
    assert [job["waiting"]["position"] for job in get(web, second["id"])["jobs"] if job["waiting"]] == [2]
    for attempt in given:
        web.stage.say(result(attempt, node="n"))
    assert [job["waiting"] for job in web.finish(second["id"])["jobs"]] == [None, None]


def test_one_cell_is_stopped_and_the_others_go_on(web: Web) -> None:
    run = web.post(**CELLS)
    [kept, stopped] = [job["id"] for job in run["jobs"]]
    assert [job["state"] for job in act(web, f"{run['id']}/cells/{stopped}/cancel", 200)["jobs"]] == [
        "queued",
        "cancelled",
    ]
    act(web, f"{run['id']}/cells/{stopped}/cancel", 200)
    done = web.finish(run["id"])
    assert (done["state"], done["verdict"], done["without_result"]) == ("finished", "reproduced", 1)
    assert [job["state"] for job in done["jobs"]] == ["judged", "cancelled"]
    problem(web.client.post(f"/api/v1/runs/{run['id']}/cells/{kept}/cancel"), 409, "cell_judged")
    problem(web.client.post(f"/api/v1/runs/{run['id']}/cells/{run['id']}/cancel"), 404, "not_found")
    assert kinds(web, run["id"]).count("job.cancelled") == 1


def test_an_attempt_of_a_stopped_cell_is_not_run_again_elsewhere(web: Web) -> None:
    run = web.post(repeats=1)
    [attempt] = web.stage.dispatch()
    web.stage.start(attempt, node="n")
    other = act(web, f"{run['id']}/cells", target={"device": "cpu", "settings": {"threads": 1}})
    act(web, f"{run['id']}/cells/{run['jobs'][0]['id']}/cancel", 200)
    assert web.stage.broker.redis.sismember("samehere:cancel:n", attempt.attempt_id)
    web.stage.say(result(attempt, node="n", outcome=Outcome.CANCELLED))
    assert web.stage.attempts(run["id"])[0].state == "cancelled"
    done = web.finish(other["id"])
    assert (done["state"], done["verdict"], [job["state"] for job in done["jobs"]]) == (
        "finished",
        "reproduced",
        ["cancelled", "judged"],
    )


def test_a_run_of_which_every_cell_is_stopped_is_stopped(web: Web) -> None:
    run = web.post(**CELLS)
    for job in run["jobs"]:
        last = act(web, f"{run['id']}/cells/{job['id']}/cancel", 200)
    assert last["state"] == "cancelled"
    assert kinds(web, run["id"])[-1] == "run.cancelled"


def test_what_failed_is_run_again_within_the_run_and_what_was_recorded_stays(web: Web) -> None:
    run = web.post(**CELLS)
    [first, second] = web.stage.dispatch()
    web.stage.say(result(first, node="n"))
    for _ in range(3):
        web.stage.say(result(second, node="n", outcome=Outcome.SETUP_FAILED))
        second = next(iter(web.stage.dispatch()), second)
    ended = get(web, run["id"])
    assert (ended["state"], ended["verdict"], [job["verdict"] for job in ended["jobs"]]) == (
        "finished",
        "reproduced",
        ["reproduced", "no_result"],
    )
    again = act(web, f"{run['id']}/rerun", which="failed")
    assert (again["id"], again["state"], again["verdict"]) == (run["id"], "running", None)
    assert [job["state"] for job in again["jobs"]] == ["judged", "queued"]
    problem(
        web.client.post(f"/api/v1/runs/{run['id']}/rerun", json={"which": "failed"}),
        409,
        "nothing_to_run_again",
    )
    done = web.finish(run["id"])
    assert [job["verdict"] for job in done["jobs"]] == ["reproduced", "reproduced"]
    old, new = done["jobs"][1]["attempts"][:-1], done["jobs"][1]["attempts"][-1]
    assert {attempt["outcome"] for attempt in old} == {"setup_failed"}
    assert not any(attempt["counted"] for attempt in old)
    assert (new["counted"], new["outcome"]) == (True, "raised")
    assert "run.reopened" in kinds(web, run["id"])
    problem(
        web.client.post(f"/api/v1/runs/{run['id']}/rerun", json={"which": "undecided"}),
        409,
        "nothing_to_run_again",
    )


def test_a_stopped_run_goes_on_where_it_was_stopped(web: Web) -> None:
    run = web.post(**CELLS)
    [first, second] = web.stage.dispatch()
    web.stage.start(second, node="n")
    web.stage.say(result(first, node="n"))
    act(web, f"{run['id']}/cancel", 200)
    again = act(web, f"{run['id']}/rerun", which="undecided")
    assert [job["state"] for job in again["jobs"]] == ["judged", "queued"]
    # Later messages of the node about the stopped attempt are ignored.
    web.stage.say(result(second, node="n", outcome=Outcome.CANCELLED))
    done = web.finish(run["id"])
    assert (done["state"], [job["verdict"] for job in done["jobs"]]) == (
        "finished",
        ["reproduced", "reproduced"],
    )
    assert [attempt["state"] for attempt in done["jobs"][1]["attempts"]] == ["cancelled", "recorded"]


def test_a_cell_that_no_node_served_is_run_once_one_does(web: Web) -> None:
    run = web.post(repeats=1, targets=[{"device": "cpu", "toolchain": "torch-2.13"}, {"device": "cuda"}])
    web.finish(run["id"])
    problem(
        web.client.post(f"/api/v1/runs/{run['id']}/rerun", json={"which": "failed"}), 409, "still_not_served"
    )
    from worker.contract import Gpu, Hello, Level, ToolchainFacts

    facts = ToolchainFacts(name="torch-2.13-cu130", state="ready", torch="2.13.0", cuda_build="13.0")
    gpu = Gpu(index=0, model="H100", memory_bytes=80, capability="9.0", driver="580")
    web.stage.say(
        Hello(
            node="g", instance="one", slots=1, level=Level.NAMESPACES_CGROUP, gpus=[gpu], toolchains=[facts]
        )
    )
    again = act(web, f"{run['id']}/rerun", which="failed")
    assert [(job["state"], job["target"]["toolchain"], job["reason"]) for job in again["jobs"]][1] == (
        "queued",
        "torch-2.13-cu130",
        None,
    )


def test_all_of_it_again_is_a_new_run_of_the_report(web: Web) -> None:
    run = web.post(**CELLS)
    web.finish(run["id"])
    headers = {"Idempotency-Key": "again-1"}
    answers = [
        web.client.post(f"/api/v1/runs/{run['id']}/rerun", json={"which": "all"}, headers=headers)
        for _ in range(2)
    ]
    assert [answer.status_code for answer in answers] == [202, 202]
    again = answers[0].json()
    assert answers[0].headers["location"] == f"/api/v1/runs/{again['id']}"
    assert answers[1].json()["id"] == again["id"] != run["id"]
    assert (again["report"]["id"], labels(again)) == (run["report"]["id"], labels(run))
    assert [len(job["attempts"]) for job in again["jobs"]] == [1, 1]
    assert get(web, run["id"])["verdict"] == "reproduced"


def test_a_missing_cell_is_added_and_the_run_is_judged_over_all(web: Web) -> None:
    run = web.post(repeats=2)
    before = web.finish(run["id"])
    added = act(web, f"{run['id']}/cells", target={"device": "cpu", "settings": {"threads": "1"}})
    assert (added["state"], added["verdict"], labels(added)) == (
        "running",
        None,
        ["cpu:{}", "cpu:{'threads': '1'}"],
    )
    assert len(added["jobs"][1]["attempts"]) == 2
    assert added["jobs"][0]["attempts"] == before["jobs"][0]["attempts"]
    problem(
        web.client.post(f"/api/v1/runs/{run['id']}/cells", json={"target": {"settings": {"threads": 1}}}),
        409,
        "cell_exists",
    )
    done = web.finish(run["id"])
    assert (done["state"], done["verdict"], len(done["where"])) == ("finished", "reproduced", 2)
    assert {comparison["result"] for comparison in done["comparisons"]} == {"identical"}
    unserved = act(web, f"{run['id']}/cells", target={"device": "cuda"})
    assert (unserved["state"], unserved["jobs"][2]["verdict"], unserved["verdict"]) == (
        "finished",
        "cannot_show",
        "reproduced",
    )
    assert web.stage.count(JobRow) == 3


@pytest.mark.parametrize(
    ("path", "body", "status", "code"),
    [
        ("{run}/cells", {"target": {"device": "tpu"}}, 422, "unknown_device"),
        ("{run}/cells", {"target": {"toolchain": "torch-9"}}, 422, "unknown_toolchain"),
        ("{run}/cells", {}, 422, "bad_request_form"),
        ("{run}/rerun", {"which": "some"}, 422, "bad_request_form"),
        ("0/rerun", {"which": "all"}, 404, "not_found"),
        ("0/cells", {"target": {}}, 404, "not_found"),
    ],
)
def test_what_cannot_be_done(web: Web, path: str, body: dict[str, Any], status: int, code: str) -> None:
    run = web.post(repeats=1)
    problem(web.client.post(f"/api/v1/runs/{path.format(run=run['id'])}", json=body), status, code)


def test_a_report_that_lacks_something_has_no_cells_to_add_or_run(web: Web) -> None:
    run = web.client.post(
        "/api/v1/runs", json={"report": "# It crashes\n\nIt crashes when I train.\n"}
    ).json()
    problem(web.client.post(f"/api/v1/runs/{run['id']}/cells", json={"target": {}}), 409, "needs_info")
    problem(
        web.client.post(f"/api/v1/runs/{run['id']}/rerun", json={"which": "all"}), 409, "nothing_to_run_again"
    )


def test_no_more_cells_than_a_run_may_have(settings: ServiceSettings) -> None:
    with serving(settings.model_copy(update={"cells": 2})) as web:
        web.stage.node("n")
        run = web.post(**CELLS)
        answer = web.client.post(
            f"/api/v1/runs/{run['id']}/cells", json={"target": {"settings": {"threads": 2}}}
        )
        assert "at most 2" in problem(answer, 422, "too_many_cells")["detail"]
        answer = web.client.post("/api/v1/runs", json={**BODY, "preset": "determinism"})
        assert "preset determinism has 3 cells" in problem(answer, 422, "too_many_cells")["detail"]


def test_who_did_it_is_kept(settings: ServiceSettings) -> None:
    with serving(settings.model_copy(update={"anonymous_scopes": ("read",)})) as web:
        web.stage.node("n")
        headers = web.token(Scope.SUBMIT)
        run = web.client.post("/api/v1/runs", json=CELLS, headers=headers).json()
        path = f"/api/v1/runs/{run['id']}/cells/{run['jobs'][1]['id']}/cancel"
        assert web.client.post(path).status_code == 401
        assert web.client.post(path, headers=headers).status_code == 200
        from app.runs.rows.events import events_after

        with web.stage.session() as session:
            [stopped] = [event for event in events_after(session, run["id"]) if event.kind == "job.cancelled"]
        assert stopped.ids["token"]


OWN = '[presets.nightly]\nsummary = "Each night."\ndevices = ["cpu"]\nsettings = ["", "threads=1"]\n'


def test_presets_of_the_operators_own(settings: ServiceSettings, tmp_path: Path) -> None:
    path = tmp_path / "presets.toml"
    path.write_text(OWN)
    with serving(settings.model_copy(update={"presets": path})) as web:
        web.stage.node("n")
        shown = {item["name"]: item for item in web.client.get("/api/v1/presets").json()["items"]}
        assert (shown["nightly"]["own"], shown["nightly"]["devices"], shown["quick"]["own"]) == (
            True,
            ["cpu"],
            False,
        )
        run = web.post(preset="nightly")
        assert (run["preset"], labels(run)) == ("nightly", ["cpu:{}", "cpu:{'threads': '1'}"])
        path.write_text("[presets.nightly]\nsettings = ['sped=1']\n")
        refused = problem(
            web.client.post("/api/v1/runs", json={**BODY, "preset": "nightly"}), 503, "bad_presets"
        )
        assert "presets.nightly.settings[0]" in refused["detail"]


def test_what_a_stopped_cell_still_runs_is_told_when_it_ends(web: Web) -> None:
    web.stage.node("n")
    run = web.post(**CELLS)
    [kept, slow] = [job["id"] for job in run["jobs"]]
    attempts = web.stage.dispatch()
    for attempt in attempts:
        web.stage.start(attempt, node="n")
    act(web, f"{run['id']}/cells/{slow}/cancel", 200)
    rows = {row.id: row.job_id for row in web.stage.attempts(run["id"])}
    for job, outcome, state in ((kept, Outcome.RAISED, "running"), (slow, Outcome.CANCELLED, "cancelled")):
        for attempt in [one for one in attempts if rows[one.attempt_id] == job]:
            web.stage.say(result(attempt, node="n", outcome=outcome))
        now = web.client.get(f"/api/v1/runs/{run['id']}").json()
        assert (now["state"], [part["state"] for part in now["jobs"][1]["attempts"]]) == ("finished", [state])
