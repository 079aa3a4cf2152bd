"""The pictures where they stand: on the page of a report, and as a file for an issue."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Mapping

from html_page import Page, faults
from numpy_versions import SCRIPT, SEEN, UNSEEN, finish, say_hello, send
from running_web import Web
from stage import Stage, result

from app.runs.maintenance.withdraw import withdraw
from app.runs.submission.relaunch import relaunch
from app.runs.submission.submit import Submission, submit
from app.targets.planning.run_request import RunRequest
from app.targets.target import Target
from worker.contract import Outcome

BROKEN = {"1.26.4": False, "2.0.0": False, "2.1.0": True}
EVIL = "</svg><script>alert(1)</script>"
SVG = "{http://www.w3.org/2000/svg}"


def some_of(stage: Stage, shares: Mapping[str, int], *, repeats: int) -> str:
    """A report on these versions, in which so many of the attempts show the claim. Its id."""
    with stage.session() as session:
        targets = tuple(Target(toolchain=f"numpy-{version}") for version in shares)
        wish = Submission(
            script=SCRIPT,
            claim="RuntimeError: boom",
            targets=targets,
            repeats=repeats,
        )
        report_id = submit(session, wish, settings=stage.settings).document.report.id or ""
    left = dict(shares)
    while attempts := stage.dispatch():
        for attempt in attempts:
            version = attempt.toolchain.removeprefix("numpy-")
            left[version] -= 1
            seen, outcome = (SEEN, Outcome.RAISED) if left[version] >= 0 else (UNSEEN, Outcome.COMPLETED)
            said = result(attempt, node="n1", outcome=outcome, observation=seen)
            facts = {"cpu.model": "x", "python.version": "3.12.1", "package.numpy": version}
            stage.say(said.model_copy(update={"environment": facts}))
    return report_id


def test_a_report_over_versions_has_a_strip_with_links_and_words(web: Web) -> None:
    say_hello(web.stage, *BROKEN)
    report_id = send(web.stage, *BROKEN)
    finish(web.stage, BROKEN)
    source = web.client.get(f"/reports/{report_id}").text
    assert list(faults(source)) == []
    strip = source.partition('<section id="versions"')[2].partition("</section>")[0]
    page = Page(strip)
    [picture] = page.all("svg")
    said = "It does not happen in 2.0.0 (0 of 3), and happens in 2.1.0 (3 of 3)."
    assert picture.attributes["aria-label"] == f"cpu, x: {said}"
    assert said in " ".join(one.text for one in page.all("p"))
    names = [one.text for one in page.all("a") if one.attributes["href"].startswith("/jobs/")]
    assert [name.partition(":")[0] for name in names] == [
        f"numpy {version}, cpu" for version in ("1.26.4", "2.0.0", "2.1.0")
    ]
    for link in page.all("a"):
        assert web.client.get(link.attributes["href"]).status_code == 200


def test_the_picture_of_a_report_can_be_shown_in_an_issue(web: Web) -> None:
    say_hello(web.stage, *BROKEN)
    report_id = send(web.stage, *BROKEN, script=f"# {EVIL}\nimport numpy\nraise RuntimeError('boom')\n")
    finish(web.stage, BROKEN)
    answer = web.client.get(f"/reports/{report_id}.svg")
    assert answer.headers["content-type"] == "image/svg+xml"
    assert answer.headers["cache-control"] == "public, max-age=300"
    assert answer.headers["cross-origin-resource-policy"] == "cross-origin"
    assert answer.headers["content-security-policy"].startswith("default-src 'none'")
    root = ET.fromstring(answer.text)  # noqa: S314 - ours
    assert root.findtext(f"{SVG}title") == "May have regressed in numpy 2.1.0, fine in 2.0.0."
    assert "0/3" in "".join(root.itertext())
    assert "script" not in answer.text.replace("description", "")
    again = web.client.get(f"/reports/{report_id}.svg", headers={"If-None-Match": answer.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
    assert web.client.get("/reports/nothing.svg").status_code == 404


def test_a_report_without_a_result_has_a_picture_that_says_so(web: Web) -> None:
    say_hello(web.stage, *BROKEN)
    report_id = send(web.stage, *BROKEN)
    running = web.client.get(f"/reports/{report_id}.svg").text
    assert "Nothing is decided yet." in running
    with web.stage.session() as session:
        withdraw(session, report_id, reason="private", who="ada")
    assert "This report was withdrawn." in web.client.get(f"/reports/{report_id}.svg").text


def test_rates_of_versions_are_merged_only_if_a_test_finds_no_difference(web: Web) -> None:
    say_hello(web.stage, "1.26.4", "2.0.0", "2.1.0")
    alike = some_of(web.stage, {"1.26.4": 4, "2.0.0": 6, "2.1.0": 5}, repeats=20)
    page = Page(web.client.get(f"/reports/{alike}").text)
    text = " ".join(page.text.split())
    assert "No difference between the 3 versions is seen (exact chi-square test, p = " in text
    assert "Together it happened in 15 of 60 attempts, 25 % (10 to 46 %)." in text
    assert "15 of 60 (10 to 46 %) over 3 versions, which differ no more than by chance" in text
    differing = some_of(web.stage, {"1.26.4": 2, "2.0.0": 17}, repeats=20)
    source = web.client.get(f"/reports/{differing}").text
    pictures = source.partition('<section id="versions"')[2].partition('<section id="claim">')[0]
    table = source.partition('<section id="where">')[2].partition("</section>")[0]
    text = " ".join(f"{pictures} {table}".split())
    assert "The rate is not the same in all 2 versions (exact chi-square test, p = " in text
    assert "2 of 20 (" in text
    assert "17 of 20 (" in text
    assert "19 of 40" not in text


def test_a_run_and_a_report_of_many_cells_have_a_map(web: Web) -> None:
    say_hello(web.stage, *BROKEN, slots=64)
    with web.stage.session() as session:
        targets = tuple(
            Target(toolchain=f"numpy-{version}", settings={"threads": str(number)})
            for version in BROKEN
            for number in range(1, 15)
        )
        wish = Submission(script=SCRIPT, claim="RuntimeError: boom", targets=targets, repeats=1)
        document = submit(session, wish, settings=web.stage.settings).document
    finish(web.stage, BROKEN)
    run, report = f"/runs/{document.id}", f"/reports/{document.report.id}"
    assert f'href="{run}/map"' in web.client.get(run).text
    assert f'href="{report}/map"' in web.client.get(report).text
    for path in (f"{run}/map", f"{report}/map"):
        source = web.client.get(path).text
        assert list(faults(source)) == []
        page = Page(source)
        [picture] = page.all("svg")
        assert picture.attributes["aria-label"] == "Results of 14 targets in 3 versions"
        # All are alike, so they share a row.
        names = [one.text for one in page.all("a") if one.attributes["href"].startswith("/jobs/")]
        assert len(names) == 3
        assert all(name.endswith("13 more targets alike") for name in names)
    assert "too few results" in web.client.get(f"/reports/{send(web.stage, '2.0.0')}/map").text
    # A kept map is drawn anew after another run.
    say_hello(web.stage, *BROKEN, "2.2.0", slots=64)
    with web.stage.session() as session:
        more = RunRequest(targets=(Target(toolchain="numpy-2.2.0", settings={"threads": "1"}),))
        relaunch(session, document.report.id or "", more, settings=web.stage.settings)
    finish(web.stage, {**BROKEN, "2.2.0": True})
    for _ in range(2):
        [picture] = Page(web.client.get(f"{report}/map").text).all("svg")
        assert picture.attributes["aria-label"] == "Results of 14 targets in 4 versions"
