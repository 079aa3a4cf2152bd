"""The page of two attempts: what differs is marked, what cannot be said is said, and every page that has
two attempts leads to it.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from held_values import showing, tensor
from html_page import Page, faults
from playwright.sync_api import Browser, expect
from running_web import Web
from stage import Stage, result
from test_web_browser import FAINT, opened

from app.runs.submission.submit import Submission, submit
from app.targets.target import Target
from worker.contract import Device, Observation, Outcome

# In the name of a test, so that it is the same in every process that collects it.
UNKNOWN = "01k00000000000000000000000"
SCRIPT = "import torch\nx = torch.ones(3)\nprint('loss', x.sum())\n"
TARGETS = (Target(device=Device.CPU), Target(device=Device.CPU, settings={"threads": "1"}))
HERE = showing(
    "epoch 1\nloss 0.25 at step 10\nbye\n",
    tensor("x", 1.0, 2.0, 3.0),
    tensor("same", 1.0),
    tensor("zero", 0.0),
    tensor("n", 4, dtype="torch.int64"),
)
THERE = showing(
    "epoch 1\nwarning: slow\nloss 0.75 at step 10\nbye\n",
    tensor("x", 1.0, 2.0000002384185791, 3.0),
    tensor("same", 1.0),
    tensor("zero", -0.0),
    tensor("n", 5, dtype="torch.int64"),
    stderr="UserWarning: slow\n",
)


def play(stage: Stage, *observations: Observation) -> tuple[str, list[str]]:
    """A run of two targets; its id and those of its attempts."""
    stage.node("n")
    with stage.session() as session:
        run_id = submit(
            session, Submission(script=SCRIPT, targets=TARGETS, repeats=1), settings=stage.settings
        ).document.id
    attempts = stage.dispatch()
    for number, (attempt, seen) in enumerate(zip(attempts, observations, strict=True)):
        stage.say(result(attempt, node="n", outcome=Outcome.COMPLETED, observation=seen, cpu=f"cpu {number}"))
    return run_id, [attempt.attempt_id for attempt in attempts]


def compare_page(web: Web, baseline: str, candidate: str) -> str:
    answer = web.client.get("/compare", params={"baseline": baseline, "candidate": candidate})
    assert answer.status_code == 200
    assert list(faults(answer.text)) == []
    return answer.text


def test_what_differs_is_marked(web: Web) -> None:
    _, ids = play(web.stage, HERE, THERE)
    page = Page(compare_page(web, *ids))
    assert [mark.text for mark in page.all("mark")] == ["warning: slow", "0.25", "0.75", "UserWarning: slow"]
    assert "line 2" in page.text
    assert "1 of 3 elements differ, at most 1 ULP of float32 apart" in page.text
    assert "passes the default (rtol 1.3e-06, atol 1e-05)" in page.text
    assert "fails the default (rtol 0, atol 0); passes from rtol 0.25 or from atol 1" in page.text
    assert "the same numbers in different bits" in page.text
    assert "1 value equal in every bit" in page.text
    assert "cpu.model" in page.text
    links = {link.attributes["href"] for link in page.all("a")}
    assert {f"/attempts/{ids[0]}", f"/attempts/{ids[1]}", f"/api/v1/comparisons/{ids[0]}-{ids[1]}"} <= links
    assert f"/compare?baseline={ids[1]}&candidate={ids[0]}" in links


def test_what_cannot_be_said_is_said(web: Web) -> None:
    _, ids = play(web.stage, HERE, showing("epoch 1\n", truncated=True))
    text = Page(compare_page(web, *ids)).text
    assert "Limits of this comparison" in text
    assert "No values were captured on at least one side" in text
    assert "its middle is not compared" in text


def test_two_that_are_the_same(web: Web) -> None:
    _, ids = play(web.stage, HERE, HERE)
    page = Page(compare_page(web, *ids))
    assert page.all("mark") == []
    assert "identical" in page.text


def test_every_page_with_two_attempts_leads_there(web: Web) -> None:
    run_id, ids = play(web.stage, HERE, THERE)
    run = Page(web.client.get(f"/runs/{run_id}").text)
    links = {link.attributes["href"] for link in run.all("a")}
    assert f"/compare?baseline={ids[0]}&candidate={ids[1]}" in links
    attempt = Page(web.client.get(f"/attempts/{ids[1]}").text)
    assert attempt.all("a", href=f"/compare?candidate={ids[1]}")
    assert "torch.float32" in attempt.text
    assert "[1.0, 2.000000238418579, 3.0]" in attempt.text


@pytest.mark.parametrize(("baseline", "candidate"), [("x", "y"), ("", "y"), (UNKNOWN, UNKNOWN)])
def test_attempts_that_are_none(web: Web, baseline: str, candidate: str) -> None:
    answer = web.client.get("/compare", params={"baseline": baseline, "candidate": candidate})
    assert answer.status_code == 404
    assert list(faults(answer.text)) == []


def test_an_attempt_that_is_not_recorded(web: Web) -> None:
    web.stage.node("n")
    web.stage.submit()
    first, second, _ = web.stage.dispatch()
    answer = web.client.get("/compare", params={"baseline": first.attempt_id, "candidate": second.attempt_id})
    assert (answer.status_code, list(faults(answer.text))) == (409, [])
    assert "only recorded attempts can be compared" in Page(answer.text).text


@pytest.mark.browser
@pytest.mark.parametrize(("scheme", "width"), [("light", 1180), ("dark", 1180), ("light", 360)])
def test_it_is_read_in_any_light_and_width(web: Web, browser: Browser, scheme: Any, width: int) -> None:
    _, ids = play(web.stage, HERE, THERE)
    size = {"width": width, "height": 800}
    with opened(browser, web.url, color_scheme=scheme, viewport=size, java_script_enabled=False) as page:
        page.goto("/compare")
        page.locator("ul.choose a").first.click()
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        page.get_by_label("First result").select_option(ids[0])
        page.get_by_label("Second result").select_option(ids[1])
        page.get_by_role("button", name="Compare").first.click()
        expect(page.get_by_role("heading", level=1)).to_have_text("Two attempts side by side")
        expect(page.locator("mark").first).to_have_text("warning: slow")
    with opened(browser, web.url, color_scheme=scheme, viewport=size) as page:
        page.goto(f"/compare?baseline={ids[0]}&candidate={ids[1]}")
        page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert page.evaluate(FAINT) == []


def test_both_are_chosen_from_lists(web: Web) -> None:
    run_id, ids = play(web.stage, HERE, THERE)
    report = web.stage.run(run_id).report.id
    first = Page(web.client.get("/compare").text)
    [link] = [one for one in first.all("a") if one.attributes["href"] == f"/compare?report={report}"]
    assert list(faults(web.client.get(link.attributes["href"]).text)) == []
    second = Page(web.client.get(link.attributes["href"]).text)
    options = second.all("option")
    assert {one.attributes["value"] for one in options} == set(ids)
    assert options[0].text == f"torch 2.13.0: observed, cpu, cpu 0, {datetime.now(UTC):%-d %b %Y}"
    chosen = [one.attributes["value"] for one in options if "selected" in one.attributes]
    assert sorted(chosen) == sorted(ids)
    # From the page of an attempt, that one stands as the second.
    other = Page(web.client.get(f"/compare?candidate={ids[0]}").text)
    chosen = [one.attributes["value"] for one in other.all("option") if "selected" in one.attributes]
    assert chosen == [ids[1], ids[0]]
    assert Page(web.client.get("/compare?q=nothing+has+this").text).text.count("No report matches.") == 1
    assert web.client.get("/compare?q=nosuchfield%3A7").status_code == 422
    assert web.client.get("/compare?report=none").status_code == 404
    assert web.client.get("/compare.json").status_code == 422


def test_it_says_how_they_ended_on_which_hardware_and_of_which_report(web: Web) -> None:
    web.stage.node("n")
    script = "import numpy\nprint(numpy.in1d)\n"
    with web.stage.session() as session:
        submission = Submission(script=script, targets=TARGETS, repeats=1, title="`in1d` is gone")
        run = submit(session, submission, settings=web.stage.settings).document
    first, second = web.stage.dispatch()
    gone = Observation(exit_status=1, exception={"type": "AttributeError", "message": "no in1d"})
    web.stage.say(result(first, node="n", outcome=Outcome.COMPLETED, observation=HERE, cpu="AMD EPYC"))
    web.stage.say(result(second, node="n", outcome=Outcome.RAISED, observation=gone, cpu="AMD EPYC"))
    page = Page(compare_page(web, first.attempt_id, second.attempt_id))
    assert "The baseline runs to its end; the candidate raises AttributeError." in page.text
    assert "hardwareAMD EPYCAMD EPYC" in page.text
    assert page.all("a", href=f"/reports/{run.report.id}")
    assert page.all("a", href=f"/compare?report={run.report.id}&baseline={first.attempt_id}")


def test_a_report_without_two_results_says_so(web: Web) -> None:
    web.stage.node("n")
    report = web.stage.submit().document.report.id
    answer = web.client.get(f"/compare?report={report}")
    assert list(faults(answer.text)) == []
    assert "There are no two results to compare." in answer.text


def test_the_comparison_is_there_as_markdown_and_as_json(web: Web) -> None:
    _, (one, other) = play(web.stage, HERE, THERE)
    query = f"baseline={one}&candidate={other}"
    assert web.client.get(f"/compare.json?{query}").json()["comparison"]["id"] == f"{one}-{other}"
    text = web.client.get(f"/compare.md?{query}").text
    assert text.startswith("**Not the same.** `cpu@torch-2.13-cpu` against `cpu@torch-2.13-cpu:threads=1`.")
    assert "cpu.model: cpu 0 | cpu 1" in text
    assert text.endswith(f"All of it: {web.url}/compare?{query}\n")
    page = Page(compare_page(web, one, other))
    assert page.all("a", href=f"/compare.md?{query}")


def test_two_attempts_without_a_difference_have_a_comparison_in_every_form(web: Web) -> None:
    _, (one, other) = play(web.stage, HERE, HERE)
    for ending in ("", ".md", ".json"):
        assert web.client.get(f"/compare{ending}?baseline={one}&candidate={other}").status_code == 200
    assert "First difference" not in web.client.get(f"/compare.md?baseline={one}&candidate={other}").text
