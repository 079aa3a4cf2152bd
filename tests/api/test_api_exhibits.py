"""Exhibits over REST and on the page, and the correction of one by its stance."""

from __future__ import annotations

from typing import Any

import pytest
from api.web_client import Web

from app.runs.maintenance.tokens import Scope
from worker.contract import Observation, Outcome

TEXT = """```python
print("total", 5)
print("total", 7)
```

On my machine I get

```
total 6
```

Expected:

```
total 5
```

<script>alert(1)</script> \u202eabc
"""


@pytest.fixture
def run(web: Web) -> dict[str, Any]:
    """A finished run of a report whose two outputs were taken for each other. A token submitted it."""
    answer = web.client.post("/api/v1/runs", json={"report": TEXT}, headers=web.token(Scope.SUBMIT))
    observation = Observation(exit_status=0, stdout="total 5\ntotal 7\n")
    done = web.finish(answer.json()["id"], outcome=Outcome.COMPLETED, observation=observation)
    return {**done, "withdraw_url": answer.json()["withdraw_url"]}


def secret_of(run: dict[str, Any]) -> str:
    return str(run["withdraw_url"].rsplit("/", 1)[-1])


def correct(web: Web, run: dict[str, Any], body: dict[str, Any]) -> Any:
    headers = {"Withdraw-Secret": secret_of(run)}
    return web.client.put(f"/api/v1/reports/{run['report']['id']}/claim", json=body, headers=headers)


def test_reading_and_the_report_have_the_same_exhibits(web: Web, run: dict[str, Any]) -> None:
    read = web.client.post("/api/v1/reports:read", json={"report": TEXT}).json()["report"]
    report = web.client.get(f"/api/v1/reports/{run['report']['id']}").json()
    assert report["report"]["exhibits"] == read["exhibits"]
    assert (read["claim_source"], report["report"]["claim_source"]) == ("rules", "rules")
    assert [(each["id"], each["stance"], each["because"]) for each in read["exhibits"]] == [
        ("e1", "actual", "On my machine I get"),
        ("e2", "expected", "Expected:"),
    ]
    for each in report["report"]["exhibits"]:
        span = each["span"]
        assert report["text"][span["start"] : span["end"]] == each["text"]
        assert set(each) == {
            *("id", "kind", "span", "author", "text", "stance", "because", "condition", "anchor"),
        }
    assert "exhibits" not in web.client.get(f"/api/v1/runs/{run['id']}").json()["report"]


def test_a_stance_gives_another_claim_and_stored_attempts_are_judged_again(
    web: Web, run: dict[str, Any]
) -> None:
    assert run["verdict"] == "different"
    answer = correct(web, run, {"stances": {"e1": "elsewhere", "e2": "actual"}})
    assert answer.status_code == 200, answer.text
    report = answer.json()
    assert report["standing"]["verdict"] == "reproduced"
    assert [(each["role"], each["text"]) for each in report["report"]["claim"]["checks"]] == [
        ("bug", "total 5")
    ]
    assert report["report"]["claim_source"] == "corrected"
    assert [(each["stance"], each["corrected_by"]) for each in report["report"]["exhibits"]] == [
        ("elsewhere", "submitter"),
        ("actual", "submitter"),
    ]
    (earlier,) = report["earlier_claims"]
    assert earlier["reason"] == "Exhibit e1 is about another place, e2 is what happens."
    assert earlier["corrected_by"] == "submitter"
    assert [each["text"] for each in earlier["claim"]["checks"]] == ["total 6", "total 5"]


def test_a_claim_as_data_gives_the_exhibits_its_stances(web: Web, run: dict[str, Any]) -> None:
    claim = {"checks": [{"kind": "output", "lines": ["total 5"]}]}
    report = correct(web, run, {"claim": claim, "reason": "It is the bug."}).json()["report"]
    assert [each["stance"] for each in report["exhibits"]] == ["actual", "actual"]


@pytest.mark.parametrize(
    ("body", "code", "field"),
    [
        ({"stances": {"e9": "actual"}}, "bad_stance", "stances.e9"),
        ({"stances": {"e1": "wrong"}}, "bad_stance", "stances.e1"),
        ({"stances": {"e1": "actual"}}, "same_claim", None),
        ({"stances": {"e1": "expected"}, "claim": "prints 3", "reason": "x"}, "claim_or_stances", "claim"),
        ({"reason": "x"}, "claim_or_stances", "claim"),
        ({"claim": "prints 3"}, "no_reason", "reason"),
        ({"stances": {}}, None, "stances"),
        ({"stances": "e1"}, None, "stances"),
    ],
)
def test_a_wrong_correction_says_where(
    web: Web, run: dict[str, Any], body: dict[str, Any], code: str | None, field: str | None
) -> None:
    answer = correct(web, run, body)
    assert answer.status_code in {409, 422}
    problem = answer.json()
    assert code is None or problem["code"] == code
    assert problem.get("field") == field
    report = web.client.get(f"/api/v1/reports/{run['report']['id']}").json()
    assert report["earlier_claims"] == []


def test_a_withdrawn_report_has_no_exhibits(web: Web, run: dict[str, Any]) -> None:
    web.client.post("/api/v1/withdrawals", json={"secret": secret_of(run)})
    report = web.client.get(f"/api/v1/reports/{run['report']['id']}").json()
    assert report["report"]["exhibits"] == []
    assert correct(web, run, {"stances": {"e1": "expected"}}).json()["code"] == "withdrawn"


def test_the_page_marks_them_and_a_click_corrects_one(web: Web, run: dict[str, Any]) -> None:
    path = f"/reports/{run['report']['id']}"
    page = web.client.get(path).text
    assert '<mark class="seen" id="e1" dir="auto">total 6</mark>' in page
    assert '<mark class="gone" id="e2" dir="auto">total 5</mark>' in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt; ⟨U+202E⟩abc" in page
    assert 'value="e2 actual"' in page
    assert 'value="e1 actual"' not in page
    form = {"stance": "e2 actual", "secret": "guess"}
    assert web.client.post(f"{path}/stances", data=form).status_code in {401, 403}
    form["secret"] = secret_of(run)
    answer = web.client.post(f"{path}/stances", data=form, follow_redirects=False)
    assert (answer.status_code, answer.headers["location"]) == (303, f"{path}#read-e2")
    page = web.client.get(path).text
    assert '<mark class="seen" id="e2" dir="auto">total 5</mark>' in page
    assert "corrected by submitter" in page
    assert "Exhibit e2 is what happens." in page
    bad = web.client.post(f"{path}/stances", data={**form, "stance": "e9 actual"})
    assert (bad.status_code, "There is no such exhibit" in bad.text) == (422, True)


def test_the_page_of_a_thread_shows_the_comment_that_has_them(web: Web) -> None:
    thread = {
        "title": "A sum",
        "author": "ada",
        "body": "It is <i>wrong</i>.",
        "comments": [
            {"author": "bob", "body": "Can you show it?"},
            {"author": "ada", "body": "```python\nprint(5)\n```\nIt prints\n```\ntotal 6\n```"},
        ],
    }
    run = web.client.post("/api/v1/runs", json={"report": thread}).json()
    report = web.client.get(f"/api/v1/reports/{run['report']['id']}").json()["report"]
    (exhibit,) = report["exhibits"]
    assert (exhibit["span"]["post"], exhibit["author"], exhibit["text"]) == (2, "ada", "total 6")
    page = web.client.get(f"/reports/{run['report']['id']}").text
    assert "comment 2 by ada" in page
    assert '<mark class="seen" id="e1" dir="auto">total 6</mark>' in page
    assert "It is &lt;i&gt;wrong&lt;/i&gt;." in page
    assert "Can you show it?" not in page
