"""Answers lead on by addresses, say when nothing has changed, are compressed, and speak in REST's words."""

from __future__ import annotations

from typing import Any

import pytest
from api.web_client import Web, serving

from app.settings import ServiceSettings


def test_a_run_leads_to_all_that_belongs_to_it(web: Web) -> None:
    run = web.finish(web.post()["id"])
    assert run["url"] == f"http://localhost/runs/{run['id']}" == run["links"]["page"]
    for name in ("run", "brief", "report", "bundle", "page", "markdown", "events"):
        address = run["links"][name]
        assert address.startswith("http://localhost/"), name
        assert web.client.head(address).status_code in {200, 204}, name
    cancelled = web.client.post(run["links"]["cancel"])
    assert cancelled.json()["code"] == "run_finished"
    again = web.client.post(run["links"]["rerun"], json={"which": "all"}).json()
    assert again["links"]["run"] == f"http://localhost/api/v1/runs/{again['id']}"


def test_every_answer_with_a_run_has_the_same_addresses(web: Web) -> None:
    submitted = web.post()
    web.finish(submitted["id"])
    report = submitted["report"]["id"]
    answers = [
        web.client.get(f"/api/v1/runs/{submitted['id']}"),
        web.client.post(f"/api/v1/reports/{report}/runs", json={}),
        web.client.post(
            f"/api/v1/runs/{submitted['id']}/cells", json={"target": {"settings": {"threads": 1}}}
        ),
        web.client.post(f"/api/v1/runs/{submitted['id']}/cancel"),
    ]
    for run in [answer.json() for answer in answers]:
        assert run["url"] == f"http://localhost/runs/{run['id']}"
        assert run["links"]["report"] == f"http://localhost/api/v1/reports/{report}"


def test_the_withdraw_link_is_absolute(web: Web) -> None:
    url = web.post()["withdraw_url"]
    assert url.startswith("http://localhost/withdraw/")
    assert web.client.get(url).status_code == 200


def test_a_plan_has_no_address(web: Web) -> None:
    body = {"script": "raise RuntimeError('boom')\n", "claim": "RuntimeError: boom"}
    plan = web.client.post("/api/v1/runs", params={"dry_run": True}, json=body).json()
    assert (plan["url"], plan["links"], plan["withdraw_url"]) == (None, None, None)


def test_the_operator_names_the_public_address(settings: ServiceSettings) -> None:
    public = settings.model_copy(update={"public_url": "https://repro.example.org/samehere/"})
    with serving(public) as web:
        web.stage.node("n")
        run = web.post()
    assert run["url"] == f"https://repro.example.org/samehere/runs/{run['id']}"
    assert run["withdraw_url"].startswith("https://repro.example.org/samehere/withdraw/")


def test_a_senseless_public_address_is_refused() -> None:
    for url in ("repro.example.org", "https://user@repro.example.org", "https://repro.example.org/?x"):
        with pytest.raises(ValueError, match="public_url"):
            ServiceSettings.model_validate({"public_url": url})


def test_an_unchanged_answer_is_not_sent_again(web: Web) -> None:
    address = f"/api/v1/runs/{web.post()['id']}"
    first = web.client.get(address)
    assert first.headers["cache-control"] == "no-cache"
    tag = first.headers["etag"]
    same = web.client.get(address, headers={"If-None-Match": f'"other", {tag}'})
    assert (same.status_code, same.content, same.headers["etag"]) == (304, b"", tag)
    assert "content-type" not in same.headers
    web.finish(address.rpartition("/")[2])
    changed = web.client.get(address, headers={"If-None-Match": tag})
    assert (changed.status_code, changed.json()["state"]) == (200, "finished")
    assert changed.headers["etag"] != tag


def test_only_answers_of_the_api_are_tagged(web: Web) -> None:
    assert "etag" not in web.client.get("/").headers
    assert "etag" not in web.client.get("/api/v1/runs/nothing").headers
    assert "etag" in web.client.get("/api/v1/nodes").headers


def test_a_long_answer_is_compressed_on_request(web: Web) -> None:
    address = f"/api/v1/runs/{web.post()['id']}"
    plain = web.client.get(address, headers={"Accept-Encoding": "identity"})
    packed = web.client.get(address, headers={"Accept-Encoding": "gzip"})
    assert "content-encoding" not in plain.headers
    assert packed.headers["content-encoding"] == "gzip"
    assert int(packed.headers["content-length"]) < len(plain.content) / 2
    assert packed.json() == plain.json()
    assert packed.headers["etag"] == plain.headers["etag"]


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"over": "torch"}, "claim"),
        ({"over": "torch", "from": "new"}, "from"),
        ({"over": "threads", "from": "few", "to": "many"}, "from"),
    ],
)
def test_messages_name_fields_and_no_options(web: Web, body: dict[str, Any], field: str) -> None:
    said = {"claim": ""} if field == "claim" else {}
    report = web.post(script="print(1)\n" if said else "raise RuntimeError('boom')\n", **said)["report"]["id"]
    problem = web.client.post(f"/api/v1/reports/{report}/bisections", json=body).json()
    assert (problem["status"], problem["field"]) == (422, field), problem
    assert "--" not in problem["detail"]
