"""The page of a bisection: it fills in while that goes on, by the events of its run, and without JavaScript
by itself.
"""

from __future__ import annotations

import pytest
from html_page import Page, faults
from playwright.sync_api import Browser, expect
from running_web import Web
from stage import SCRIPT, result

from worker.contract import Hello, Level, Observation, Outcome, ToolchainFacts


@pytest.fixture
def asked(web: Web) -> str:
    """A bisection over three versions that goes on."""
    chains = [
        ToolchainFacts(name=f"torch-2.{n}", state="ready", packages={"torch": f"2.{n}.0"}, torch=f"2.{n}.0")
        for n in (9, 10, 11)
    ]
    web.stage.say(
        Hello(node="n", instance="one", slots=8, level=Level.NAMESPACES_CGROUP, toolchains=chains, cores=8)
    )
    web.stage.beat("n")
    made = web.client.post(
        "/api/v1/runs", json={"script": f"import torch\n{SCRIPT}", "claim": "RuntimeError: boom"}
    ).json()
    return str(
        web.client.post(f"/api/v1/reports/{made['report']['id']}/bisections", json={"over": "torch"}).json()[
            "id"
        ]
    )


def test_it_works_without_javascript(web: Web, asked: str) -> None:
    source = web.client.get(f"/bisections/{asked}").text
    assert list(faults(source)) == []
    page = Page(source)
    assert page.one("meta", **{"http-equiv": "refresh"}).inside[-1] == "noscript"
    place = page.one("div", id="run").attributes
    assert (place["data-live"], place["data-run"]) == ("yes", asked)
    fragment = web.client.get(place["data-fragment"]).text
    assert (
        Page(f"<body>{fragment}</body>").one("section", id="part-verdict").attributes["data-title"]
        == "Bisection over torch"
    )
    assert page.one("div", **{"aria-label": "All points"}).attributes["tabindex"] == "0"
    assert "You can close this page" in page.text
    assert web.client.get(f"/bisections/{asked}.json").json()["id"] == asked
    text = web.client.get(f"/bisections/{asked}.md").text
    assert text.startswith("**Bisection over torch.** Not finished. So far: Nothing was tried yet.\n")
    assert text.endswith(f"All points and attempts: {web.url}/bisections/{asked}\n")
    stopped = web.client.post(f"/bisections/{asked}/cancel", follow_redirects=True).text
    assert list(faults(stopped)) == []
    assert Page(stopped).one("div", id="run").attributes["data-live"] == "no"
    assert Page(stopped).all("meta", **{"http-equiv": "refresh"}) == []


@pytest.mark.browser
def test_it_fills_in_while_one_looks(web: Web, asked: str, browser: Browser) -> None:
    context = browser.new_context(base_url=web.url)
    page = context.new_page()
    page.goto(f"/bisections/{asked}")
    page.evaluate("window.mine = true")
    expect(page.get_by_role("button", name="Cancel")).to_have_count(1)
    while attempts := web.stage.dispatch():
        for attempt in attempts:
            web.stage.start(attempt, node="n")
            web.stage.say(result(attempt, node="n"))
    expect(page.locator("#part-verdict .summary")).not_to_contain_text("Not finished", timeout=60_000)
    expect(page.get_by_role("button", name="Cancel")).to_have_count(0)
    expect(page.locator("#part-points tbody")).to_contain_text(" of ")
    assert page.evaluate("window.mine")
    context.close()


def test_its_answer_stands_on_the_report_and_in_the_markdown(web: Web, asked: str) -> None:
    report = web.client.get(f"/bisections/{asked}.json").json()["report"]
    assert (
        "Bisected over torch (not finished): nothing was tried yet."
        in Page(web.client.get(f"/reports/{report}").text).text
    )
    while attempts := web.stage.dispatch():
        for attempt in attempts:
            web.stage.start(attempt, node="n")
            web.stage.say(result(attempt, node="n"))
    answer = web.client.get(f"/bisections/{asked}.json").json()
    assert (answer["state"], answer["kind"]) == ("finished", "throughout")
    words = f"Bisected over torch: {answer['summary']}"
    source = web.client.get(f"/reports/{report}").text
    assert list(faults(source)) == []
    page = Page(source)
    assert words in page.one("section", id="verdict").text
    assert words in page.one("section", id="timeline").text
    assert page.all("a", href=f"/bisections/{asked}")
    assert words in web.client.get(f"/reports/{report}.md").text
    [shown] = web.client.get(f"/api/v1/reports/{report}").json()["bisections"]
    assert (shown["id"], shown["kind"]) == (asked, "throughout")
    assert "| `2.9.0` | " in web.client.get(f"/bisections/{asked}.md").text


def test_it_takes_nothing_from_the_answer_of_its_report(web: Web, asked: str) -> None:
    report = web.client.get(f"/bisections/{asked}.json").json()["report"]
    fine = {"outcome": Outcome.COMPLETED, "observation": Observation(exit_status=0, stdout="fine\n")}
    while attempts := web.stage.dispatch():
        for attempt in attempts:
            web.stage.start(attempt, node="n")
            web.stage.say(result(attempt, node="n", **(fine if attempt.toolchain == "torch-2.9" else {})))  # type: ignore[arg-type]
    answer = web.client.get(f"/bisections/{asked}.json").json()
    assert (answer["last_good"], answer["first_bad"]) == ("2.9.0", "2.10.0")
    assert answer["summary"].startswith("It appeared in torch 2.10.0; 2.9.0 is the last one tried before.")
    source = web.client.get(f"/reports/{report}").text
    assert list(faults(source)) == []
    card = Page(source).one("section", id="verdict").text
    assert "3 of 3 attempts" in card
    assert "27 % of attempts" in card
    assert "depends on" not in card
