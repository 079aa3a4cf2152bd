"""The forms of maintainers, the submitter's link, and what pages say of overruled, closed, held back and
withdrawn things.
"""

from __future__ import annotations

import pytest
from hostile_web import EVIL
from html_page import Page, faults
from running_web import Web
from stage import result

from app.runs.maintenance.tokens import Scope, create

SECRET_WORD = "xyzzy4711"


def submitted(web: Web, *, script: str = f"raise RuntimeError('boom')  # {SECRET_WORD}\n") -> str:
    """The path of a run that was submitted by the form, and has finished."""
    web.stage.node("n")
    values = {"text": script, "claim": "RuntimeError: boom", "title": SECRET_WORD}
    answer = web.client.post("/", data=values, follow_redirects=False)
    while attempts := web.stage.dispatch():
        for attempt in attempts:
            web.stage.say(result(attempt, node="n"))
    return str(answer.headers["location"])


def act(web: Web, path: str, **values: str) -> str:
    """Send a form; the page that it leads to."""
    answer = web.client.post(path, data={"reason": f"because {EVIL}", **values}, follow_redirects=True)
    assert answer.status_code == 200, answer.text
    assert list(faults(answer.text)) == []
    assert "<script>alert(1)" not in answer.text
    return Page(answer.text).text


def report_of(web: Web, run: str) -> str:
    return f"/reports/{web.stage.run(run.removeprefix('/runs/')).report.id}"


def test_a_run_is_overruled_and_the_measured_verdict_stays_in_sight(web: Web) -> None:
    run = submitted(web)
    assert Page(web.client.get(run).text).all("form", action=f"{run}/take-back") == []
    said = act(web, f"{run}/overrule", verdict="not_reproduced")
    assert "Overruled: someone on this machine says ○ not reproduced" in " ".join(said.split())
    assert "The verdict above is the measured one" in said
    assert "● reproduced" in said
    assert "overruled: not reproduced" in Page(web.client.get(report_of(web, run)).text).text
    assert (
        "A maintainer says: not reproduced. The measured result follows."
        in web.client.get(f"{report_of(web, run)}.md").text
    )
    assert (
        Page(web.client.get(report_of(web, run)).text)
        .one("title")
        .text.startswith("Overruled: not reproduced")
    )
    assert (
        Page(web.client.get("/reports?q=attention:still_broken").text).all("a", href=report_of(web, run))
        == []
    )
    back = act(web, f"{run}/take-back")
    assert "A maintainer says" not in web.client.get(f"{report_of(web, run)}.md").text
    assert (
        Page(web.client.get("/reports?q=attention:still_broken").text).all("a", href=report_of(web, run))
        != []
    )
    assert "Overruled:" not in back
    assert "took the overruling back" in back
    assert "overruled the verdict" in back


def test_a_measured_verdict_is_not_overruled_to_itself(web: Web) -> None:
    run = submitted(web)
    for path in (run, report_of(web, run)):
        page = Page(web.client.get(path).text)
        offered = page.one("select", id="overrule-verdict").text
        assert "not reproduced:" in offered
        assert "reproduced:" not in offered.replace("not reproduced:", "")
        answer = web.client.post(f"{path}/overrule", data={"verdict": "reproduced", "reason": "so"})
        assert (answer.status_code, "close the report with that word" in answer.text) == (409, True)


def test_a_closed_report_says_first_how_it_was_closed(web: Web) -> None:
    report = report_of(web, submitted(web))
    said = act(web, f"{report}/close", disposition="by_design")
    page = Page(web.client.get(report).text)
    assert page.one("title").text.startswith("By design · ")
    card = page.one("section", id="verdict")
    assert card.attributes["class"] == "verdict cant"
    assert "✓ by design closed we measured: reproduced" in " ".join(card.text.split())
    assert page.one("h2", **{"class": "what"}).text == "This works as it is meant to."
    words = " ".join(said.split())
    assert "By design, decided by someone on this machine." in words
    assert "it is not decided" not in card.text
    # The maintainer's own reason is quoted, and the standard words of the button are not.
    assert "“because" in words
    act(web, f"{report}/reopen")
    said = act(web, f"{report}/close", disposition="by_design", reason="")
    assert "Decided by someone on this machine: This works as it is meant to." in " ".join(said.split())
    assert "“This works" not in said
    text = web.client.get(f"{report}.md").text
    assert text.startswith("A maintainer says: By design: This works as it is meant to. The measured")


def test_a_report_is_labelled_closed_and_reopened(web: Web) -> None:
    report = report_of(web, submitted(web))
    assert "accuracy" in act(web, f"{report}/label", add="accuracy, svd")
    assert "removed svd" in act(web, f"{report}/label", remove="svd")
    assert "Closed" in act(web, f"{report}/close")
    assert "closed" in Page(web.client.get("/reports").text).text
    assert "reopened it" in act(web, f"{report}/reopen")
    assert "Overruled" in act(web, f"{report}/overrule", verdict="flaky")
    assert "took the overruling back" in act(web, f"{report}/take-back")


def test_a_node_is_held_back_and_used_again(web: Web) -> None:
    run = submitted(web)
    shown = act(web, "/quarantines", kind="node", name="n", since="2026-01-01T10:00")
    assert "quarantined" in shown
    assert "1 run reopened" in shown
    assert web.stage.run(run.removeprefix("/runs/")).state == "running"
    [form] = [
        one
        for one in Page(web.client.get("/nodes").text).all("form")
        if one.attributes["action"].endswith("/lift")
    ]
    assert "Nothing is quarantined." in act(web, form.attributes["action"])
    digest = web.stage.run(run.removeprefix("/runs/")).jobs[0].script
    act(web, "/quarantines", kind="script", name=digest)
    assert "is quarantined. Cells that need it wait." in Page(web.client.get(run).text).text


def test_it_is_judged_again(web: Web) -> None:
    report = report_of(web, submitted(web))
    page = Page(web.client.get(f"{report}/judge-again").text)
    assert "The present rules judge 1 finished run " in page.text
    assert list(faults(web.client.get(f"{report}/judge-again").text)) == []
    act(web, f"{report}/judge-again")


def test_who_submitted_is_shown_the_link_and_nobody_else(web: Web) -> None:
    run = submitted(web)
    [link] = [
        one
        for one in Page(web.client.get(run).text).all("a")
        if one.attributes["href"].startswith("/withdraw/")
    ]
    text = Page(web.client.get(run).text).text
    # The answer comes first: this is not the link to the result.
    assert text.index("It happens, as reported.") < text.index("To erase your report:")
    assert "/withdraw/" in web.client.get(f"{run}/fragment").text
    web.client.cookies.clear()
    assert "/withdraw/" not in web.client.get(run).text
    path = link.attributes["href"]
    asked = web.client.get(path)
    assert list(faults(asked.text)) == []
    assert SECRET_WORD in asked.text
    assert web.stage.run(run.removeprefix("/runs/")).withdrawn_at is None
    done = web.client.post(path, data={"reason": ""}, follow_redirects=True)
    assert (done.status_code, done.url.path) == (200, report_of(web, run))
    [job] = web.stage.run(run.removeprefix("/runs/")).jobs
    attempt, report = job.attempts[0].id, report_of(web, run)
    for gone, status in (
        (f"/attempts/{attempt}/stdout", 200),
        (f"/attempts/{attempt}/stderr", 200),
        (f"/jobs/{job.id}.json", 200),
        (f"/jobs/{job.id}/repeat.py", 409),
        (f"{report}/text", 404),
        (f"{report}/scripts/1", 404),
        (f"{report}.json", 200),
        (f"{report}.md", 200),
        (f"{run}.md", 200),
    ):
        answer = web.client.get(gone)
        assert (answer.status_code, SECRET_WORD in answer.text) == (status, False), gone
    for page in (run, report, f"/attempts/{attempt}", f"/jobs/{job.id}", "/reports", path):
        source = web.client.get(page).text
        assert list(faults(source)) == [], page
        assert SECRET_WORD not in source, page
        assert "withdrawn" in source.lower(), page
    assert "● reproduced" in Page(web.client.get(run).text).text
    compared = web.client.get("/compare", params={"baseline": attempt, "candidate": attempt})
    assert (compared.status_code, "withdrawn" in compared.text) == (409, True)
    assert web.client.post(path, data={}).status_code == 409
    assert web.client.get("/withdraw/guessed").status_code == 404


def test_the_link_is_set_for_the_run_and_its_report_and_out_of_reach_of_scripts(web: Web) -> None:
    web.stage.node("n")
    answer = web.client.post("/", data={"text": "print(1)\n"}, follow_redirects=False)
    run = answer.headers["location"]
    cookies = [
        {word.strip() for word in cookie.split(";")} for cookie in answer.headers.get_list("set-cookie")
    ]
    assert all({"HttpOnly", "SameSite=strict"} <= words for words in cookies)
    paths = {word for words in cookies for word in words if word.startswith("Path=")}
    assert paths == {f"Path={run}", f"Path={report_of(web, run)}"}
    assert "?" not in run


def test_the_submitter_s_browser_corrects_the_claim_without_a_secret(web: Web) -> None:
    with web.stage.session() as session:
        create(session, name="ada", scopes=[Scope.MAINTAIN])
    # Behind a proxy that sends every caller here, the run has no submitter who is known by a token.
    report = report_of(web, submitted(web))
    values = {"claim": "ValueError: other", "reason": "misread"}
    assert web.client.post(f"{report}/claim", data=values, follow_redirects=False).status_code == 303
    acts = web.client.get(f"/api/v1{report}").json()["acts"]
    assert [(one["what"], one["who"]) for one in acts] == [("claim_corrected", "submitter")]


def test_a_program_sends_its_token_as_a_field(web: Web) -> None:
    report = report_of(web, submitted(web))
    with web.stage.session() as session:
        maintainer, reader = (
            create(session, name=name, scopes=[scope]).secret
            for name, scope in (("ada", Scope.MAINTAIN), ("eve", Scope.READ))
        )
    for token, status in (("", 401), ("samehere_x", 401), (reader, 403)):
        assert web.client.post(f"{report}/close", data={"reason": "x", "token": token}).status_code == status
    assert "ada closed it" in act(web, f"{report}/close", token=maintainer)


@pytest.mark.parametrize("path", ["close", "withdraw", "overrule", "label"])
def test_another_page_cannot_press_it(web: Web, path: str) -> None:
    report = report_of(web, submitted(web))
    values = {"reason": "x", "verdict": "flaky", "add": "x"}
    answer = web.client.post(f"{report}/{path}", data=values, headers={"Origin": "https://evil.example"})
    assert answer.status_code == 403
    assert web.client.get(f"/api/v1{report}").json()["acts"] == []


def test_without_a_reason_nothing_is_done(web: Web) -> None:
    report = report_of(web, submitted(web))
    answer = web.client.post(f"{report}/close", data={"reason": " "})
    assert answer.status_code == 422
    assert "Say why" in answer.text
    assert web.client.get(f"/api/v1{report}").json()["closed_at"] is None


def test_one_click_is_taken_back_by_one_click(web: Web) -> None:
    report = report_of(web, submitted(web))
    act(web, f"{report}/close", disposition="by_design", reason="")
    page = Page(web.client.get(report).text)
    form = page.one("form", **{"aria-label": "Open it again"})
    [button] = [one for one in page.all("button", name="reason") if one.text == "Open it again"]
    said = act(web, form.attributes["action"], reason=button.attributes["value"])
    assert "Closed by mistake?" not in said
    assert "someone on this machine reopened it. It was closed by mistake." in " ".join(said.split())
    act(web, f"{report}/confirm", reason="")
    form = Page(web.client.get(report).text).one("form", **{"aria-label": "Take it back"})
    assert "Confirmed by mistake?" not in act(web, form.attributes["action"], reason="x")
