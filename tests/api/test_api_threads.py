"""Threads over REST and the pages, and the same report again."""

from __future__ import annotations

import json
from typing import Any

import pytest
from api.web_client import Web

from app.runs.rows import similar_reports
from app.storage.models import ReportRow, ScriptRow

CODE = "import math\nvalues = [1.0, 2.0, 4.0]\nfor value in values:\n    print(math.log(value), round(value, 3))\nprint(math.fsum(values))\n"  # noqa: E501
RENAMED = CODE.replace("value", "number").replace("import math\n", "import math  # why not\n\n")
OTHER_NUMBERS = CODE.replace("4.0", "8.0")
SOMETHING_ELSE = "import os\nassert os.sep == '/', os.getcwd()\n"


def thread(**more: Any) -> dict[str, Any]:
    comments = [
        {"author": "bob", "body": "I get\n```\n9.0\n```\n"},
        {"author": "ann", "body": f"The script:\n```python\n{CODE}```\n"},
    ]
    body = "It prints:\n```\n8.0\n```\n"
    return {
        "title": "fsum",
        "author": "ann",
        "body": body,
        "comments": comments,
        "url": "https://example.org/issues/5",
        **more,
    }


def submitted(web: Web, report: Any, **more: Any) -> dict[str, Any]:
    answer = web.client.post("/api/v1/runs", json={"report": report, **more})
    assert answer.status_code == 202, answer.text
    return dict(answer.json())


def details(web: Web, run: dict[str, Any]) -> dict[str, Any]:
    return dict(web.client.get(f"/api/v1/reports/{run['report']['id']}").json())


@pytest.mark.parametrize("as_text", [True, False])
def test_a_thread_as_an_object_or_as_its_json(web: Web, as_text: bool) -> None:  # noqa: FBT001
    sent = json.dumps(thread()) if as_text else thread()
    read = web.client.post("/api/v1/reports:read", json={"report": sent}).json()
    run = submitted(web, sent)
    for report in (read["report"], run["report"]):
        assert (report["title"], report["source_url"]) == ("fsum", "https://example.org/issues/5")
        assert report["scripts"][0]["script"] == CODE
        assert [check["text"] for check in report["claim"]["checks"]] == ["8.0"]
    kept = details(web, run)
    assert kept["form"] == "report"
    assert json.loads(kept["text"]) == thread()
    assert [
        item["title"]
        for item in web.client.get("/api/v1/reports?source_url=https://example.org/issues/5").json()["items"]
    ] == ["fsum"]


def test_what_is_said_with_a_thread_comes_first(web: Web) -> None:
    run = submitted(web, thread(), title="mine", source_url="https://example.org/6")
    assert (run["report"]["title"], run["report"]["source_url"]) == ("mine", "https://example.org/6")


def test_fields_of_github_are_kept_and_not_read(web: Web) -> None:
    sent = thread(author={"login": "ann", "id": "x"}, number=5, labels=[{"name": "bug"}])
    run = submitted(web, sent)
    assert [check["text"] for check in run["report"]["claim"]["checks"]] == ["8.0"]
    assert json.loads(details(web, run)["text"]) == sent


@pytest.mark.parametrize(
    ("report", "code", "field"),
    [
        ({"title": "x"}, "bad_request_form", "report"),
        (5, "bad_request_form", "report"),
        ([{"body": "x"}], "bad_request_form", "report"),
        ({"body": "\ud800"}, "bad_request_form", "report"),
        ({"body": 5}, "bad_thread", "body"),
        ({"body": "x", "comments": 5}, "bad_thread", "comments"),
        (json.dumps({"body": "x", "comments": 5}), "bad_thread", "comments"),
        (json.dumps([{"body": "x"}, {"body": "y"}]), "bad_thread", "report"),
    ],
)
@pytest.mark.parametrize("path", ["runs", "reports:read"])
def test_what_is_no_thread(web: Web, path: str, report: Any, code: str, field: str) -> None:
    content = json.dumps({"report": report}).encode()
    answer = web.client.post(f"/api/v1/{path}", content=content, headers={"Content-Type": "application/json"})
    assert (answer.status_code, answer.json()["code"], answer.json()["field"]) == (422, code, field)
    assert web.client.get("/api/v1/reports").json()["items"] == []


def test_a_thread_over_the_limit(web: Web) -> None:
    answer = web.client.post("/api/v1/runs", json={"report": thread(comments=[{"body": "x" * 1024 * 1024}])})
    assert (answer.status_code, answer.json()["code"]) == (413, "too_large")


def test_the_form_takes_the_json_of_a_thread(web: Web) -> None:
    answer = web.client.post("/", data={"text": json.dumps(thread())}, follow_redirects=False)
    assert answer.status_code == 303
    [listed] = web.client.get("/api/v1/reports").json()["items"]
    assert (listed["title"], listed["source_url"]) == ("fsum", "https://example.org/issues/5")


def test_the_same_report_again_is_named_and_not_merged(web: Web) -> None:
    first = web.post(script=CODE, title="first")["report"]["id"]
    other = web.post(script=SOMETHING_ELSE, title="other")["report"]["id"]
    renamed = submitted(web, f"# renamed\n\n```python\n{RENAMED}```\n")["report"]["id"]
    near = web.post(script=OTHER_NUMBERS, title="near")["report"]["id"]
    again = web.post(script=CODE, title="again")["report"]["id"]

    def same(report: str) -> list[tuple[str, str, str]]:
        return [
            (item["id"], item["title"], item["how"])
            for item in web.client.get(f"/api/v1/reports/{report}").json()["same_as"]
        ]

    assert same(first) == [
        (again, "again", "equal"),
        (near, "near", "nearly_equal"),
        (renamed, "renamed", "equal"),
    ]
    assert same(near) == [
        (again, "again", "nearly_equal"),
        (renamed, "renamed", "nearly_equal"),
        (first, "first", "nearly_equal"),
    ]
    assert same(other) == []
    assert len(web.client.get("/api/v1/reports").json()["items"]) == 5
    page = web.client.get(f"/reports/{first}").text
    assert f'<a href="/reports/{renamed}">renamed</a>' in page
    assert "nearly equal" in page
    assert "same script" not in web.client.get(f"/reports/{other}").text


def test_a_report_without_a_script_is_like_no_other(web: Web) -> None:
    runs = [submitted(web, "No code here.") for _ in range(2)]
    assert [details(web, run)["same_as"] for run in runs] == [[], []]


def test_reports_from_before_are_left_alone(web: Web) -> None:
    old = web.post(script=CODE)["report"]["id"]
    with web.stage.session() as session:
        session.get_one(ReportRow, old).main_script = None
        for script in session.query(ScriptRow):
            script.shape_digest = script.sketch = None
    new = web.post(script=CODE)["report"]["id"]
    last = web.post(script=RENAMED)["report"]["id"]
    assert web.client.get(f"/api/v1/reports/{old}").json()["same_as"] == []
    assert [item["id"] for item in web.client.get(f"/api/v1/reports/{new}").json()["same_as"]] == [last]


def test_the_search_is_bounded(web: Web, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(similar_reports, "MOST_SHOWN", 2)
    monkeypatch.setattr(similar_reports, "MOST_ALIKE", 3)
    near = web.post(script=OTHER_NUMBERS)["report"]["id"]
    equal = [web.post(script=CODE)["report"]["id"] for _ in range(4)]
    shown = [item["id"] for item in web.client.get(f"/api/v1/reports/{equal[0]}").json()["same_as"]]
    assert shown == [equal[3], equal[2]]
    assert len(web.client.get(f"/api/v1/reports/{near}").json()["same_as"]) == 2


def test_the_description_says_what_a_report_may_be(web: Web) -> None:
    document = web.client.get("/api/v1/openapi.json").json()
    for name in ("RunBody", "ReadBody"):
        text = json.dumps(document["components"]["schemas"][name]["properties"]["report"])
        assert '"comments"' in text
        assert "thread" in text
    assert "same_as" in document["components"]["schemas"]["ReportDetails"]["properties"]
