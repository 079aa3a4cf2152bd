"""Webhooks over REST: from the address to the news, for their owner and for nobody else."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from api.web_client import Web, serving
from webhook_receiver import Receiver, receiving

from app.ids import new_id
from app.runs.maintenance.tokens import Scope, revoke
from app.runs.webhooks.deliver import deliver_due
from app.settings import ServiceSettings
from app.storage.models import TokenRow

ADDRESS = "/api/v1/webhooks"


@pytest.fixture
def settings(settings: ServiceSettings) -> ServiceSettings:
    """Loopback is allowed."""
    return settings.model_copy(update={"webhook_private": True})


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with receiving() as receiver:
        yield receiver


def add(web: Web, receiver: Receiver, headers: dict[str, str] | None = None, **more: Any) -> dict[str, Any]:
    answer = web.client.post(ADDRESS, json={"url": receiver.url, **more}, headers=headers)
    assert answer.status_code == 201, answer.text
    return dict(answer.json())


def news(web: Web, receiver: Receiver, secret: str) -> list[dict[str, Any]]:
    """All that has arrived after a round, verified."""
    while deliver_due(web.stage.factory, settings=web.stage.settings):
        pass
    return [arrival.verify(secret) for arrival in receiver.arrivals]


def test_the_submitter_learns_that_a_run_ended_and_that_its_verdict_changed(
    web: Web, receiver: Receiver
) -> None:
    headers, maintainer = web.token(Scope.SUBMIT), web.token(Scope.MAINTAIN)
    webhook = add(web, receiver, headers)
    assert webhook["events"] == ["run.finished", "report.changed", "report.fixed", "report.regressed"]
    body = {"script": "raise RuntimeError('boom')\n", "claim": "RuntimeError: boom", "repeats": 3}
    run = web.client.post("/api/v1/runs", json=body, headers=headers).json()
    others = web.post(repeats=3)
    web.finish(run["id"])
    assert web.finish(others["id"])["state"] == "finished"
    (event,) = news(web, receiver, webhook["secret"])
    assert event["type"] == "run.finished"
    facts = event["data"]
    assert (facts["run"], facts["verdict"], facts["seen"]) == (run["id"], "reproduced", True)
    assert web.client.get(facts["path"]).json()["verdict"] == "reproduced"
    for act, shown in (("overrule", "not_reproduced"), ("take-back", "reproduced")):
        sent = {"reason": "why"} | ({"verdict": shown} if act == "overrule" else {})
        path = f"/api/v1/reports/{facts['report']}/{act}"
        assert web.client.post(path, json=sent, headers=maintainer).status_code == 200
        change = news(web, receiver, webhook["secret"])[-1]
        assert (change["type"], change["data"]["after"]) == ("report.changed", shown)
    assert len(receiver.arrivals) == 3
    log = web.client.get(f"{ADDRESS}/{webhook['id']}/deliveries", headers=headers).json()["items"]
    assert [each["state"] for each in log] == ["delivered"] * 3
    assert [each["id"] for each in log] == [arrival.id for arrival in reversed(receiver.arrivals)]


def test_a_cancelled_run_is_news_too(web: Web, receiver: Receiver) -> None:
    webhook = add(web, receiver, events=["run.finished"])
    run = web.post()
    web.client.post(f"/api/v1/runs/{run['id']}/cancel")
    (event,) = news(web, receiver, webhook["secret"])
    assert (event["data"]["state"], event["data"]["verdict"]) == ("cancelled", None)


def test_nobody_else_sees_a_webhook(web: Web, receiver: Receiver) -> None:
    owner, other = web.token(Scope.SUBMIT), web.token(Scope.ADMIN)
    webhook = add(web, receiver, owner)
    assert "secret" not in web.client.get(f"{ADDRESS}/{webhook['id']}", headers=owner).json()
    for headers in (other, None):
        assert web.client.get(ADDRESS, headers=headers).json()["items"] == []
        for method, path in (
            ("GET", ""),
            ("DELETE", ""),
            ("GET", "/deliveries"),
            ("POST", "/ping"),
            ("POST", "/rotate"),
            ("POST", f"/deliveries/{new_id()}/resend"),
        ):
            address = f"{ADDRESS}/{webhook['id']}{path}"
            assert web.client.request(method, address, headers=headers).status_code == 404, (method, path)
    rotated = web.client.post(f"{ADDRESS}/{webhook['id']}/rotate", headers=owner).json()
    assert rotated["secret"] != webhook["secret"]
    assert rotated["earlier_key_until"]
    assert web.client.delete(f"{ADDRESS}/{webhook['id']}", headers=owner).json()["id"] == webhook["id"]
    assert web.client.get(ADDRESS, headers=owner).json()["items"] == []


def test_a_revoked_token_gets_no_news(web: Web, receiver: Receiver) -> None:
    headers = web.token(Scope.SUBMIT)
    webhook = add(web, receiver, headers)
    web.client.post(f"{ADDRESS}/{webhook['id']}/ping", headers=headers)
    with web.stage.session() as session:
        revoke(session, session.query(TokenRow).one().id)
    assert news(web, receiver, webhook["secret"]) == []


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "url"),
        ({"url": "https://u:p@bot.example/"}, "url"),
        ({"url": "ftp://bot.example/"}, "url"),
        ({"url": "https://bot.example/", "events": []}, "events"),
        ({"url": "https://bot.example/", "events": ["run.started"]}, "events.0"),
        ({"url": "https://bot.example/", "signature": "rsa"}, "signature"),
        ({"url": "https://bot.example/", "secret": "mine"}, "secret"),
    ],
)
def test_a_bad_webhook_is_refused(web: Web, body: dict[str, Any], field: str) -> None:
    answer = web.client.post(ADDRESS, json=body)
    assert answer.status_code == 422
    assert field in answer.text


def test_private_addresses_need_the_setting_and_their_number_is_limited(settings: ServiceSettings) -> None:
    changed = {"webhook_private": False, "webhooks": 2}
    with serving(settings.model_copy(update=changed)) as web:
        for url in ("http://bot.example/", "https://127.0.0.1/", "https://[::ffff:10.0.0.1]/"):
            assert web.client.post(ADDRESS, json={"url": url}).status_code == 422, url
        statuses = [
            web.client.post(ADDRESS, json={"url": "https://bot.example/"}).status_code for _ in range(3)
        ]
        assert statuses == [201, 201, 409]


def test_without_a_token_only_loopback_has_webhooks(settings: ServiceSettings) -> None:
    changed = {"host": "192.0.2.1", "anonymous_scopes": ("read", "submit")}
    with serving(settings.model_copy(update=changed)) as web:
        answer = web.client.post(ADDRESS, json={"url": "https://bot.example/"})
        assert (answer.status_code, answer.json()["code"]) == (403, "no_token")
