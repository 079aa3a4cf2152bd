"""The dossier over REST and as a page: no claim is needed, and a run of the preset `explain` gives it."""

from __future__ import annotations

from typing import Any

from api.test_api_recorded_bundles import RECORDINGS, give
from api.test_api_runs import problem
from api.web_client import Web
from stage import result

from app.targets.planning.presets import EXPLAIN
from worker.contract import Observation, Outcome
from worker.contract.trace import Trace

SCRIPT = "import torch\nprint(torch.tensor([0.1, 0.2]).sum().item())\n"
SHOWN: dict[str, Any] = {
    "name": "read[0]", "number": 1, "dtype": "torch.float32", "value": 0.30000001192092896,
    "reference": 0.3000000044703484, "error": 7.450580596923828e-09, "ulps": 0.25, "uncertainty": 1.5e-08,
    "rounding": 2.1e-08,
}  # fmt: skip
TRACE = Trace.model_validate(
    {
        "operations_seen": 1,
        "pairs": 0,
        "asked": 1,
        "answered": 1,
        "whole": True,
        "shadow": {"values": [SHOWN]},
    }
)


def explained(web: Web) -> str:
    """A report that was explained; its id."""
    report = str(web.post(script=SCRIPT, claim=None, targets=[{"device": "cpu"}])["report"]["id"])
    problem(web.client.get(f"/api/v1/reports/{report}/explain"), 404, "not_found")
    answer = web.client.post(f"/api/v1/reports/{report}/explain")
    assert answer.status_code == 202, answer.text
    run = answer.json()
    assert answer.headers["Location"] == f"/api/v1/runs/{run['id']}"
    assert [job["target"]["settings"] for job in run["jobs"]] == [{}, {"trace": "on"}]
    for _ in range(10):
        web.stage.beat("n")
        attempts = web.stage.dispatch()
        if not attempts:
            break
        for attempt in attempts:
            web.stage.start(attempt, node="n")
            seen = Observation(
                exit_status=0,
                stdout="0.30000001192092896\n",
                trace=TRACE if "trace" in attempt.settings else None,
            )
            web.stage.say(result(attempt, node="n", outcome=Outcome.COMPLETED, observation=seen))
    return report


def test_a_report_without_a_claim_is_explained(web: Web) -> None:
    report = explained(web)
    dossier = web.client.get(f"/api/v1/reports/{report}/explain").json()
    assert (dossier["report"], dossier["cause"], dossier["defect"]) == (report, "rounding", "no")
    (number,) = dossier["numbers"]
    assert (number["name"], number["lines"], number["right"]) == ("read[0]", [1], "all")
    assert number["sides"][0]["ulps"] == 0.25
    assert [question["letter"] for question in dossier["questions"]] == list("ABCDE")
    page = web.client.get(f"/reports/{report}/explain", headers={"Accept": "text/html"})
    assert page.status_code == 200
    assert "Numbers in question" in page.text
    assert '<svg role="img"' in page.text
    assert "0.25 ULP of float32" in page.text
    assert "can&#39;t be shown" not in page.text
    markdown = web.client.get(f"/reports/{report}/explain.md").text
    assert "Cause: `rounding`" in markdown
    assert f"http://localhost/reports/{report}/explain" in markdown
    assert web.client.get(f"/reports/{report}/explain.json").json() == dossier
    assert f'href="/reports/{report}/explain"' in web.client.get(f"/reports/{report}").text


def test_the_button_starts_the_run_and_goes_to_it(web: Web) -> None:
    report = web.post(script=SCRIPT, claim=None)["report"]["id"]
    answer = web.client.post(f"/reports/{report}/explain", follow_redirects=False)
    assert answer.status_code == 303
    run = web.client.get(f"/api/v1{answer.headers['Location']}").json()
    assert run["preset"] == EXPLAIN


def test_a_trace_that_was_recorded_on_a_card_gives_a_dossier(web: Web) -> None:
    run = give(web, RECORDINGS / "bundles" / "h100" / "logdet_singular.trace.json", params={"by": "H100"})
    dossier = web.client.get(f"/api/v1/reports/{run['report']['id']}/explain").json()
    assert (dossier["cause"], dossier["defect"]) == ("ill_conditioned", "undecided")
    # Recorded before there was a reference for what is shown: that is not known, so it is no clear "no".
    assert any("No reference was computed" in gap for gap in dossier["unknown"])
    assert {question["letter"]: question["answer"] for question in dossier["questions"]}["C"] is not None
