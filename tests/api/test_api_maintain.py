"""Maintainers' acts over REST: what each does, who did it, and how it is refused."""

from __future__ import annotations

from typing import Any

import pytest
from api.web_client import Web
from stage import together

from app.ids import new_id
from app.runs.maintenance.tokens import Scope

ACT = {"reason": "per the accuracy policy"}


def act(
    web: Web, path: str, expected: int = 200, headers: dict[str, str] | None = None, **body: Any
) -> dict[str, Any]:
    answer = web.client.post(f"/api/v1{path}", json={**ACT, **body}, headers=headers or {})
    assert answer.status_code == expected, answer.text
    return dict(answer.json())


def told(acts: list[dict[str, Any]]) -> list[tuple[str, str, str]]:
    return [(one["what"], one["who"], one["reason"]) for one in acts]


def test_a_run_is_overruled_and_that_is_taken_back(web: Web) -> None:
    run = web.post()
    path = f"/runs/{run['id']}"
    assert act(web, f"{path}/overrule", 409, verdict="not_reproduced")["code"] == "run_not_finished"
    assert web.finish(run["id"])["verdict"] == "reproduced"
    first = act(web, f"{path}/overrule", verdict="not_reproduced")
    assert (first["verdict"], first["overruled"]["verdict"], first["overruled"]["who"]) == (
        "reproduced",
        "not_reproduced",
        "local",
    )
    headers = web.token(Scope.MAINTAIN)
    second = act(web, f"{path}/overrule", verdict="flaky", reason="on Tuesdays", headers=headers)
    assert second["acts"][0]["details"] == {
        "verdict": "flaky",
        "before": "not_reproduced",
        "measured": "reproduced",
    }
    [listed] = web.client.get("/api/v1/runs").json()["items"]
    assert (listed["verdict"], listed["overruled"]) == ("reproduced", "flaky")
    third = act(web, f"{path}/take-back", headers=headers)
    assert (third["verdict"], third["overruled"]) == ("reproduced", None)
    assert told(third["acts"]) == [
        ("taken_back", "test", ACT["reason"]),
        ("overruled", "test", "on Tuesdays"),
        ("overruled", "local", ACT["reason"]),
    ]
    assert act(web, f"{path}/take-back", 409, headers=headers)["code"] == "not_overruled"
    assert web.client.get(f"/api/v1{path}").json() == third


def test_a_report_is_overruled_labelled_closed_and_reopened(web: Web) -> None:
    report, other = (
        web.post(script=f"raise RuntimeError('boom')  # {number}")["report"]["id"] for number in range(2)
    )
    path = f"/reports/{report}"
    said = act(web, f"{path}/overrule", verdict="needs_info")
    assert (said["standing"]["verdict"], said["overruled"]["verdict"]) == (None, "needs_info")
    assert act(web, f"{path}/take-back")["overruled"] is None
    assert act(web, f"{path}/label", add=["accuracy", " svd "])["labels"] == ["accuracy", "svd"]
    assert act(web, f"{path}/label", add=["accuracy"], remove=["svd", "never"])["labels"] == ["accuracy"]
    closed = act(web, f"{path}/close", duplicate_of=other)
    assert (closed["closed_at"] is not None, closed["duplicate_of"]) == (True, other)
    assert act(web, f"{path}/close", 409)["code"] == "report_closed"
    [listed] = [one for one in web.client.get("/api/v1/reports").json()["items"] if one["id"] == report]
    assert (listed["labels"], listed["duplicate_of"], listed["overruled"]) == (["accuracy"], other, None)
    opened = act(web, f"{path}/reopen")
    assert (opened["closed_at"], opened["duplicate_of"]) == (None, None)
    assert act(web, f"{path}/reopen", 409)["code"] == "report_open"
    assert [one["what"] for one in opened["acts"]] == [
        "reopened",
        "closed",
        "labelled",
        "labelled",
        "taken_back",
        "overruled",
    ]
    assert opened["acts"][2]["details"] == {"added": [], "removed": ["svd"]}


@pytest.mark.parametrize(
    ("path", "body", "status", "field"),
    [
        ("/reports/{report}/close", {"reason": ""}, 422, "reason"),
        ("/reports/{report}/close", {"reason": " \n"}, 422, "reason"),
        ("/reports/{report}/close", {"reason": "x" * 2001}, 422, "reason"),
        ("/reports/{report}/close", {"duplicate_of": "{report}"}, 422, "duplicate_of"),
        ("/reports/{report}/close", {"duplicate_of": "nothing"}, 422, "duplicate_of"),
        ("/reports/{report}/label", {}, 422, "add"),
        ("/reports/{report}/label", {"add": ["a,b"]}, 422, "add"),
        ("/reports/{report}/label", {"add": ["\u202e"]}, 422, "add"),
        ("/reports/{report}/label", {"add": ["a"], "remove": ["a"]}, 422, "remove"),
        ("/reports/{report}/overrule", {"verdict": "wontfix"}, 422, "verdict"),
        ("/quarantines", {"kind": "card", "name": "n"}, 422, "kind"),
        ("/quarantines", {"kind": "node", "name": "n", "since": "2026-01-01T00:00:00"}, 422, "since"),
        ("/quarantines", {"kind": "node", "name": "n", "since": "2999-01-01T00:00:00Z"}, 422, "since"),
        ("/quarantines", {"kind": "node", "name": "nobody"}, 404, "name"),
        ("/withdrawals", {"secret": "guessed"}, 404, None),
        ("/judgements:preview", {"report": new_id()}, 422, "reason"),
        ("/judgements:apply", {"report": new_id()}, 404, None),
        ("/judgements:apply", {"reason": " "}, 422, "reason"),
    ],
)
def test_what_is_refused(
    web: Web, path: str, body: dict[str, Any], *, status: int, field: str | None
) -> None:
    report = web.post()["report"]["id"]
    filled = {
        name: value.replace("{report}", report) if isinstance(value, str) else value
        for name, value in body.items()
    }
    problem = act(web, path.replace("{report}", report), status, **filled)
    assert (problem.get("field") or "").removeprefix("body.") == (field or "")
    assert problem["detail"]
    assert web.client.get("/api/v1/acts").json()["items"] == []


def test_a_quarantine_is_put_listed_and_lifted(web: Web) -> None:
    run = web.post()
    web.finish(run["id"])
    headers = web.token(Scope.MAINTAIN)
    held = act(web, "/quarantines", 201, headers=headers, kind="node", name="n", since="2026-01-01T00:00:00Z")
    assert (held["who"], held["reopened"], held["to_reopen"], held["lifted_at"]) == ("test", 1, 0, None)
    assert act(web, "/quarantines", 409, headers=headers, kind="node", name="n")["code"] == "in_quarantine"
    assert web.client.get(f"/api/v1/runs/{run['id']}").json()["state"] == "running"
    [node] = web.client.get("/api/v1/nodes").json()["items"]
    assert node["quarantined"] is True
    assert act(web, f"/quarantines/{held['id']}/lift", headers=headers)["lifted_at"]
    assert act(web, f"/quarantines/{held['id']}/lift", 409, headers=headers)["code"] == "lifted"
    again = act(web, "/quarantines", 201, headers=headers, kind="node", name="n")
    first = web.client.get("/api/v1/quarantines", params={"limit": 1}).json()
    assert ([one["id"] for one in first["items"]], first["next"]) == ([again["id"]], again["id"])
    second = web.client.get("/api/v1/quarantines", params={"limit": 1, "cursor": first["next"]}).json()
    assert ([one["id"] for one in second["items"]], second["next"]) == ([held["id"]], None)
    acts = web.client.get("/api/v1/acts", params={"subject_kind": "node", "subject": "n"}).json()["items"]
    assert [one["what"] for one in acts] == ["quarantined", "lifted", "quarantined"]
    assert web.client.get("/api/v1/acts", params={"subject": "n"}).status_code == 422
    assert (
        web.client.get("/api/v1/acts", params={"subject_kind": "node", "subject": "other"}).json()["items"]
        == []
    )


def test_the_submitter_withdraws_with_the_link_of_the_answer(web: Web) -> None:
    key = {"Idempotency-Key": "one"}
    body = {"script": "raise RuntimeError('boom')\n", "title": "mine"}
    answer = web.client.post("/api/v1/runs", json=body, headers=key).json()
    # The submitter who repeats the request gets the link again.
    again = web.client.post("/api/v1/runs", json=body, headers=key).json()
    assert again["withdraw_url"] == answer["withdraw_url"]
    assert web.client.post("/api/v1/runs", json=body, params={"dry_run": True}).json()["withdraw_url"] is None
    assert "withdraw_url" not in web.client.get(f"/api/v1/runs/{answer['id']}").json()
    secret = answer["withdraw_url"].rpartition("/withdraw/")[2]
    done = web.client.post("/api/v1/withdrawals", json={"secret": secret})
    assert (done.status_code, done.json()["withdrawn_at"] is not None, done.json()["text"]) == (200, True, "")
    assert told(done.json()["acts"]) == [("withdrawn", "submitter", "Withdrawn by the submitter.")]
    assert web.client.post("/api/v1/withdrawals", json={"secret": secret}).status_code == 409
    run = web.client.get(f"/api/v1/runs/{answer['id']}").json()
    assert (run["state"], run["report"]["title"], run["report"]["scripts"][0]["script"]) == (
        "cancelled",
        "",
        "",
    )
    assert run["withdrawn_at"]
    assert web.client.post(f"/api/v1/reports/{run['report']['id']}/runs", json={}).status_code == 409
    assert web.client.get(f"/api/v1/runs/{run['id']}/bundle").status_code == 409


def test_judgements_are_previewed_and_applied(web: Web) -> None:
    run = web.post()
    web.finish(run["id"])
    preview = web.client.post("/api/v1/judgements:preview", json={})
    assert (preview.status_code, preview.json()["looked_at"], preview.json()["applied"]) == (200, 1, False)
    applied = act(web, "/judgements:apply", report=run["report"]["id"])
    assert (applied["applied"], applied["flips"], applied["next"]) == (True, [], None)


def test_two_acts_at_once_are_both_kept(web: Web) -> None:
    run = web.post()
    web.finish(run["id"])
    verdicts = ("flaky", "different", "needs_info", "observed")
    found = together(
        *[
            lambda verdict=verdict: act(web, f"/runs/{run['id']}/overrule", verdict=verdict)
            for verdict in verdicts
        ]
    )
    assert [one for one in found if isinstance(one, Exception)] == []
    now = web.client.get(f"/api/v1/runs/{run['id']}").json()
    assert sorted(one["details"]["verdict"] for one in now["acts"]) == sorted(verdicts)
    assert now["overruled"]["verdict"] == now["acts"][0]["details"]["verdict"]
    before = [one["details"]["before"] for one in reversed(now["acts"])]
    assert before == [None, *(one["details"]["verdict"] for one in reversed(now["acts"]))][:4]
    report = run["report"]["id"]
    labels = ["a", "b", "c", "d"]
    together(*[lambda label=label: act(web, f"/reports/{report}/label", add=[label]) for label in labels])
    assert web.client.get(f"/api/v1/reports/{report}").json()["labels"] == labels
    closings = together(
        *[lambda: web.client.post(f"/api/v1/reports/{report}/close", json=ACT).status_code] * 3
    )
    assert sorted(closings) == [200, 409, 409]


@pytest.mark.parametrize(
    ("reason", "says"),
    [("", "at least 1 character."), ("x" * 2001, "at most 2000 characters.")],
)
def test_a_reason_of_the_wrong_length_is_told_in_characters(web: Web, reason: str, says: str) -> None:
    run = web.post()
    assert says in act(web, f"/runs/{run['id']}/overrule", 422, verdict="flaky", reason=reason)["detail"]
