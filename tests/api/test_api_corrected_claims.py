"""A corrected claim: stored attempts are judged again at once, and the earlier claim stays in sight."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import pytest
from api.web_client import Web
from stage import result

from app.judging.versions import JUDGING_RULES
from app.runs.lookup.runs import run_document
from app.runs.maintenance.tokens import Scope
from worker.contract import Observation, Outcome

SECOND = {"checks": [{"kind": "value", "number": "7", "occurrence": 2}]}


@pytest.fixture
def run(web: Web) -> dict[str, Any]:
    """A finished run with the verdict `different`: the claim was read wrongly. A token submitted it."""
    answer = web.client.post(
        "/api/v1/runs",
        json={"script": "print(5)\nprint(7)\n", "claim": "prints 6"},
        headers=web.token(Scope.SUBMIT),
    )
    seen = {"outcome": Outcome.COMPLETED, "observation": Observation(exit_status=0, stdout="5\n7\n")}
    done = web.finish(answer.json()["id"], **seen)
    assert done["verdict"] == "different"
    return {**done, "withdraw_url": answer.json()["withdraw_url"]}


def correct(web: Web, run: dict[str, Any], claim: Any = SECOND, **headers: str) -> Any:
    return web.client.put(
        f"/api/v1/reports/{run['report']['id']}/claim",
        json={"claim": claim, "reason": "The second value is meant."},
        headers=headers,
    )


def secret_of(run: dict[str, Any]) -> dict[str, str]:
    return {"Withdraw-Secret": run["withdraw_url"].rsplit("/", 1)[-1]}


def test_stored_attempts_are_judged_again_at_once(web: Web, run: dict[str, Any]) -> None:
    report = correct(web, run, **secret_of(run)).json()
    assert report["standing"]["verdict"] == "reproduced"
    assert report["report"]["claim"]["checks"][0]["occurrence"] == 2
    [earlier] = report["earlier_claims"]
    assert (earlier["claim"]["checks"][0]["number"], earlier["claim_text"]) == ("6", "prints 6")
    assert (earlier["corrected_by"], earlier["reason"]) == ("submitter", "The second value is meant.")
    assert [act["what"] for act in report["acts"]] == ["claim_corrected"]
    again = web.client.get(f"/api/v1/runs/{run['id']}").json()
    assert (again["verdict"], again["report"]["claim"]) == ("reproduced", report["report"]["claim"])
    assert again["acts"][0]["what"] == "judged_again"
    assert again["acts"][0]["details"]["before"] == "different"


def test_a_claim_that_changes_no_verdict_is_shown_too(web: Web, run: dict[str, Any]) -> None:
    """The run object in the cache is not the one with the earlier claim."""
    other = {"checks": [{"kind": "value", "number": "9"}]}
    assert correct(web, run, other, **secret_of(run)).status_code == 200
    with web.stage.session() as session:
        document = run_document(session, run["id"])
    assert (document.verdict, document.report.claim.checks[0].number) == ("different", "9")


def sha256_of(data: Any) -> str:
    text = json.dumps(data, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"


def test_what_is_judged_is_fixed_before_the_first_attempt(web: Web) -> None:
    queued = web.post(script="print(5)\n", claim="prints 6, expected 7")
    assert queued["state"] == "queued"
    assert all(attempt["state"] == "queued" for job in queued["jobs"] for attempt in job["attempts"])
    fixed = queued["fixed"]
    # Anybody can compute the digests again.
    assert fixed["claim"] == sha256_of(queued["report"]["claim"])
    others = {name: value for name, value in fixed.items() if name not in {"digest", "claim_is_the_same"}}
    assert fixed["digest"] == sha256_of(others)
    assert (fixed["rules"], fixed["claim_is_the_same"]) == (JUDGING_RULES, True)
    assert fixed["scripts"] == [queued["report"]["scripts"][0]["digest"]]
    assert len(fixed["targets"]) == len(queued["jobs"])
    page = web.client.get(f"/runs/{queued['id']}").text
    assert "fixed before the run" in page
    assert "claim corrected since" not in page


def test_a_later_correction_is_in_sight(web: Web, run: dict[str, Any]) -> None:
    correct(web, run, **secret_of(run))
    again = web.client.get(f"/api/v1/runs/{run['id']}").json()
    assert again["fixed"] == {**run["fixed"], "claim_is_the_same": False}
    assert "claim corrected since" in web.client.get(f"/runs/{run['id']}").text
    assert "corrected after the attempts" in web.client.get(f"/runs/{run['id']}.md").text
    # The claim as it was before is the same again, even if somebody wrote it.
    before = run["report"]["claim"]
    correct(web, run, before, **secret_of(run))
    assert web.client.get(f"/api/v1/runs/{run['id']}").json()["fixed"]["claim_is_the_same"] is True


def test_the_event_says_so(web: Web, run: dict[str, Any]) -> None:
    correct(web, run, **secret_of(run))
    events = web.client.get(f"/api/v1/runs/{run['id']}/events", headers={"Last-Event-ID": "0"}).text
    assert "event: claim.corrected" in events


def test_nobody_else_corrects_it(web: Web, run: dict[str, Any]) -> None:
    web.token(Scope.MAINTAIN)
    answers = [
        correct(web, run),
        correct(web, run, **{"Withdraw-Secret": "guess"}),
        correct(web, run, **web.token(Scope.SUBMIT)),
    ]
    assert [answer.status_code for answer in answers] == [403, 403, 403]
    assert {answer.json()["code"] for answer in answers} == {"not_the_submitter"}
    assert correct(web, run, **web.token(Scope.MAINTAIN)).status_code == 200


def test_what_can_not_be_judged_changes_nothing(web: Web, run: dict[str, Any]) -> None:
    mine = secret_of(run)
    wrong = {"checks": [{"kind": "value", "number": "many"}]}
    problem = correct(web, run, wrong, **mine).json()
    assert (problem["status"], problem["field"]) == (422, "claim.checks.0.number")
    at = {"checks": [{"kind": "value", "number": "7", "at": {"line": 70}}]}
    assert correct(web, run, at, **mine).json()["field"] == "claim.checks.0.at.line"
    assert correct(web, run, "prints 6", **mine).json()["code"] == "same_claim"
    report = web.client.get(f"/api/v1/reports/{run['report']['id']}").json()
    assert (report["earlier_claims"], report["acts"]) == ([], [])
    assert correct(web, {"report": {"id": "none"}}, **mine).status_code == 404


def test_a_withdrawn_report_keeps_no_earlier_claim(web: Web, run: dict[str, Any]) -> None:
    mine = secret_of(run)
    correct(web, run, **mine)
    secret = mine["Withdraw-Secret"]
    assert web.client.post("/api/v1/withdrawals", json={"secret": secret}).json()["earlier_claims"] == []
    assert correct(web, run, "prints 8", **mine).json()["code"] == "withdrawn"


def test_the_cells_of_an_open_run_are_judged_again(web: Web) -> None:
    seen = {"outcome": Outcome.COMPLETED, "observation": Observation(exit_status=0, stdout="5\n7\n")}
    targets = [{"device": "cpu"}, {"device": "cpu", "settings": {"threads": 1}}]
    run = web.post(script="print(5)\nprint(7)\n", claim="prints 5", targets=targets, repeats=1)
    first, *_ = web.stage.dispatch()
    web.stage.start(first, node="n")
    web.stage.say(result(first, node="n", **seen))
    answer = correct(web, run, {"checks": [{"kind": "value", "number": "6"}]})
    assert answer.status_code == 200, answer.text
    jobs = web.client.get(f"/api/v1/runs/{run['id']}").json()["jobs"]
    assert [job["verdict"] for job in jobs if job["state"] == "judged"] == ["different"]


def test_the_page_has_the_form_and_says_by_whom(web: Web, run: dict[str, Any]) -> None:
    path = f"/reports/{run['report']['id']}"
    page = web.client.get(path).text
    assert "Correct and judge again" in page
    assert "Corrected by" not in page
    form = {"claim": json.dumps(SECOND, indent=1), "reason": "<b>second</b>", "secret": "guess"}
    assert web.client.post(f"{path}/claim", data=form).status_code in {401, 403}
    form["secret"] = secret_of(run)["Withdraw-Secret"]
    answer = web.client.post(f"{path}/claim", data=form, follow_redirects=False)
    assert (answer.status_code, answer.headers["location"]) == (303, f"{path}#script")
    page = web.client.get(path).text
    assert "Corrected by submitter" in page
    assert "&lt;b&gt;second&lt;/b&gt;" in page
    assert "prints 6" in page
