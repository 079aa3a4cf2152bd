"""Bisections over REST and their page."""

from __future__ import annotations

from api.web_client import Web

from worker.contract import Hello, Level, ToolchainFacts

SCRIPT = {"script": "raise RuntimeError('boom')\n", "claim": "RuntimeError: boom"}


def several(web: Web) -> str:
    """A node with two versions, and a report."""
    facts = [
        ToolchainFacts(name=f"torch-{release}", state="ready", packages={"torch": release}, torch=release)
        for release in ("2.12.1", "2.13.0")
    ]
    web.stage.say(Hello(node="n", instance="one", slots=2, level=Level.NAMESPACES_CGROUP, toolchains=facts))
    web.stage.beat("n")
    answer = web.client.post("/api/v1/runs", json=SCRIPT)
    assert answer.status_code == 202
    report: str = answer.json()["report"]["id"]
    return report


def test_ask_look_list_and_cancel(web: Web) -> None:
    report = several(web)
    asked = web.client.post(
        f"/api/v1/reports/{report}/bisections", json={"over": "torch"}, headers={"Idempotency-Key": "one"}
    )
    assert asked.status_code == 202, asked.text
    body = asked.json()
    assert asked.headers["Location"] == f"/api/v1/bisections/{body['id']}"
    assert [point["value"] for point in body["points"]] == ["2.12.1", "2.13.0"]
    again = web.client.post(
        f"/api/v1/reports/{report}/bisections", json={"over": "torch"}, headers={"Idempotency-Key": "one"}
    )
    assert again.json()["id"] == body["id"]
    other = web.client.post(
        f"/api/v1/reports/{report}/bisections", json={"over": "numpy"}, headers={"Idempotency-Key": "one"}
    )
    assert other.status_code == 422
    assert web.client.get(f"/api/v1/bisections/{body['id']}").json()["state"] == "queued"
    listed = web.client.get(f"/api/v1/reports/{report}/bisections").json()
    assert ([item["id"] for item in listed["items"]], listed["next"]) == ([body["id"]], None)
    page = web.client.get(f"/bisections/{body['id']}")
    assert page.status_code == 200
    assert "Bisection over torch" in page.text
    assert "2.12.1" in page.text
    assert web.client.get(f"/bisections/{body['id']}/fragment").status_code == 200
    cancelled = web.client.post(f"/api/v1/bisections/{body['id']}/cancel")
    assert (cancelled.status_code, cancelled.json()["state"]) == (200, "cancelled")
    assert "Cancelled." in web.client.get(f"/bisections/{body['id']}").text


def test_the_form_cancels_and_leads_back(web: Web) -> None:
    report = several(web)
    made = web.client.post(f"/api/v1/reports/{report}/bisections", json={"over": "torch"}).json()["id"]
    answer = web.client.post(f"/bisections/{made}/cancel", follow_redirects=False)
    assert (answer.status_code, answer.headers["Location"]) == (303, f"/bisections/{made}")
    assert web.client.post(f"/bisections/{made}/cancel", follow_redirects=False).status_code == 303


def test_the_form_of_a_report_leads_to_the_page(web: Web) -> None:
    report = several(web)
    assert 'action="/reports/' in web.client.get(f"/reports/{report}").text
    answer = web.client.post(f"/reports/{report}/bisections", data={"over": "torch"}, follow_redirects=False)
    assert answer.status_code == 303
    place = answer.headers["Location"]
    assert web.client.get(place).status_code == 200
    assert f'href="{place}"' in web.client.get(place.replace("/bisections/", "/runs/")).text
    refused = web.client.post(f"/reports/{report}/bisections", data={"over": "<b>"}, follow_redirects=False)
    assert refused.status_code == 422
    assert "<b>" not in refused.text


def test_what_is_wrong_is_a_problem_with_its_field(web: Web) -> None:
    report = several(web)
    path = f"/api/v1/reports/{report}/bisections"
    for body, code in (
        ({"over": "seed"}, "no_order"),
        ({"over": "numpy"}, "bad_series"),
        ({"over": "torch", "toolchains": ["none"]}, "unknown_toolchain"),
        ({"over": "torch", "error": 0.7}, None),
        ({"over": "torch", "since": "2.1"}, None),
        ({"over": "torch", "target": {"device": "tpu"}}, "unknown_device"),
    ):
        answer = web.client.post(path, json=body)
        assert (answer.status_code, answer.headers["Content-Type"]) == (422, "application/problem+json"), body
        assert code is None or answer.json()["code"] == code
    assert web.client.post("/api/v1/reports/none/bisections", json={"over": "torch"}).status_code == 404
    assert web.client.get("/api/v1/bisections/none").status_code == 404
    assert web.client.get("/bisections/none").status_code == 404
    assert web.client.get(f"{path}?cursor=x").status_code == 422


def test_a_bisection_chooses_its_cells_itself(web: Web) -> None:
    report = several(web)
    run = web.client.post(f"/api/v1/reports/{report}/bisections", json={"over": "torch"}).json()["run"]
    for path, body in (
        (f"/api/v1/runs/{run}/cells", {"target": {"device": "cpu"}}),
        (f"/api/v1/runs/{run}/rerun", {"which": "all"}),
    ):
        answer = web.client.post(path, json=body)
        assert (answer.status_code, answer.json()["code"]) == (409, "bisection"), path


def test_what_is_withdrawn_or_held_back_is_not_bisected(web: Web) -> None:
    several(web)
    submitted = web.client.post(
        "/api/v1/runs", json={"script": "raise RuntimeError('other')\n", "claim": "RuntimeError: other"}
    ).json()
    path = f"/api/v1/reports/{submitted['report']['id']}/bisections"
    made = web.client.post(path, json={"over": "torch"}).json()["id"]
    held = {
        "kind": "script",
        "name": submitted["report"]["scripts"][0]["digest"],
        "reason": "it waits for the network",
    }
    assert web.client.post("/api/v1/quarantines", json=held).status_code == 201
    answer = web.client.post(path, json={"over": "torch"})
    assert (answer.status_code, answer.json()["code"]) == (409, "quarantined")
    assert web.client.post(submitted["withdraw_url"], follow_redirects=False).status_code == 303
    answer = web.client.post(path, json={"over": "torch"})
    assert (answer.status_code, answer.json()["code"]) == (409, "withdrawn")
    assert web.client.get(f"/api/v1/bisections/{made}").json()["state"] == "cancelled"
