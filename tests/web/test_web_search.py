"""The search of reports on its page: what was typed stays, what is wrong is said beside it, and what can be
asked is told.
"""

from __future__ import annotations

import pytest
from html_page import Page
from running_web import Web

from app.search.fields import FIELDS


@pytest.fixture
def filled(web: Web) -> Web:
    """Two reports."""
    for title in ("logdet is wrong", "svd is slow"):
        body = {"script": f"print('{title}')\n", "title": title, "targets": [{"device": "cuda"}]}
        web.client.post("/api/v1/runs", json=body).raise_for_status()
    return web


def test_words_and_fields_find_reports(filled: Web) -> None:
    both = filled.client.get("/reports", params={"q": "device:cuda verdict:cannot_show"})
    assert both.status_code == 200
    assert "logdet is wrong" in both.text
    assert "svd is slow" in both.text
    one = filled.client.get("/reports", params={"q": "device:cuda logd -svd"}).text
    assert "logdet is wrong" in one
    assert "svd is slow" not in one
    assert 'value="device:cuda logd -svd"' in one
    none = filled.client.get("/reports", params={"q": "device:cpu"})
    assert "No report matches." in none.text


def test_what_is_wrong_is_said_beside_the_field(filled: Web) -> None:
    typed = 'verdict:broken "><script>alert(1)</script>'
    answer = filled.client.get("/reports", params={"q": typed})
    assert answer.status_code == 422
    assert "At character 9: verdict: takes needs_info, reproduced" in answer.text
    assert 'aria-invalid="true"' in answer.text
    assert "<script>alert" not in answer.text
    problem = filled.client.get("/api/v1/reports", params={"q": "colour:red"})
    assert problem.status_code == 422
    assert problem.headers["content-type"] == "application/problem+json"
    told = problem.json()
    assert (told["code"], told["field"]) == ("bad_query", "q")
    assert told["detail"].startswith(
        "At character 1: there is no field colour. The fields are: verdict, device"
    )


def test_the_page_tells_what_can_be_asked(filled: Web) -> None:
    text = filled.client.get("/reports").text
    assert all(f"<code>{name}:</code>" in text for name in FIELDS)
    assert Page(text)
    described = filled.client.get("/api/v1/openapi.json").json()["paths"]["/api/v1/reports"]["get"][
        "parameters"
    ]
    [asked] = [one for one in described if one["name"] == "q"]
    assert all(f"`{name}:`" in str(asked) for name in FIELDS)


def test_older_pages_keep_the_search(filled: Web) -> None:
    for number in range(31):
        body = {"script": f"print({number})\n", "title": f"many {number}", "targets": [{"device": "cuda"}]}
        filled.client.post("/api/v1/runs", json=body).raise_for_status()
    first = filled.client.get("/reports", params={"q": "many device:cuda"}).text
    assert "&amp;q=many%20device%3Acuda" in first
