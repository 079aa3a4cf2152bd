"""Run it anyway: where needs were read wrongly, the run is made and says that the submitter asked for it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from api.web_client import Web

from app.command.groups.options import NeedName
from app.intake.reading import NeedKind
from worker.contract import Observation, Outcome

# The file is written by a library, which no reading can see.
FILE = "open('weights.bin').read()\nraise RuntimeError('boom')\n"
GPU = "import torch\ntorch.ones(2, device='cuda')\nprint(6)\n"


def needs_of(run: dict[str, Any]) -> set[str]:
    return {need["kind"] for script in run["report"]["scripts"] for need in script["needs"]}


def test_a_need_that_stops_a_run_is_set_aside(web: Web) -> None:
    asked = web.post(script=FILE)
    assert (asked["verdict"], [ask["code"] for ask in asked["ask"]]) == ("needs_info", ["file"])
    run = web.post(script=FILE, ignore_needs=["file"])
    assert (run["state"], run["ask"], needs_of(run)) == ("queued", [], set())
    assert [need["name"] for need in run["report"]["ignored_needs"]] == ["weights.bin"]
    done = web.finish(run["id"])
    assert done["verdict"] == "reproduced"
    assert "asked to run it without regard to these needs: file." in done["summary"]
    assert "weights" not in done["summary"]
    assert "without regard to these needs: file" in web.client.get(f"/reports/{run['report']['id']}").text
    assert "without regard to these needs: file" in web.client.get(f"/runs/{run['id']}.md").text
    assert "ignored_needs" not in asked["report"]


def test_what_is_lacking_after_all_shows_nothing(web: Web) -> None:
    run = web.post(script=GPU, claim="prints 7", ignore_needs=["gpu"], targets=[{"device": "cpu"}])
    error = "RuntimeError: No CUDA GPUs are available"
    seen = Observation(exit_status=1, stderr=error, exception={"type": "RuntimeError", "message": error})
    done = web.finish(run["id"], outcome=Outcome.RAISED, observation=seen)
    assert (done["verdict"], done["jobs"][0]["reason"]["code"]) == ("cannot_show", "no_gpu")


def test_a_later_run_and_a_bundle_know_it(web: Web) -> None:
    run = web.post(script=FILE, ignore_needs=["file", "gpu"])
    web.finish(run["id"])
    again = web.client.post(f"/api/v1/reports/{run['report']['id']}/runs", json={}).json()
    assert (again["state"], again["ask"]) == ("queued", [])
    bundle = web.client.get(f"/api/v1/runs/{run['id']}/bundle").json()
    assert bundle["report"]["ignore_needs"] == ["file"]
    plain = web.post()
    web.finish(plain["id"])
    assert "ignore_needs" not in web.client.get(f"/api/v1/runs/{plain['id']}/bundle").json()["report"]


def test_reading_and_planning_take_it_too(web: Web) -> None:
    body = {"script": FILE, "ignore_needs": ["file"]}
    read = web.client.post("/api/v1/reports:read", json=body).json()
    assert (read["verdict"], read["ask"]) == (None, [])
    plan = web.client.post("/api/v1/runs?dry_run=true", json=body).json()
    assert plan["estimate"]["cells"] > 0


def test_an_unknown_kind_is_refused(web: Web) -> None:
    answer = web.client.post("/api/v1/runs", json={"script": FILE, "ignore_needs": ["luck"]})
    assert (answer.status_code, answer.json()["field"]) == (422, "ignore_needs.0")
    form = {"text": FILE, "ignore_needs": "file luck"}
    page = web.client.post("/", data=form)
    assert page.status_code == 422
    assert "Kinds of needs are: package, gpu" in page.text
    assert {str(name) for name in NeedName} == {str(kind) for kind in NeedKind}


def test_the_form_takes_a_claim_as_data_and_fills_it(web: Web) -> None:
    plan = web.client.post("/plan", data={"text": "print(6)\n", "claim": "prints 6", "form": "script"}).text
    assert "&#34;number&#34;: &#34;6&#34;" in plan
    data = json.dumps({"checks": [{"kind": "value", "number": "7", "occurrence": 2}]})
    form = {"text": FILE, "form": "script", "claim": "prints 6", "ignore_needs": "file"}
    answer = web.client.post("/", data={**form, "claim_data": data}, follow_redirects=False)
    claim = web.client.get(f"/api/v1{answer.headers['location']}").json()["report"]["claim"]
    assert claim["checks"][0]["occurrence"] == 2
    # A field that was only filled by us does not displace changed words.
    same = {**form, "claim": "prints 8", "claim_data": data, "claim_read": data}
    answer = web.client.post("/", data=same, follow_redirects=False)
    claim = web.client.get(f"/api/v1{answer.headers['location']}").json()["report"]["claim"]
    assert claim["checks"][0]["number"] == "8"


@pytest.mark.parametrize("data", ["{", "[]", '{"checks": [{"kind": "value"}]}'])
def test_a_wrong_claim_in_the_form_is_shown_beside_it(web: Web, data: str) -> None:
    page = web.client.post("/", data={"text": "print(6)\n", "claim_data": data})
    assert page.status_code == 422
    assert 'role="alert"' in page.text
