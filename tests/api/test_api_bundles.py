"""Bundles over REST: what one service ran another keeps, as contributed, once, and it decides nothing
alone.
"""

from __future__ import annotations

import json
from typing import Any

import pytest
from api.web_client import Web, serving
from stage import together

from app.runs.maintenance.tokens import Scope
from app.runs.run_object.storable import json_digest
from app.settings import ServiceSettings
from worker.contract import Observation, Outcome

REPORT = "Loss\n\n```python\nraise RuntimeError('boom')\n```\n\nIt raises:\n\n```\nRuntimeError: boom\n```\n"


def exported(web: Web, **body: Any) -> dict[str, Any]:
    """A run of this service as a bundle, as if another had made it: with ids that are not here."""
    run = web.post(repeats=3, **body)
    web.finish(run["id"])
    answer = web.client.get(f"/api/v1/runs/{run['id']}/bundle")
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-disposition"] == f'attachment; filename="samehere-{run["id"]}.json"'
    return dict(answer.json())


def from_elsewhere(bundle: dict[str, Any], **report: Any) -> dict[str, Any]:
    """The same, seen by others: a node and a card that are not here."""
    content = json.loads(json.dumps({name: value for name, value in bundle.items() if name != "digest"}))
    content["report"] |= report
    for job in content["jobs"]:
        for attempt in job["attempts"]:
            attempt["result"]["node"] = "lab-of-others"
    return {**content, "digest": json_digest(content)}


def give(web: Web, bundle: dict[str, Any], **more: Any) -> Any:
    return web.client.post("/api/v1/bundles", json=bundle, **more)


def test_a_run_that_comes_back_is_the_same_run(web: Web) -> None:
    bundle = exported(web)
    answer = give(web, bundle)
    assert (answer.status_code, answer.json()["id"], answer.json()["contributed"]) == (
        200,
        bundle["run"]["id"],
        None,
    )


def test_what_others_ran_is_judged_here_marked_and_taken_once(web: Web) -> None:
    bundle = from_elsewhere(exported(web))
    bundle = from_elsewhere({**bundle, "said": {"verdict": "not_reproduced", "summary": "Believe me."}})
    first = give(web, bundle, params={"by": "Ada"})
    assert first.status_code == 201, first.text
    run = first.json()
    assert first.headers["location"] == f"/api/v1/runs/{run['id']}"
    assert run["contributed"]["by"] == "Ada"
    # A name that was chosen elsewhere is not repeated.
    assert run["contributed"]["nodes"] == []
    # By our own rules, whatever the bundle says of itself.
    assert (run["verdict"], run["jobs"][0]["matched"]) == ("reproduced", 3)
    assert run["summary"].startswith("Contributed from elsewhere")
    assert "Ada" not in run["summary"]
    second = give(web, bundle, params={"by": "Eve"})
    assert (second.status_code, second.json()["id"]) == (200, run["id"])
    assert second.json()["contributed"]["by"] == "Ada"
    shown = web.client.get(f"/api/v1/runs/{run['id']}").json()
    assert shown == run
    events = web.client.get(f"/api/v1/runs/{run['id']}/events").text
    assert "event: run.finished" in events


def test_it_goes_on_to_a_third_service_and_is_still_the_same(web: Web) -> None:
    run = give(web, from_elsewhere(exported(web))).json()
    again = web.client.get(f"/api/v1/runs/{run['id']}/bundle").json()
    assert again["made_by"]["contributed_by"] == "somebody without a token"
    answer = give(web, again)
    assert (answer.status_code, answer.json()["id"]) == (200, run["id"])


def test_it_decides_nothing_of_its_report(web: Web) -> None:
    run = web.post(repeats=3)
    quiet = Observation(exit_status=0, stdout="fine\n", stdout_bytes=5)
    own = web.finish(run["id"], outcome=Outcome.COMPLETED, observation=quiet)
    assert own["verdict"] == "not_reproduced"
    report = own["report"]["id"]
    other = from_elsewhere(exported(web, script="raise RuntimeError('boom')\n#\n"))
    other = from_elsewhere(other, text="raise RuntimeError('boom')\n")
    refused = give(web, other)
    assert (refused.status_code, refused.json()["code"]) == (422, "read_differently")
    # The one text and script of the report that is here.
    bundle = from_elsewhere(web.client.get(f"/api/v1/runs/{run['id']}/bundle").json())
    for attempt in bundle["jobs"][0]["attempts"]:
        seen = attempt["result"]
        seen["outcome"] = "raised"
        seen["observation"] |= {
            "exit_status": 1,
            "exception": {"type": "RuntimeError", "message": "boom"},
            "stdout": "",
        }
    contributed = give(web, from_elsewhere(bundle), params={"by": "Ada"}).json()
    assert (contributed["verdict"], contributed["report"]["id"]) == ("reproduced", report)
    details = web.client.get(f"/api/v1/reports/{report}").json()
    assert (details["standing"]["verdict"], details["standing"]["run"]) == ("not_reproduced", run["id"])
    assert details["standing"]["contributed"] == [
        {"run": contributed["id"], "by": "Ada", "verdict": "reproduced", "shown_here": False}
    ]
    [listed] = [one for one in web.client.get("/api/v1/reports").json()["items"] if one["id"] == report]
    assert (listed["latest"]["id"], listed["runs"]) == (run["id"], 2)
    cells = web.client.get(f"/api/v1/reports/{report}/matrix").json()["cells"]
    assert [(cell["verdict"], cell["contributed_by"]) for cell in cells] == [
        ("not_reproduced", None),
        ("reproduced", "Ada"),
    ]
    page = web.client.get(f"/reports/{report}").text
    assert "contributed by Ada" in page
    assert "not confirmed here yet" in page
    assert "contributed by Ada" in web.client.get(f"/runs/{contributed['id']}").text


def test_another_service_takes_it_as_a_new_report(
    web: Web, settings: ServiceSettings, other_database: str
) -> None:
    bundle = exported(
        web, script=None, report=REPORT, claim=None, title="A loss", source_url="https://example.org/issues/7"
    )
    with serving(settings.with_database(other_database)) as elsewhere:
        answer = give(elsewhere, bundle, params={"by": "Ada"})
        assert answer.status_code == 201, answer.text
        run = answer.json()
        assert (run["verdict"], run["report"]["title"]) == ("reproduced", "A loss")
        assert run["report"]["source_url"] == "https://example.org/issues/7"
        details = elsewhere.client.get(f"/api/v1/reports/{run['report']['id']}").json()
        assert (details["text"], details["standing"]["verdict"]) == (REPORT, None)
        [listed] = elsewhere.client.get("/api/v1/reports").json()["items"]
        assert (listed["latest"], listed["runs"]) == (None, 1)
        assert "so the report has no verdict" in elsewhere.client.get(f"/reports/{run['report']['id']}").text
        attempt = elsewhere.client.get(f"/api/v1/attempts/{run['jobs'][0]['attempts'][0]['id']}").json()
        assert (attempt["node"], attempt["observation"]["stderr"]) == ("n", "RuntimeError: boom\n")


def test_the_name_of_a_token_stands_beside_what_its_owner_says(web: Web) -> None:
    headers = web.token(Scope.SUBMIT)
    run = give(web, from_elsewhere(exported(web)), params={"by": "Ada"}, headers=headers).json()
    assert run["contributed"]["by"] == "Ada, by the token test"


def test_two_that_come_at_once_are_one_run(web: Web) -> None:
    bundle = from_elsewhere(exported(web))
    answers = together(*(lambda: give(web, bundle) for _ in range(3)))
    assert sorted(answer.status_code for answer in answers) == [200, 200, 201]
    assert len({answer.json()["id"] for answer in answers}) == 1


def test_it_goes_to_the_report_that_is_named(web: Web) -> None:
    """The text of the bundle is another, as a thread has more comments later; the script is the one of the
    report.
    """
    report = web.post(script=None, report=REPORT, claim=None, repeats=3)["report"]["id"]
    bundle = from_elsewhere(exported(web, script=None, report=REPORT + "\nThanks.\n", claim=None))
    run = give(web, bundle, params={"report": report}).json()
    assert run["report"]["id"] == report
    assert give(web, from_elsewhere(bundle, text="x"), params={"report": "nothing"}).status_code == 404
    other = web.post(script="print(2)\n", claim=None)["report"]["id"]
    changed = from_elsewhere(exported(web, script=None, report=REPORT + "\nBye.\n", claim=None))
    refused = give(web, changed, params={"report": other})
    assert (refused.status_code, refused.json()["code"]) == (422, "read_differently")


def test_the_pages_of_its_attempts_say_whose_they_are(web: Web) -> None:
    bundle = exported(web)
    run = give(web, from_elsewhere(bundle), params={"by": "Ada"}).json()
    theirs, ours = run["jobs"][0]["attempts"][0]["id"], bundle["jobs"][0]["attempts"][0]["id"]
    assert "contributed by Ada" in web.client.get(f"/attempts/{theirs}").text
    assert "contributed by" not in web.client.get(f"/attempts/{ours}").text
    compared = web.client.get(f"/api/v1/comparisons/{ours}-{theirs}").json()
    assert (compared["baseline"]["contributed_by"], compared["candidate"]["contributed_by"]) == (None, "Ada")
    assert "contributed by Ada" in web.client.get(f"/compare?baseline={ours}&candidate={theirs}").text


def test_who_may_not_submit_may_not_contribute(web: Web) -> None:
    answer = give(web, {}, headers=web.token(Scope.READ))
    assert (answer.status_code, answer.json()["code"]) == (403, "scope_missing")


def test_a_run_that_goes_on_is_not_exported(web: Web) -> None:
    run = web.post(repeats=3)
    answer = web.client.get(f"/api/v1/runs/{run['id']}/bundle")
    assert (answer.status_code, answer.json()["code"]) == (409, "run_not_ended")
    web.client.post(f"/api/v1/runs/{run['id']}/cancel")
    empty = web.client.get(f"/api/v1/runs/{run['id']}/bundle").json()
    refused = give(web, empty)
    assert (refused.status_code, refused.json()["code"]) == (422, "empty_bundle")


@pytest.mark.parametrize(
    ("change", "status", "code"),
    [
        (lambda data: data[: len(data) // 2], 422, "bundle_cut"),
        (lambda data: data.replace(b"boom", b"bomb", 1), 422, "bundle_altered"),
        (lambda data: data.replace(b'"version": 1', b'"version": 2', 1), 422, "bundle_version"),
        (lambda _: b"{}", 422, "not_a_bundle"),
        (lambda data: data + b" " * (1 << 17), 413, "too_large"),
    ],
)
def test_a_damaged_one_is_a_clear_problem(
    web: Web, settings: ServiceSettings, change: Any, status: int, code: str
) -> None:
    data = json.dumps(exported(web)).encode()
    with serving(settings.model_copy(update={"bundle_bytes": 1 << 17})) as small:
        answer = small.client.post(
            "/api/v1/bundles", content=change(data), headers={"Content-Type": "application/json"}
        )
    assert (answer.status_code, answer.json()["code"]) == (status, code)
    assert answer.headers["content-type"] == "application/problem+json"


def test_a_bundle_may_be_larger_than_a_report(web: Web, settings: ServiceSettings) -> None:
    """The limit on other requests is not this one's, and the other way round."""
    data = b" " * (7 << 20)
    headers = {"Content-Type": "application/json"}
    assert web.client.post("/api/v1/bundles", content=data, headers=headers).json()["code"] == "bundle_cut"
    assert web.client.post("/api/v1/runs", content=data, headers=headers).status_code == 413
