"""Quotas by token and by address, over all web processes: headers, 429, and who has none."""

from __future__ import annotations

import re

import pytest
from api.web_client import Web, serving
from fastapi.testclient import TestClient
from pydantic import SecretStr

from app.http.quotas import is_this_machine
from app.runs.maintenance.tokens import Scope
from app.settings import ServiceSettings

BODY = {"script": "raise RuntimeError('boom')\n", "claim": "RuntimeError: boom"}
SMALL = {"address_requests": 6, "address_submissions": 2, "token_requests": 0, "token_submissions": 3}


@pytest.fixture
def small(settings: ServiceSettings) -> ServiceSettings:
    return settings.model_copy(update=SMALL)


def fields(header: str) -> dict[str, dict[str, int]]:
    """The quotas of a `RateLimit` or `RateLimit-Policy`."""
    return {
        name: {key: int(value) for key, value in re.findall(r";([a-z])=([0-9]+)", rest)}
        for name, rest in re.findall(r'"([a-z]+)"([^,]*)', header)
    }


def test_submissions_of_an_address_are_bounded_over_all_processes(small: ServiceSettings) -> None:
    with serving(small) as web:
        web.stage.node("n")
        first = web.client.post("/api/v1/runs", json=BODY)
        assert first.status_code == 202
        policy = fields(first.headers["ratelimit-policy"])
        assert policy == {"requests": {"q": 6, "w": 60}, "submissions": {"q": 2, "w": 60}}
        left = fields(first.headers["ratelimit"])
        assert (left["requests"]["r"], left["submissions"]["r"]) == (5, 1)
        assert 1 <= left["submissions"]["t"] <= 120
        # A form is a submission, too. What is refused for its form counts as well.
        assert web.client.post("/", data={"text": ""}, follow_redirects=False).status_code < 500
    with serving(small) as web:
        refused = web.client.post("/api/v1/runs", json=BODY)
        assert (refused.status_code, refused.json()["code"]) == (429, "too_many_requests")
        assert 1 <= int(refused.headers["retry-after"]) <= 120
        assert refused.headers["retry-after"] in refused.json()["detail"]
        assert fields(refused.headers["ratelimit"])["submissions"]["r"] == 0
        assert web.client.post("/", data={"text": "x"}).status_code == 429
        # Reading goes on, and pages cost nothing.
        assert web.client.get("/api/v1/runs").status_code == 200
        assert "ratelimit" not in web.client.get("/").headers


def test_requests_of_an_address_are_bounded(small: ServiceSettings) -> None:
    with serving(small) as web:
        answers = [web.client.get("/api/v1/runs") for _ in range(7)]
        assert [answer.status_code for answer in answers] == [200] * 6 + [429]
        assert web.client.get("/healthz").status_code == 200
        client = ("203.0.113.9", 1)
        with TestClient(web.application, base_url="http://localhost", client=client) as other:
            assert other.get("/api/v1/runs").status_code == 200


def test_a_token_has_its_own_quota(small: ServiceSettings) -> None:
    with serving(small) as web:
        web.stage.node("n")
        one, two = web.token(Scope.SUBMIT), web.token(Scope.SUBMIT)
        statuses = [web.client.post("/api/v1/runs", json=BODY, headers=one).status_code for _ in range(4)]
        assert statuses == [202, 202, 202, 429]
        assert web.client.post("/api/v1/runs", json=BODY, headers=two).status_code == 202
        # 0 means no limit.
        answers = [web.client.get("/api/v1/runs", headers=one) for _ in range(9)]
        assert {answer.status_code for answer in answers} == {200}
        assert "ratelimit" not in answers[0].headers


def test_wrong_tokens_count_for_the_address(small: ServiceSettings) -> None:
    with serving(small) as web:
        statuses = [
            web.client.get("/api/v1/runs", headers={"Authorization": f"Bearer {number}"}).status_code
            for number in range(7)
        ]
        assert statuses == [401] * 6 + [429]


def test_errors_show_the_quota_too(web: Web) -> None:
    missing = web.client.get("/api/v1/runs/nothing")
    assert missing.status_code == 404
    assert fields(missing.headers["ratelimit-policy"])["requests"]["q"] == web.stage.settings.address_requests


def test_a_network_of_ipv6_is_one_caller(small: ServiceSettings) -> None:
    """Whoever has one address of it has all, and would have a quota for each."""
    with serving(small) as web:

        def status_for(address: str) -> int:
            # A client of its own would leave its connections to the broker open.
            web.client._transport.client = (address, 1)
            return int(web.client.get("/api/v1/runs").status_code)

        assert [status_for(f"2001:db8:1:2::{last}") for last in range(1, 9)] == [200] * 6 + [429] * 2
        for address in ("2001:db8:1:3::1", "::ffff:203.0.113.7", "::ffff:203.0.113.8"):
            assert status_for(address) == 200


def test_without_a_broker_nothing_is_counted(small: ServiceSettings) -> None:
    gone = {"broker_url": SecretStr("redis+socket:///nonexistent/socket")}
    with serving(small.model_copy(update=gone)) as web:
        answers = [web.client.get("/api/v1/runs") for _ in range(7)]
        assert {answer.status_code for answer in answers} == {200}


def test_callers_on_this_machine_have_no_quota(small: ServiceSettings) -> None:
    for address in ("127.0.0.1", "127.9.9.9", "::1"):
        assert is_this_machine(address)
    for address in ("203.0.113.9", "10.0.0.1", "testclient", ""):
        assert not is_this_machine(address)
    with serving(small) as web:
        local = TestClient(web.application, base_url="http://localhost", client=("127.0.0.1", 1))
        answers = [local.get("/api/v1/runs") for _ in range(7)]
        assert {answer.status_code for answer in answers} == {200}


def test_a_call_of_a_tool_is_one_request(small: ServiceSettings) -> None:
    """The requests that a tool sends belong to it. A wrong token counts there as well."""
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "search", "arguments": {}}}
    accept = {"Accept": "application/json, text/event-stream"}
    with serving(small) as web:
        answers = [web.client.post("/mcp", json=call, headers=accept) for _ in range(7)]
        assert [answer.status_code for answer in answers] == [200] * 6 + [429]
        assert not answers[5].json()["result"].get("isError")
        assert answers[6].json()["code"] == "too_many_requests"
        counted = web.client.get("/metrics").text
        assert 'route="/mcp"' in counted
        assert 'route="/api/v1/reports"' not in counted
    with serving(small) as web:
        wrong = {**accept, "Authorization": "Bearer wrong"}
        statuses = [web.client.post("/mcp", json=call, headers=wrong).status_code for _ in range(7)]
        assert 429 in statuses
