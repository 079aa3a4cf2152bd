"""Access: every route has a row in this table, so none is open by mistake."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from api.web_client import Web, serving
from fastapi.routing import iter_route_contexts

from app.ids import new_id
from app.runs.maintenance.tokens import Scope, create, revoke
from app.settings import ServiceSettings

PUBLIC = {"/llms.txt", "/healthz", "/readyz", "/metrics", "/static", "/api/v1/openapi.json"}
READ = {
    ("GET", "/"),
    ("GET", "/reports"),
    ("GET", "/reports/{report_id}"),
    ("GET", "/runs/{run_id}"),
    ("GET", "/runs/{run_id}/fragment"),
    ("GET", "/runs/{run_id}/map"),
    ("GET", "/reports/{report_id}/map"),
    ("GET", "/reports/{report_id}.svg"),
    ("GET", "/attempts/{attempt_id}"),
    ("GET", "/attempts/{attempt_id}/{stream}"),
    ("GET", "/attention/{attention}"),
    ("GET", "/jobs/{job_id}"),
    ("GET", "/jobs/{job_id}/repeat.py"),
    ("GET", "/reports/{report_id}/text"),
    ("GET", "/reports/{report_id}/scripts/{number}"),
    ("GET", "/bisections/{bisection_id}"),
    ("GET", "/bisections/{bisection_id}/fragment"),
    ("GET", "/compare"),
    ("GET", "/runs/{run_id}/map"),
    ("GET", "/reports/{report_id}/map"),
    ("GET", "/reports/{report_id}.svg"),
    ("GET", "/compare.md"),
    ("GET", "/compare.json"),
    ("GET", "/nodes"),
    ("GET", "/probe.py"),
    ("GET", "/changes"),
    ("GET", "/changes.md"),
    ("GET", "/changes.json"),
    ("GET", "/changes.atom"),
    ("GET", "/api/v1/runs"),
    ("GET", "/api/v1/runs/{run_id}"),
    ("GET", "/api/v1/runs/{run_id}/events"),
    ("GET", "/api/v1/events"),
    ("GET", "/api/v1/runs/{run_id}/bundle"),
    ("GET", "/api/v1/attempts/{attempt_id}"),
    ("GET", "/api/v1/comparisons/{comparison_id}"),
    ("POST", "/api/v1/reports:read"),
    ("POST", "/api/v1/gate"),
    ("POST", "/mcp"),
    ("GET", "/api/v1/reports"),
    ("GET", "/api/v1/reports/{report_id}"),
    ("GET", "/api/v1/reports/{report_id}/matrix"),
    ("GET", "/api/v1/reports/{report_id}/explain"),
    ("GET", "/reports/{report_id}/explain"),
    ("GET", "/reports/{report_id}/explain.json"),
    ("GET", "/reports/{report_id}/explain.md"),
    ("GET", "/api/v1/changes"),
    ("GET", "/api/v1/reports/{report_id}/bisections"),
    ("GET", "/api/v1/bisections/{bisection_id}"),
    ("GET", "/api/v1/presets"),
    ("GET", "/api/v1/nodes"),
    ("GET", "/api/v1/toolchains"),
    ("GET", "/api/v1/runs/{run_id}/bundle"),
    ("GET", "/probe.py"),
    ("GET", "/api/v1/quarantines"),
    ("GET", "/api/v1/acts"),
    ("GET", "/api/v1/reports/{report_id}/reply"),
    ("GET", "/reports/{report_id}/judge-again"),
    # Whoever holds the secret may.
    ("GET", "/withdraw/{secret}"),
    ("POST", "/withdraw/{secret}"),
    ("POST", "/api/v1/withdrawals"),
}
SUBMIT = {
    ("POST", "/"),
    ("POST", "/plan"),
    ("GET", "/plan"),
    ("POST", "/runs/{run_id}/cancel"),
    ("POST", "/runs/{run_id}/rerun"),
    ("POST", "/runs/{run_id}/cells"),
    ("POST", "/runs/{run_id}/stop-cell"),
    ("POST", "/api/v1/runs/{run_id}/rerun"),
    ("POST", "/api/v1/runs/{run_id}/cells"),
    ("POST", "/api/v1/runs/{run_id}/cells/{job_id}/cancel"),
    ("POST", "/reports/{report_id}/runs"),
    ("POST", "/reports/{report_id}/explain"),
    ("POST", "/api/v1/reports/{report_id}/explain"),
    ("POST", "/reports/{report_id}/bisections"),
    ("POST", "/bisections/{bisection_id}/cancel"),
    ("POST", "/api/v1/reports/{report_id}/bisections"),
    ("POST", "/api/v1/bisections/{bisection_id}/cancel"),
    ("POST", "/api/v1/runs"),
    ("POST", "/api/v1/runs/{run_id}/cancel"),
    ("POST", "/api/v1/reports/{report_id}/runs"),
    ("POST", "/api/v1/bundles"),
    # Webhooks are seen by their owner alone.
    ("POST", "/api/v1/webhooks"),
    ("GET", "/api/v1/webhooks"),
    ("GET", "/api/v1/webhooks/{webhook_id}"),
    ("DELETE", "/api/v1/webhooks/{webhook_id}"),
    ("POST", "/api/v1/webhooks/{webhook_id}/rotate"),
    ("POST", "/api/v1/webhooks/{webhook_id}/ping"),
    ("GET", "/api/v1/webhooks/{webhook_id}/deliveries"),
    ("POST", "/api/v1/webhooks/{webhook_id}/deliveries/{delivery_id}/resend"),
    # Only by the submitter of the report, a maintainer, and whoever holds its withdraw secret.
    ("PUT", "/api/v1/reports/{report_id}/claim"),
}
_OF_REPORTS = ("overrule", "take-back", "label", "close", "reopen", "withdraw", "confirm", "unconfirm")
MAINTAIN = {
    *(
        ("POST", f"{door}/runs/{{run_id}}/{act}")
        for door in ("", "/api/v1")
        for act in ("overrule", "take-back")
    ),
    *(("POST", f"{door}/reports/{{report_id}}/{act}") for door in ("", "/api/v1") for act in _OF_REPORTS),
    *(
        ("POST", f"{door}/quarantines{of}")
        for door in ("", "/api/v1")
        for of in ("", "/{quarantine_id}/lift")
    ),
    ("POST", "/reports/{report_id}/judge-again"),
    ("POST", "/api/v1/judgements:preview"),
    ("POST", "/api/v1/judgements:apply"),
}

# Who has no rights yet gets them here.
# GitHub signs its events; no token of ours is in them.
SIGNED = {("POST", "/api/v1/github/events")}
SIGNING_IN = {("GET", "/sign-in"), ("POST", "/sign-in"), ("POST", "/sign-out")}
# The withdraw secret is a cookie or a field of the form.
BY_FIELD = {("POST", "/reports/{report_id}/claim"), ("POST", "/reports/{report_id}/stances")}


@pytest.fixture
def closed(settings: ServiceSettings) -> Iterator[Web]:
    """A service that grants nothing without a token."""
    with serving(settings.model_copy(update={"anonymous_scopes": ()})) as web:
        web.stage.node("n")
        yield web


def status(web: Web, method: str, path: str, headers: dict[str, str]) -> int:
    address = path
    for name in (
        "run_id",
        "job_id",
        "report_id",
        "attempt_id",
        "comparison_id",
        "bisection_id",
        "quarantine_id",
        "webhook_id",
        "delivery_id",
        "secret",
    ):
        address = address.replace(f"{{{name}}}", new_id())
    body = {"json": {"script": "print(1)"}} if path.startswith("/api/") and method == "POST" else {}
    if path.endswith(("/claim", "/stances")):
        correction = {"claim": "prints 3", "reason": "x", "stance": "e1 actual"}
        body = {"data": correction} if method == "POST" else {"json": {"claim": "prints 3"}}
    query = {"id": new_id()} if path.startswith("/compare") else {}
    if path == "/api/v1/events":
        # The stream of all events would never end.
        query = {"since": "x"}
    return web.client.request(
        method, address, headers=headers, params=query, follow_redirects=False, **body
    ).status_code


def test_every_route_has_its_place(web: Web) -> None:
    found = {
        (method, route.path)
        for route in iter_route_contexts(web.application.routes)
        for method in route.methods or {"GET"}
    }
    assert {
        (method, path) for method, path in found if path not in PUBLIC and method != "HEAD"
    } == READ | SUBMIT | MAINTAIN | BY_FIELD | SIGNING_IN | SIGNED


def test_without_a_token(closed: Web) -> None:
    for method, path in sorted(READ | SUBMIT | MAINTAIN | BY_FIELD):
        assert status(closed, method, path, {}) == 401, (method, path)
    for path in PUBLIC - {"/static"}:
        assert status(closed, "GET", path, {}) == 200, path
    assert closed.client.get("/static/app.css").status_code == 200
    assert closed.client.get("/api/v1/runs").headers["www-authenticate"] == "Bearer"


@pytest.mark.parametrize("scope", list(Scope))
def test_with_a_token(closed: Web, scope: Scope) -> None:
    headers = closed.token(scope)
    for method, path in sorted(READ):
        assert status(closed, method, path, headers) not in {401, 403}, (method, path)
    for method, path in sorted(SUBMIT):
        found = status(closed, method, path, headers)
        assert (found == 403) if scope is Scope.READ else (found not in {401, 403}), (method, path)
    for method, path in sorted(MAINTAIN):
        found = status(closed, method, path, headers)
        assert (found == 403) if scope in {Scope.READ, Scope.SUBMIT} else (found not in {401, 403}), (
            method,
            path,
        )


def test_a_token_that_is_none(closed: Web) -> None:
    good = closed.token(Scope.ADMIN)["Authorization"]
    for value in (
        "Bearer x",
        "Bearer ",
        good + "x",
        good.lower(),
        f"Basic {good}",
        good.removeprefix("Bearer "),
        "Bearer samehere_é",
    ):
        answer = closed.client.get(
            "/api/v1/runs", headers={"Authorization": value.encode("latin-1", "replace")}
        )
        assert answer.status_code == 401, value
        assert good not in answer.text


def test_a_bad_token_is_not_as_good_as_none(web: Web) -> None:
    assert web.client.get("/api/v1/runs").status_code == 200
    assert web.client.get("/api/v1/runs", headers={"Authorization": "Bearer samehere_x"}).status_code == 401


def test_a_revoked_token(closed: Web) -> None:
    with closed.stage.session() as session:
        made = create(session, name="old", scopes=[Scope.READ])
    headers = {"Authorization": f"Bearer {made.secret}"}
    assert closed.client.get("/api/v1/runs", headers=headers).status_code == 200
    with closed.stage.session() as session:
        revoke(session, made.token.id)
    assert closed.client.get("/api/v1/runs", headers=headers).status_code == 401


@pytest.mark.parametrize(
    ("host", "expected"),
    [("127.0.0.1", 202), ("::1", 202), ("localhost", 202), ("0.0.0.0", 401), ("192.0.2.1", 401)],  # noqa: S104
)
def test_only_this_machine_submits_without_a_token(
    settings: ServiceSettings, host: str, expected: int
) -> None:
    with serving(settings.model_copy(update={"host": host})) as web:
        assert web.client.post("/api/v1/runs", json={"script": "print(1)"}).status_code == expected
        assert web.client.get("/api/v1/runs").status_code == 200


@pytest.mark.parametrize(("host", "expected"), [("127.0.0.1", 404), ("localhost", 404), ("0.0.0.0", 401)])  # noqa: S104
def test_only_this_machine_maintains_without_a_token_and_only_as_long_as_there_is_none(
    settings: ServiceSettings, host: str, expected: int
) -> None:
    with serving(settings.model_copy(update={"host": host})) as web:
        act = {"json": {"reason": "why"}}
        address = f"/api/v1/reports/{new_id()}/close"
        assert web.client.post(address, **act).status_code == expected
        headers = web.token(Scope.READ)
        assert web.client.post(address, **act).status_code == 401
        assert web.client.post(address, **act, headers=headers).status_code == 403
