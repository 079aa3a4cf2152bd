"""Lists: newest first, page by page, each item once; reports by words and by address; the matrix; the
fleet.
"""

from __future__ import annotations

from typing import Any

import pytest
from api.web_client import Web
from sqlalchemy import update

from app.ids import new_id
from app.storage.models import NodeRow
from worker.contract import ExceptionFacts, Observation, Outcome

BOOM = Observation(exit_status=1, exception=ExceptionFacts(type="RuntimeError", message="boom"))
FINE = Observation(exit_status=0, stdout="fine\n", stdout_bytes=5)


def pages(web: Web, path: str, **query: Any) -> list[list[dict[str, Any]]]:
    found, cursor = [], None
    while True:
        answer = web.client.get(path, params={**query, **({"cursor": cursor} if cursor else {})})
        assert answer.status_code == 200, answer.text
        found.append(answer.json()["items"])
        cursor = answer.json()["next"]
        if cursor is None:
            return found


@pytest.mark.parametrize("path", ["/api/v1/runs", "/api/v1/reports"])
def test_page_by_page(web: Web, path: str) -> None:
    for number in range(5):
        web.post(title=f"number {number}")
    whole = web.client.get(path).json()
    assert whole["next"] is None
    ids = [item["id"] for item in whole["items"]]
    assert ids == sorted(ids, reverse=True)
    assert len(ids) == 5
    assert [len(page) for page in pages(web, path, limit=2)] == [2, 2, 1]
    assert [item["id"] for page in pages(web, path, limit=2) for item in page] == ids
    assert [len(page) for page in pages(web, path, limit=5)] == [5]


def test_what_comes_meanwhile_moves_no_page(web: Web) -> None:
    old = [web.post()["id"] for _ in range(4)]
    first = web.client.get("/api/v1/runs", params={"limit": 2}).json()
    web.post()
    second = web.client.get("/api/v1/runs", params={"limit": 2, "cursor": first["next"]}).json()
    assert [item["id"] for item in (*first["items"], *second["items"])] == list(reversed(old))


@pytest.mark.parametrize(
    "query",
    [
        {"cursor": "x"},
        {"cursor": "' OR 1=1"},
        {"cursor": "\x00"},
        {"limit": 0},
        {"limit": 201},
        {"limit": "x"},
    ],
)
@pytest.mark.parametrize("path", ["/api/v1/runs", "/api/v1/reports"])
def test_a_bad_cursor_or_limit(web: Web, path: str, query: dict[str, Any]) -> None:
    answer = web.client.get(path, params=query)
    assert answer.status_code == 422
    assert answer.json()["field"] == next(iter(query))


def test_reports_by_words_and_by_address(web: Web) -> None:
    url = "https://github.com/pytorch/pytorch/issues/1"
    web.post(title="logdet is 100% wrong", source_url=url)
    web.post(title="other_one")

    def found(**query: str) -> list[str]:
        return [item["title"] for item in web.client.get("/api/v1/reports", params=query).json()["items"]]

    assert found(q="LOGDET wrong") == ["logdet is 100% wrong"]
    assert found(q="100% wro") == ["logdet is 100% wrong"]
    assert found(q="other_one") == ["other_one"]
    assert found(q="one_other") == []
    assert found(q="ogdet") == []
    assert found(source_url=url) == ["logdet is 100% wrong"]
    assert found(source_url=f"{url}0") == []
    for nothing in ("\x00", "\\", "';--", "%", "💥"):
        assert found(q=nothing) == []


def test_a_report_with_its_runs(web: Web) -> None:
    run = web.post(title="again")
    report = run["report"]["id"]
    web.finish(run["id"], observation=BOOM)
    answer = web.client.post(
        f"/api/v1/reports/{report}/runs", json={"targets": [{"device": "cpu", "settings": {"threads": 1}}]}
    )
    assert answer.status_code == 202
    again = answer.json()
    assert answer.headers["location"] == f"/api/v1/runs/{again['id']}"
    shown = web.client.get(f"/api/v1/reports/{report}").json()
    assert [item["id"] for item in shown["runs"]] == [again["id"], run["id"]]
    [listed] = web.client.get("/api/v1/reports").json()["items"]
    assert (listed["runs"], listed["latest"]["id"]) == (2, again["id"])


def test_the_matrix_has_the_latest_verdict_of_each_target(web: Web) -> None:
    first = web.post(repeats=3)
    report = first["report"]["id"]
    assert web.finish(first["id"], observation=BOOM)["verdict"] == "reproduced"

    def cells() -> dict[str, tuple[str | None, str]]:
        matrix = web.client.get(f"/api/v1/reports/{report}/matrix").json()
        assert matrix["report"] == report
        assert {cell["script"] for cell in matrix["cells"]} == set(matrix["scripts"])
        return {cell["label"]: (cell["verdict"], cell["run"]) for cell in matrix["cells"]}

    plain = "cpu@torch-2.13-cpu"
    assert cells() == {plain: ("reproduced", first["id"])}
    body = {
        "targets": [{"device": "cpu"}, {"device": "cpu", "settings": {"threads": 1}}, {"device": "cuda"}],
        "repeats": 3,
    }
    second = web.client.post(f"/api/v1/reports/{report}/runs", json=body).json()
    waiting = cells()
    assert waiting[plain] == ("reproduced", first["id"]), "a verdict stays until there is a newer one"
    assert waiting[f"{plain}:threads=1"] == (None, second["id"])
    assert waiting["cuda"] == ("cannot_show", second["id"])
    assert (
        web.finish(second["id"], outcome=Outcome.COMPLETED, observation=FINE)["verdict"] == "not_reproduced"
    )
    assert cells()[plain] == ("not_reproduced", second["id"])
    assert cells()[f"{plain}:threads=1"] == ("not_reproduced", second["id"])
    assert web.client.get(f"/api/v1/reports/{new_id()}/matrix").status_code == 404


def test_the_resolvers_words_stay_here(web: Web) -> None:
    secret = "https://index.operator.example/simple"
    failed = {"name": "torch-2.13-cpu+einops", "state": "failed", "detail": f"ERROR: nothing at {secret}"}
    with web.stage.session() as session:
        row = session.get_one(NodeRow, "n")
        session.execute(
            update(NodeRow).values(hello={**row.hello, "toolchains": [*row.hello["toolchains"], failed]})
        )
    for path in ("/api/v1/nodes", "/api/v1/toolchains", "/nodes"):
        answer = web.client.get(path)
        assert "torch-2.13-cpu+einops" in answer.text
        assert secret not in answer.text


def test_where_a_toolchain_lies_stays_here(web: Web) -> None:
    secret = "/home/operator/toolchains/torch/bin/python"
    with web.stage.session() as session:
        row = session.get_one(NodeRow, "n")
        hello = {
            **row.hello,
            "toolchains": [{**chain, "python": secret} for chain in row.hello["toolchains"]],
        }
        session.execute(update(NodeRow).values(hello=hello))
    run = web.post()
    report = run["report"]["id"]
    rest = (
        "nodes",
        "toolchains",
        "presets",
        f"runs/{run['id']}",
        f"reports/{report}",
        f"reports/{report}/matrix",
    )
    for path in [
        *(f"/api/v1/{name}" for name in rest),
        "/nodes",
        f"/runs/{run['id']}",
        f"/reports/{report}",
        "/metrics",
    ]:
        answer = web.client.get(path)
        assert answer.status_code == 200
        assert "operator" not in answer.text, path
    [node] = web.client.get("/api/v1/nodes").json()["items"]
    assert (node["name"], node["state"], node["toolchains"][0]["name"]) == ("n", "ready", "torch-2.13-cpu")
    assert "python" not in node["toolchains"][0]
    [chain] = web.client.get("/api/v1/toolchains").json()["items"]
    assert (chain["name"], chain["nodes"], "python" in chain["facts"]) == ("torch-2.13-cpu", ["n"], False)


def test_the_presets(web: Web) -> None:
    found = web.client.get("/api/v1/presets").json()["items"]
    assert [item["name"] for item in found] == [
        "quick",
        "device",
        "version",
        "cpu-isa",
        "determinism",
        "explain",
        "full",
    ]
    assert [item["exclude"] for item in found][-1] == ["cpu:tf32=*", "cuda:cpu-isa=*"]
    assert all(item["summary"] for item in found)
