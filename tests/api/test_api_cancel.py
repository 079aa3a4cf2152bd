"""A run is cancelled by its submitter or a maintainer, and by nobody else."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from api.web_client import Web, serving

from app.runs.maintenance.tokens import Scope
from app.settings import ServiceSettings

BODY = {"script": "raise RuntimeError('boom')\n", "claim": "RuntimeError: boom"}
Address = Callable[[dict[str, Any]], str]
WAYS: dict[str, Address] = {
    "run": lambda run: f"/api/v1/runs/{run['id']}/cancel",
    "cell": lambda run: f"/api/v1/runs/{run['id']}/cells/{run['jobs'][0]['id']}/cancel",
    "page": lambda run: f"/runs/{run['id']}/cancel",
    "cell on a page": lambda run: f"/runs/{run['id']}/stop-cell",
}


def submit(web: Web, headers: dict[str, str]) -> dict[str, Any]:
    answer = web.client.post("/api/v1/runs", json=BODY, headers=headers)
    assert answer.status_code == 202, answer.text
    return dict(answer.json())


def cancel(web: Web, address: str, *, job: str = "", headers: dict[str, str] | None = None) -> int:
    form = {} if address.startswith("/api/") else {"data": {"cell": job}}
    return web.client.post(address, follow_redirects=False, headers=headers, **form).status_code


@pytest.mark.parametrize("way", WAYS)
def test_others_are_refused_and_the_submitter_is_not(web: Web, way: str) -> None:
    owner, other = web.token(Scope.SUBMIT), web.token(Scope.SUBMIT)
    run = submit(web, owner)
    address, job = WAYS[way](run), run["jobs"][0]["id"]
    assert cancel(web, address, job=job, headers=other) == 403
    assert cancel(web, address, job=job) == 403
    assert web.stage.run(run["id"]).state == "queued"
    assert cancel(web, address, job=job, headers=owner) in {200, 303}
    assert web.stage.run(run["id"]).state == "cancelled"


def test_the_refusal_says_what_to_send(web: Web) -> None:
    run = submit(web, web.token(Scope.SUBMIT))
    answer = web.client.post(WAYS["run"](run), headers=web.token(Scope.SUBMIT)).json()
    assert answer["code"] == "not_the_submitter"
    assert "Withdraw-Secret" in answer["detail"]


@pytest.mark.parametrize("scope", [Scope.MAINTAIN, Scope.ADMIN])
def test_a_maintainer_may(web: Web, scope: Scope) -> None:
    run = submit(web, web.token(Scope.SUBMIT))
    assert cancel(web, WAYS["run"](run), headers=web.token(scope)) == 200


def test_a_run_of_nobody_is_not_the_run_of_every_token(web: Web) -> None:
    other = web.token(Scope.SUBMIT)
    run = submit(web, {})
    assert cancel(web, WAYS["run"](run), headers=other) == 403
    assert cancel(web, WAYS["run"](run)) == 200, "on loopback, callers without a token are one submitter"


def test_the_withdraw_secret_shows_the_submitter(settings: ServiceSettings) -> None:
    open_to_all = settings.model_copy(
        update={"host": "0.0.0.0", "anonymous_scopes": ("read", "submit")}  # noqa: S104  # nothing is bound
    )
    with serving(open_to_all) as web:
        web.stage.node("n")
        run, other = submit(web, {}), submit(web, {})
        secret = other["withdraw_url"].rsplit("/", 1)[1]
        assert cancel(web, WAYS["run"](run)) == 403
        assert cancel(web, WAYS["run"](run), headers={"Withdraw-Secret": secret}) == 403
        own = run["withdraw_url"].rsplit("/", 1)[1]
        assert cancel(web, WAYS["run"](run), headers={"Withdraw-Secret": own}) == 200
        assert cancel(web, WAYS["page"](other), headers={"Cookie": f"samehere_withdraw={secret}"}) == 303
        assert web.stage.run(other["id"]).state == "cancelled"


def test_a_run_of_a_stored_report_belongs_to_who_started_it(web: Web) -> None:
    first, second = web.token(Scope.SUBMIT), web.token(Scope.SUBMIT)
    report = submit(web, first)["report"]["id"]
    run = web.client.post(f"/api/v1/reports/{report}/runs", json={}, headers=second).json()
    again = web.client.post(f"/api/v1/runs/{run['id']}/rerun", json={"which": "all"}, headers=second).json()
    for each in (run, again):
        assert cancel(web, WAYS["run"](each), headers=first) == 403
        assert cancel(web, WAYS["run"](each), headers=second) == 200
