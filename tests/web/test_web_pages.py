"""The pages: whole, safe whatever a script or a report holds, and with the right words."""

from __future__ import annotations

import html

import pytest
from hostile_web import Hostile
from html_page import Page, faults
from running_web import Web
from stage import result

from app.runs.submission.submit import Submission, submit
from worker.contract import Observation, Outcome


def test_whatever_strangers_write_every_page_is_whole(hostile: Hostile) -> None:
    for name in hostile.paths:
        source = hostile.page(name)
        assert list(faults(source)) == [], name
        assert "<script>alert" not in source
        assert "onerror=alert" not in html.unescape(source) or "<img src=x" not in source
        assert not {"\x1b", "\u202e", "\u2066", "\x00"} & set(source), name
        assert "49 <!--" not in source, name


def test_what_strangers_write_is_shown_and_not_swallowed(hostile: Hostile) -> None:
    for name in ("run", "report", "crashed", "compare"):
        text = Page(hostile.page(name)).text
        assert "<script>alert(1)</script>" in text, name
        assert "⟨U+202E⟩evil" in text, name
        assert "\x1b[31m" not in text, name


def test_the_answer_forbids_what_the_page_does_not_use(hostile: Hostile) -> None:
    for path in (*hostile.paths.values(), "/nothing", "/api/v1/runs", "/static/app.css"):
        headers = hostile.client.get(path).headers
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "'unsafe" not in policy
        assert all(
            rule in policy for rule in ("form-action 'self'", "base-uri 'none'", "frame-ancestors 'none'")
        )
        assert (headers["x-content-type-options"], headers["referrer-policy"]) == ("nosniff", "same-origin")


def test_a_stream_that_was_cut_says_so(hostile: Hostile) -> None:
    text = Page(hostile.page("crashed")).text
    assert "62 914 560 bytes" in text
    assert "Only its beginning and its end are stored." in text


def test_a_run_that_waits_says_how_to_look_again(web: Web) -> None:
    web.stage.node("n")
    run_id = web.stage.submit().document.id
    source = web.client.get(f"/runs/{run_id}").text
    assert list(faults(source)) == []
    page = Page(source)
    assert page.one("meta", **{"http-equiv": "refresh"}).inside[-1] == "noscript"
    assert page.one("form", action=f"/runs/{run_id}/cancel").attributes["method"] == "post"
    assert page.one("div", id="run").attributes["data-live"] == "yes"
    stopped = web.client.post(f"/runs/{run_id}/cancel", follow_redirects=True)
    assert stopped.status_code == 200
    assert list(faults(stopped.text)) == []
    after = Page(stopped.text)
    assert "cancelled" in after.one("section", id="part-verdict").text
    assert after.all("meta", **{"http-equiv": "refresh"}) == []


def test_a_run_says_what_was_seen(web: Web) -> None:
    web.stage.node("n")
    run_id = web.stage.submit().document.id
    for attempt in web.stage.dispatch():
        web.stage.say(result(attempt, node="n"))
    page = Page(web.client.get(f"/runs/{run_id}").text)
    assert "reproduced" in page.one("section", id="part-verdict").text
    assert "3 of 3" in page.one("section", id="part-where").text
    assert "RuntimeError: boom" in page.one("section", id="part-where").text
    assert page.all("a", href=f"/api/v1/runs/{run_id}")
    assert "samehere reproduce FILE --target" in page.text
    assert "RuntimeError: boom" in page.one("section", id="part-printed").text
    attempts = [
        one.attributes["href"] for one in page.all("a") if one.attributes["href"].startswith("/attempts/")
    ]
    assert len(set(attempts)) == 3
    attempt = Page(web.client.get(attempts[0]).text)
    assert "An exception ended it." in attempt.text
    assert attempt.all("pre", **{"aria-label": "stderr"})


def test_a_report_is_run_again(web: Web) -> None:
    web.stage.node("n")
    report_id = web.stage.submit().document.report.id
    page = Page(web.client.get(f"/reports/{report_id}").text)
    action = page.one("form", id="again").attributes["action"]
    again = web.client.post(action, data={"preset": "quick"})
    assert again.status_code == 303
    assert list(faults(web.client.get(again.headers["location"]).text)) == []
    refused = web.client.post(action, data={"preset": "nix"})
    assert (refused.status_code, list(faults(refused.text))) == (422, [])
    assert "determinism" in Page(refused.text).text


@pytest.mark.parametrize(
    "path", ["/runs/x", "/attempts/%00", "/reports/%E2%80%AE", "/compare?id=x", "/nothing", "/runs/x/y"]
)
def test_what_is_not_there(web: Web, path: str) -> None:
    answer = web.client.get(path)
    assert answer.status_code == 404
    assert list(faults(answer.text)) == []
    assert Page(answer.text).one("h1").text == "There is nothing here"


def test_a_cursor_or_a_query_that_is_none(web: Web) -> None:
    for path in ("/reports?cursor=x", f"/reports?q={'x' * 301}", f"/compare?baseline={'x' * 101}"):
        answer = web.client.get(path)
        assert answer.status_code == 422, path
        assert list(faults(answer.text)) == []


def test_an_empty_service_is_a_page_too(web: Web) -> None:
    for path in ("/", "/reports", "/reports?q=nothing", "/nodes", "/compare"):
        answer = web.client.get(path)
        assert (answer.status_code, list(faults(answer.text))) == (200, [])


def test_a_claim_whose_two_values_are_both_printed_says_so(web: Web) -> None:
    web.stage.node("n")
    words = "Both were seen: the claimed result and the expected one."
    for stdout, both in (("items 44\nsum 300.0\n", True), ("sum 44\n", False)):
        request = Submission(script=f"print({stdout!r})\n", claim="It prints 44, expected 300.")
        with web.stage.session() as session:
            report = submit(session, request, settings=web.stage.settings).document.report.id
        for attempt in web.stage.dispatch():
            seen = Observation(exit_status=0, stdout=stdout)
            web.stage.say(result(attempt, node="n", outcome=Outcome.COMPLETED, observation=seen))
        page = web.client.get(f"/reports/{report}").text
        assert (words in Page(page).text) is both
        # The expected value is seen: that is no red mark.
        assert ("</span> as expected</span>" in page) is both


def test_a_refused_act_on_a_report_leads_back_to_it(web: Web) -> None:
    web.stage.node("n")
    report = web.stage.submit().document.report.id
    refused = web.client.post(f"/reports/{report}/bisections", data={"over": "numpy"})
    assert refused.status_code == 422
    assert list(faults(refused.text)) == []
    assert Page(refused.text).one("a", href=f"/reports/{report}").text == "Back to the report"
    absent = web.client.get("/reports/01m8hqkd7hea3vgk0z1q70yne8")
    assert "Back to the report" not in absent.text


def test_a_node_leads_to_what_ran_on_it(web: Web) -> None:
    web.stage.node("n")
    web.stage.submit()
    for attempt in web.stage.dispatch():
        web.stage.say(result(attempt, node="n"))
    link = Page(web.client.get("/nodes").text).one("a", href="/reports?q=node:n")
    assert link.text == "n"
    assert "No report matches" not in web.client.get("/reports?q=node:n").text
