"""Changes over REST: each with its evidence, filtered, page by page."""

from __future__ import annotations

import pytest
from api.web_client import Web
from numpy_versions import finish, say_hello, send

from app.runs.lookup.changes import newest_toolchains

BROKEN = {"1.26.4": True, "2.0.0": False, "2.1.0": True}


@pytest.fixture
def report_id(web: Web) -> str:
    say_hello(web.stage, *BROKEN)
    made = send(web.stage, *BROKEN)
    finish(web.stage, BROKEN)
    return made


def test_a_change_names_its_evidence(web: Web, report_id: str) -> None:
    whole = web.client.get("/api/v1/changes").json()
    assert whole["next"] is None
    newest, older = whole["items"]
    assert (newest["kind"], newest["axis"], newest["older"], newest["newer"]) == (
        "regressed",
        "numpy",
        "2.0.0",
        "2.1.0",
    )
    assert (older["kind"], older["before"], older["after"]) == ("fixed", "reproduced", "not_reproduced")
    run = web.client.get(f"/api/v1/runs/{newest['run']}").json()
    verdicts = {job["id"]: job["verdict"] for job in run["jobs"]}
    assert (verdicts[newest["before_job"]], verdicts[newest["job"]]) == ("not_reproduced", "reproduced")
    assert (newest["report"], newest["differs"], newest["missing"]) == (report_id, [], "")


def newest_of(web: Web) -> tuple[tuple[str, ...], tuple[str, ...]]:
    with web.stage.session() as session:
        newest = newest_toolchains(session)
        return newest.tried, newest.untried


def test_filters_and_pages(web: Web, report_id: str) -> None:
    def asked(**query: object) -> list[str]:
        answer = web.client.get("/api/v1/changes", params=query)
        assert answer.status_code == 200, answer.text
        return [item["kind"] for item in answer.json()["items"]]

    assert asked(kind=["fixed"]) == ["fixed"]
    assert asked(kind=["fixed", "regressed"]) == ["regressed", "fixed"]
    assert asked(toolchain="newest") == ["regressed"]
    # The node of this web has a torch, which none of these reports is about.
    assert newest_of(web) == (("numpy-2.1.0",), ("torch-2.13-cpu",))
    assert asked(toolchain="numpy-2.0.0") == ["fixed"]
    assert asked(toolchain="numpy") == []
    assert asked(report=report_id) == ["regressed", "fixed"]
    assert asked(report="0" * 26) == []
    assert asked(since="2020-01-01T00:00:00+01:00") == ["regressed", "fixed"]
    assert asked(since="2999-01-01") == []
    first = web.client.get("/api/v1/changes", params={"limit": 1}).json()
    second = web.client.get("/api/v1/changes", params={"limit": 1, "cursor": first["next"]}).json()
    assert [first["items"][0]["kind"], second["items"][0]["kind"], second["next"]] == [
        "regressed",
        "fixed",
        None,
    ]


@pytest.mark.parametrize(
    ("query", "code"),
    [
        ({"since": "last week"}, "bad_since"),
        ({"cursor": "x"}, "bad_cursor"),
        ({"report": "x"}, "bad_id"),
        ({"kind": "broken"}, None),
        ({"limit": 0}, None),
    ],
)
def test_what_makes_no_sense_is_a_problem(web: Web, query: dict[str, object], code: str | None) -> None:
    answer = web.client.get("/api/v1/changes", params=query)
    assert answer.status_code == 422
    assert answer.headers["content-type"] == "application/problem+json"
    assert code is None or answer.json()["code"] == code
    assert web.client.get("/api/v1/changes", params={"toolchain": "a\x00b"}).json() == {
        "items": [],
        "next": None,
    }
