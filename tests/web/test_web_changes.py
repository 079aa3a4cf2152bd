"""The page of changes: at first what regressed with the newest toolchain; and the same as a feed."""

from __future__ import annotations

import re
from xml.etree import ElementTree as ET

from html_page import Page, faults
from numpy_versions import SCRIPT, again, changes, finish, say_hello, send
from running_web import Web
from sqlalchemy import insert, select, update

from app.ids import new_id
from app.storage.models import ChangeRow, ReportRow

ATOM = "{http://www.w3.org/2005/Atom}"
BROKEN = {"1.26.4": True, "2.0.0": False, "2.1.0": True}


def some_history(web: Web) -> str:
    """A report that was fixed once and regressed with the newest version; its id."""
    say_hello(web.stage, *BROKEN)
    report_id = send(web.stage, *BROKEN)
    finish(web.stage, BROKEN)
    return report_id


def rows(page: Page) -> list[str]:
    return [element.attributes["href"] for element in page.all("a") if element.inside[-2:] == ["tr", "th"]]


def words(source: str) -> str:
    return " ".join(Page(source).text.split())


def test_before_anything_happened_it_says_so(web: Web) -> None:
    source = web.client.get("/changes").text
    assert list(faults(source)) == []
    assert "No node has offered a toolchain yet." in Page(source).text
    say_hello(web.stage, "2.0.0")
    page = words(web.client.get("/changes").text)
    assert re.search(r"Nothing was tried with [^.]*numpy-2\.0\.0 yet\.", page)
    assert "0 reports regressed" not in page
    assert "Nothing was tried yet" in words(web.client.get("/").text)


def test_at_first_it_answers_what_regressed_with_the_newest_toolchain(web: Web) -> None:
    report_id = some_history(web)
    other = send(web.stage, "2.0.0", script=f"{SCRIPT}# other\n")
    finish(web.stage, BROKEN)
    again(web.stage, other, "1.26.4")
    finish(web.stage, BROKEN)
    source = web.client.get("/changes").text
    assert list(faults(source)) == []
    page = Page(source)
    assert rows(page) == [f"/reports/{report_id}"]
    # A kind of change that no report has is not named.
    assert "numpy-2.1.0: 1 report regressed (1 unexplained, 0 announced, 0 settled)." in words(source)
    assert "It happens with numpy 2.1.0, and did not with 2.0.0." in page.text
    for value in ("regressed", "unexplained", "newest"):
        assert [each.attributes.get("selected") for each in page.all("option", value=value)] == [""], value
    home = Page(web.client.get("/").text)
    assert "nav" in [link.inside[-1] for link in home.all("a", href="/changes")]


def test_a_newest_toolchain_without_results_hides_no_regression(web: Web) -> None:
    some_history(web)
    say_hello(web.stage, *BROKEN, "2.1.3")
    sentence = "Nothing was tried with numpy-2.1.3 yet."
    assert "1 unexplained regression with numpy-2.1.0" in words(web.client.get("/").text)
    assert sentence in words(web.client.get("/").text)
    first = words(web.client.get("/changes").text)
    assert "With the newest versions that each report was tried with, up to numpy-2.1.0: 1 report" in first
    assert sentence in first
    # A result of another report there changes nothing for this one.
    broken = {**BROKEN, "2.1.3": False}
    send(web.stage, "2.1.3", script=f"{SCRIPT}# other\n")
    finish(web.stage, broken)
    home = words(web.client.get("/").text)
    assert "1 unexplained regression with numpy-2.1.0" in home
    assert sentence not in home


def test_a_newer_patch_that_still_shows_it_hides_no_regression(web: Web) -> None:
    report_id = some_history(web)
    versions = (*BROKEN, "2.1.3", "2.2.0")
    say_hello(web.stage, *versions)
    again(web.stage, report_id, "2.1.3")
    finish(web.stage, {**BROKEN, "2.1.3": True})
    assert "1 unexplained regression with numpy-2.1.0" in words(web.client.get("/").text)
    # With the next minor release it is no news any more.
    again(web.stage, report_id, "2.2.0")
    finish(web.stage, {**BROKEN, "2.1.3": True, "2.2.0": True})
    home = words(web.client.get("/").text)
    assert "Nothing regressed with the newest toolchain that was tried, numpy-2.2.0" in home
    assert "● Still happens 1" in home


def test_a_bisection_that_finds_a_regression_shows_it(web: Web) -> None:
    say_hello(web.stage, "2.0.0", "2.1.0")
    report_id = send(web.stage, "2.1.0")
    finish(web.stage, BROKEN)
    assert changes(web.stage) == []
    body = {"over": "numpy", "target": {"device": "cpu"}}
    asked = web.client.post(f"/api/v1/reports/{report_id}/bisections", json=body)
    assert asked.status_code == 202, asked.text
    finish(web.stage, BROKEN)
    (change,) = changes(web.stage)
    assert (change.kind, change.axis, change.older, change.newer) == ("regressed", "numpy", "2.0.0", "2.1.0")
    home = words(web.client.get("/").text)
    assert "1 unexplained regression with numpy-2.1.0" in home
    assert "2.0.0 (0 of 2)" in home
    # Its own words stay: so few attempts alone would be no proof.
    page = words(web.client.get(f"/reports/{report_id}").text)
    assert "may be chance" not in page.lower()


def test_what_a_maintainer_settles_leaves_the_first_group_at_once(web: Web) -> None:
    report_id = some_history(web)
    unexplained = "1 unexplained regression with numpy-2.1.0"
    assert unexplained in words(web.client.get("/").text)
    reason = {"reason": "It is meant so."}
    body = {"verdict": "not_reproduced", **reason}
    assert web.client.post(f"/api/v1/reports/{report_id}/overrule", json=body).status_code == 200
    home, first = web.client.get("/").text, web.client.get("/changes").text
    assert [list(faults(source)) for source in (home, first)] == [[], []]
    assert "Nothing unexplained with numpy-2.1.0" in words(home)
    assert "a maintainer says ○ not reproduced" in words(home)
    assert rows(Page(first)) == []
    assert "Nothing unexplained: every regression with the newest toolchain" in Page(first).text
    settled = Page(web.client.get("/changes?kind=regressed&group=settled&toolchain=newest").text)
    assert rows(settled) == [f"/reports/{report_id}"]
    assert web.client.post(f"/api/v1/reports/{report_id}/take-back", json=reason).status_code == 200
    assert unexplained in words(web.client.get("/").text)
    assert web.client.post(f"/api/v1/reports/{report_id}/confirm", json=reason).status_code == 200
    home = words(web.client.get("/").text)
    assert "Nothing unexplained with numpy-2.1.0" in home
    assert "a bug, as a maintainer confirmed" in home
    assert "● Still happens 1" in home
    assert web.client.post(f"/api/v1/reports/{report_id}/unconfirm", json=reason).status_code == 200
    assert unexplained in words(web.client.get("/").text)
    assert web.client.post(f"/api/v1/reports/{report_id}/close", json=reason).status_code == 200
    assert "closed by a maintainer" in words(web.client.get("/").text)
    listed = web.client.get("/api/v1/changes?group=settled").json()["items"]
    assert [(each["report"], each["kind"], each["group"]) for each in listed] == [
        (report_id, "regressed", "settled")
    ]
    assert web.client.get("/api/v1/changes?group=unexplained").json()["items"] == []


def test_the_same_is_there_as_json_and_as_markdown_and_plain_words_find_it(web: Web) -> None:
    report_id = some_history(web)
    data = web.client.get("/changes.json?kind=").json()
    assert ([one["kind"] for one in data["items"]], data["next"]) == (["regressed", "fixed"], None)
    assert web.client.get("/changes", headers={"Accept": "application/json"}).json()["items"] == [
        data["items"][0]
    ]
    text = web.client.get("/changes.md?kind=").text
    lines = text.splitlines()
    assert lines[0].startswith("- **regressed**, [")
    assert (
        f"({web.url}/reports/{report_id}): It happens with numpy 2.1.0, and did not with 2.0.0." in lines[0]
    )
    assert text.endswith(f"The evidence: {web.url}/changes?kind=\n")
    for word in ("regressed", "regression"):
        listed = web.client.get("/api/v1/reports", params={"q": word}).json()["items"]
        assert [one["id"] for one in listed] == [report_id], word
    page = Page(web.client.get(f"/reports/{report_id}").text)
    timeline = page.one("section", id="timeline").text
    assert "It happens with numpy 2.1.0, and did not with 2.0.0." in timeline
    assert timeline.index("regressed") < timeline.rindex("Run") < timeline.index("Submitted")


def test_it_is_filtered_by_kind_toolchain_and_day(web: Web) -> None:
    report_id = some_history(web)
    every = Page(web.client.get("/changes?kind=").text)
    assert rows(every) == [f"/reports/{report_id}"] * 2
    fixed = Page(web.client.get("/changes?kind=fixed&toolchain=numpy-2.0.0&since=2020-01-01").text)
    assert rows(fixed) == [f"/reports/{report_id}"]
    assert fixed.one("input", name="since").attributes["value"] == "2020-01-01"
    assert rows(Page(web.client.get("/changes?kind=fixed&toolchain=numpy-2.1.0").text)) == []
    assert rows(Page(web.client.get("/changes?since=2999-01-01").text)) == []
    for wrong in ("kind=broken", "group=broken", "since=yesterday", "cursor=x"):
        refused = web.client.get(f"/changes?{wrong}")
        assert refused.status_code == 422
        assert list(faults(refused.text)) == []


def test_older_ones_are_on_further_pages_with_the_same_filter(web: Web) -> None:
    say_hello(web.stage, "2.0.0", "2.1.0")
    send(web.stage, "2.0.0", "2.1.0")
    finish(web.stage, BROKEN)
    # Forty more like it: to run forty reports takes a hundred times as long.
    with web.stage.session() as session:
        columns = ChangeRow.__table__.columns
        (row,) = session.execute(select(*columns)).mappings()
        session.execute(insert(ChangeRow), [{**row, "id": new_id()} for _ in range(40)])
    assert len(changes(web.stage)) == 41
    page = Page(web.client.get("/changes?toolchain=numpy-2.1.0").text)
    assert len(rows(page)) == 40
    older = page.one("a", rel="next").attributes["href"]
    assert older.startswith("/changes?toolchain=numpy-2.1.0&cursor=")
    assert len(rows(Page(web.client.get(older).text))) == 1


def test_the_feed_is_whole_whatever_a_title_holds(web: Web) -> None:
    report_id = some_history(web)
    with web.stage.session() as session:
        session.execute(
            update(ReportRow).values(title="<script>\x1b]evil & \ud7ff", source_url="https://example.org/1")
        )
    answer = web.client.get("/changes.atom")
    assert answer.headers["content-type"].startswith("application/atom+xml")
    feed = ET.fromstring(answer.content)  # noqa: S314  # our own
    entries = feed.findall(f"{ATOM}entry")
    assert [entry.findtext(f"{ATOM}title") for entry in entries] == [
        "regressed: <script>evil & ⟨U+D7FF⟩",
        "fixed: <script>evil & ⟨U+D7FF⟩",
    ]
    link = entries[0].find(f"{ATOM}link")
    assert link is not None
    assert link.attrib["href"] == f"{web.url}/reports/{report_id}"
    assert len({entry.findtext(f"{ATOM}id") for entry in entries}) == 2
    only = ET.fromstring(web.client.get("/changes.atom?kind=fixed").content)  # noqa: S314  # our own
    assert len(only.findall(f"{ATOM}entry")) == 1
    source = web.client.get("/changes?kind=").text
    assert list(faults(source)) == []
    assert "<script>" not in source.replace("<script src", "")
    assert "\x1b" not in source
