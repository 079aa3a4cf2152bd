"""Unknown query parameters are refused, so that a typo does not become a default."""

from __future__ import annotations

import pytest
from api.web_client import Web
from fastapi.routing import iter_route_contexts

from app.ids import new_id
from app.storage.models import RunRow

BODY = {"script": "raise RuntimeError('boom')\n", "claim": "RuntimeError: boom"}
SAFE = {"GET", "HEAD"}


@pytest.mark.parametrize(
    ("query", "advice"),
    [
        ("dryrun=1", "The nearest one that it takes is dry_run."),
        ("dry_run=1&Dry-Run=1", "The nearest one that it takes is dry_run."),
        ("wait=10", "It takes dry_run."),
    ],
)
def test_a_typo_runs_nothing(web: Web, query: str, advice: str) -> None:
    answer = web.client.post(f"/api/v1/runs?{query}", json=BODY)
    assert (answer.status_code, answer.json()["code"]) == (422, "unknown_query_parameter")
    name = query.rpartition("&")[2].partition("=")[0]
    assert answer.json()["field"] == name
    assert answer.json()["detail"] == f"This address has no query parameter {name!r}. {advice}"
    assert web.stage.count(RunRow) == 0


def test_every_rest_route_and_every_form(web: Web) -> None:
    seen = 0
    for route in iter_route_contexts(web.application.routes):
        path = getattr(route, "path", "")
        for method in sorted((getattr(route, "methods", None) or set()) - {"HEAD", "OPTIONS"}):
            is_rest = path.startswith("/api/") and path != "/api/v1/openapi.json"
            # The tools for models have a protocol of their own.
            if (not is_rest and method in SAFE) or path == "/mcp":
                continue
            address = path
            while "{" in address:
                head, _, rest = address.partition("{")
                address = f"{head}{new_id()}{rest.partition('}')[2]}"
            answer = web.client.request(method, f"{address}?no_such=1", json={} if is_rest else None)
            assert answer.status_code == 422, (method, path, answer.status_code)
            assert "no_such" in answer.text or not is_rest, (method, path)
            seen += 1
    assert seen > 60


def test_a_page_may_carry_the_marks_of_other_sites(web: Web) -> None:
    assert web.client.get("/?utm_source=x").status_code == 200


def test_a_strange_name_is_cut_and_shown_as_it_is(web: Web) -> None:
    answer = web.client.get("/api/v1/runs", params={"\u202e" + "x" * 500: "1"}).json()
    assert answer["code"] == "unknown_query_parameter"
    assert "'\\u202exxx" in answer["detail"]
    assert len(answer["detail"]) < 250
