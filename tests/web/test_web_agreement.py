"""The front page, `/changes` and the groups say of each report of the history what its own page says."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from html_page import Page
from running_web import Web, web_of
from stage import Stage

from app.judging.report.attention import Attention
from app.judging.report.triage import TriageGroup
from app.runs.exchange.replay import replay
from app.serve.demo import HISTORY

LOGDET = "torch.logdet"
NOT_BROKEN = ("no defect", "The script's own", "Announced:", "it no longer happens")


@pytest.fixture(scope="module")
def history(stage_of_module: Stage) -> Iterator[Web]:
    with stage_of_module.session() as session:
        replay(session, HISTORY)
    with web_of(stage_of_module, demo=True) as web:
        yield web


def card_of(web: Web, report: str) -> tuple[str, str]:
    """The word line of a report's card, and its sentence `Whose`; `Known` where the newest run knows none."""
    page = Page(web.client.get(f"/reports/{report}").text)
    answer = json.loads(web.client.get(f"/api/v1/reports/{report}").text)["answer"]
    known = answer["known"]
    whose = known["whose"] if answer["owner"] == "nobody" and known else answer["whose"]
    words = " ".join(page.text.split())
    assert whose in words, (report, whose)
    return " ".join(page.one("p", **{"class": "word"}).text.split()), whose


def ids_in(source: str) -> set[str]:
    links = (link.attributes["href"] for link in Page(source).all("a"))
    return {one.removeprefix("/reports/") for one in links if one.startswith("/reports/")}


def test_lists_and_pages_agree_on_every_report(history: Web) -> None:
    get = history.client.get
    groups = {group: ids_in(get(f"/attention/{group}").text) for group in Attention}
    assert len(groups[Attention.STILL_BROKEN]) > 8
    for report in groups[Attention.STILL_BROKEN]:
        word, whose = card_of(history, report)
        assert "Still happens" in word, report
        assert not any(each in whose for each in NOT_BROKEN), (report, whose)
    for report in groups[Attention.NEEDS_HUMAN]:
        word, whose = card_of(history, report)
        assert "Still happens" not in word, report
        assert not whose.startswith(("A defect", "Open")), (report, whose)
    assert len(groups[Attention.EXPLAINED]) > 8
    for report in groups[Attention.EXPLAINED]:
        word, whose = card_of(history, report)
        assert "Explained" in word, report
        assert any(each in whose for each in NOT_BROKEN), (report, whose)
    changes = get("/api/v1/changes?kind=regressed&limit=100").json()["items"]
    assert {change["group"] for change in changes} >= {TriageGroup.UNEXPLAINED, TriageGroup.ANNOUNCED}
    for change in changes:
        _, whose = card_of(history, change["report"])
        said = change["group"], whose.startswith("Announced"), whose.startswith(("Open", "A defect"))
        assert said in {
            (TriageGroup.UNEXPLAINED, False, True),
            (TriageGroup.ANNOUNCED, True, False),
            (TriageGroup.SETTLED, False, False),
        }, (change["report"], said, whose)


def test_the_card_keeps_the_known_answer_beside_a_newest_run_that_saw_something_else(history: Web) -> None:
    every = history.client.get(f"/api/v1/reports?q={LOGDET}").json()["items"]
    [report] = [one for one in every if one["latest"]["verdict"] == "different"]
    assert report["attention"] == Attention.NEEDS_HUMAN
    answer = history.client.get(f"/api/v1/reports/{report['id']}").json()["answer"]
    assert answer["what"] == "Something else happens than what is reported."
    assert answer["known"]["what"] == "It happens, as reported."
    assert "cpu-isa=compatible" in answer["known"]["where"]
    assert "torch 2.11.0" in answer["known"]["where"]
    text = history.client.get(f"/reports/{report['id']}.md").text
    line = next(line for line in text.splitlines() if line.startswith("- **Known:** "))
    assert "measured: It happens, as reported. Seen on NVIDIA H200 with torch 2.11.0" in line
    page = Page(history.client.get(f"/reports/{report['id']}").text)
    assert "That run" in [one.text for one in page.all("a", href=f"/runs/{answer['known']['run']}")]
    assert "measured: It happens, as reported. Seen on NVIDIA H200" in " ".join(page.text.split())


def test_a_new_warning_of_the_newer_version_is_said_at_the_top(history: Web) -> None:
    """On the front page, in the card, in Markdown and in JSON."""
    text = "Invalid non-array indices for iterator objects are deprecated"
    home = " ".join(Page(history.client.get("/").text).text.split())
    assert f"2.4.0 warns DeprecationWarning: {text}" in home
    [report] = [
        one
        for one in history.client.get("/api/v1/reports?q=flat").json()["items"]
        if "a.flat[1.0]" in one["title"]
    ]
    details = history.client.get(f"/api/v1/reports/{report['id']}").json()
    assert details["answer"]["whose"] == (
        "Open: it is not decided whether this is a bug. With numpy 2.4.0 the script gets a new"
        " DeprecationWarning; 2.3.5 gives none."
    )
    [warning] = details["new_warnings"]
    assert (warning["package"], warning["older"], warning["newer"]) == ("numpy", "2.3.5", "2.4.0")
    assert (warning["category"], warning["line"]) == ("DeprecationWarning", 5)
    assert warning["text"].startswith(text)
    # The answer itself has no text of a script.
    assert text not in json.dumps(details["answer"])
    page = Page(history.client.get(f"/reports/{report['id']}").text)
    card = page.one("section", id="verdict")
    assert f"Warningnumpy 2.4.0, line 5 DeprecationWarning: {text}" in " ".join(card.text.split())
    markdown = history.client.get(f"/reports/{report['id']}.md").text
    assert f"numpy 2.4.0 warns, and 2.3.5 does not:\n\n```\nDeprecationWarning: {text}" in markdown
    assert markdown.index(text) < markdown.index("Environment:")
