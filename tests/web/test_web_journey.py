"""Journeys in a real browser, with and without scripts: submit, watch, find, compare, repeat, copy."""

from __future__ import annotations

import re
from typing import Any

import pytest
from held_values import showing, tensor
from hostile_web import Hostile
from playwright.sync_api import Browser, expect
from running_web import Web
from stage import result
from test_web_browser import DECIDED, FAINT, opened

from app.runs.submission.submit import Submission, submit
from app.targets.target import Target
from worker.contract import Device, Outcome

pytestmark = pytest.mark.browser
TARGETS = (Target(device=Device.CPU), Target(device=Device.CPU, settings={"threads": "1"}))


def answer(web: Web) -> None:
    while attempts := web.stage.dispatch():
        for attempt in attempts:
            one = bool(attempt.settings)
            seen = showing(f"sum {5 + one}\n", tensor("x", 1.0, 1.0 + one * 2**-23))
            web.stage.say(
                result(attempt, node="n", outcome=Outcome.COMPLETED, observation=seen, cpu=f"cpu {one:d}")
            )


READ = """# The total is wrong

On numpy 2.3 on Windows 11 this prints the wrong total.

```python
import numpy
print("total", 5)
```

Here I get

```
total 6
```

Expected:

```
total 5
```
"""


@pytest.mark.parametrize("scripts", [True, False], ids=["with scripts", "without scripts"])
def test_after_a_correction_the_focus_is_where_it_was_made(
    web: Web, browser: Browser, *, scripts: bool
) -> None:
    web.stage.node("n")
    with opened(browser, web.url, java_script_enabled=scripts) as page:
        page.goto("/")
        page.get_by_label("Script or report").fill(READ)
        page.get_by_role("button", name="Next").click()
        page.get_by_role("button", name="Exhibit 2: what happens").click()
        exhibit = page.locator("#read-e2")
        expect(exhibit).to_be_focused()
        expect(exhibit).to_be_in_viewport()
        page.locator("#environment-new").select_option("python.version")
        page.get_by_label("Its value, such as a version").fill("3.12")
        page.get_by_role("button", name="Add it").click()
        expect(page.locator("#environment")).to_be_focused()
        expect(page.locator("#environment input[value='3.12']")).to_be_in_viewport()
        page.get_by_label("It needs packages: numpy").uncheck()
        page.get_by_role("button", name="Read it again").last.click()
        expect(page.get_by_label("It needs packages: numpy")).not_to_be_checked()
        # Without scripts the server can't know which field was changed last.
        expect(page.locator("#need-package" if scripts else "#read")).to_be_focused()


@pytest.mark.parametrize("scripts", [True, False], ids=["with scripts", "without scripts"])
def test_from_the_form_to_the_issue(web: Web, browser: Browser, *, scripts: bool) -> None:
    web.stage.node("n")
    with opened(browser, web.url, java_script_enabled=scripts) as page:
        page.goto("/")
        page.get_by_label("Script or report").fill("print('sum', 5)\n")
        page.get_by_role("button", name="Next").click()
        page.get_by_label("What happens, and what should?").fill("prints sum 5, expected sum 4")
        page.get_by_text("More: title").click()
        page.get_by_label("Title").fill("The sum of a zebra is 5")
        page.get_by_role("button", name="Quick answer").click()
        expect(page.locator("#part-verdict")).to_contain_text("waiting for a node")
        answer(web)
        expect(page.locator(DECIDED).first).to_have_text("● reproduced", timeout=60_000)
        expect(page.locator("#part-verdict")).to_contain_text("so nothing shows yet what it depends on")
        expect(page.locator("#maintain")).to_contain_text("For maintainers")
        page.get_by_role("searchbox", name="Search reports").fill("zebra")
        page.keyboard.press("Enter")
        page.get_by_role("table").get_by_role("link", name="The sum of a zebra is 5").click()
        expect(page).to_have_title("Reproduced · The sum of a zebra is 5 · samehere")
        expect(page.locator("#verdict").get_by_role("heading")).to_have_text("It happens, as reported.")
        expect(page.locator("#verdict")).to_contain_text("Open: it is not decided whether this is a bug.")
        expect(page.locator("#verdict")).to_contain_text("nothing shows yet what it depends on")
        page.get_by_label("Matrix of targets and versions").get_by_role("link", name="reproduced").click()
        expect(page.get_by_label("Command")).to_contain_text("samehere reproduce FILE --target cpu@")
        with page.expect_download() as download:
            page.get_by_role("link", name="repeat.py").click()
        assert download.value.suggested_filename.startswith("repeat-")


def test_how_far_it_is_is_told_while_it_goes_on(web: Web, browser: Browser) -> None:
    web.stage.node("n")
    run_id = web.stage.submit(repeats=2).document.id
    with opened(browser, web.url) as page:
        page.goto(f"/runs/{run_id}")
        expect(page).to_have_title(re.compile("waiting for a node"))
        first = web.stage.dispatch()[0]
        web.stage.start(first, node="n")
        web.stage.say(result(first, node="n", outcome=Outcome.COMPLETED, observation=showing("sum 5\n")))
        expect(page.locator("#news")).to_have_text(
            re.compile(r"^1 of \d attempts have ended$"), timeout=60_000
        )
        # The other attempt is at a node that has not started it.
        expect(page).to_have_title(re.compile("^waiting for a free place"))


def test_two_cells_are_compared(web: Web, browser: Browser) -> None:
    web.stage.node("n")
    with web.stage.session() as session:
        request = Submission(
            script="print('sum', 5)\n",
            claim="prints sum 5, expected sum 4",
            targets=TARGETS,
            repeats=2,
            title="Sums",
        )
        run = submit(session, request, settings=web.stage.settings).document
    answer(web)
    with opened(browser, web.url) as page:
        page.goto(f"/reports/{run.report.id}")
        expect(page.locator("#apart tbody")).to_contain_text("cpu.model likely")
        page.locator("#compared a").first.click()
        expect(page.locator(".verdict strong")).to_have_text("Not the same.")
        expect(page.locator("mark").first).to_have_text("5")
        expect(page.locator("table.values")).to_contain_text("1 ULP of float32")
        heads = page.get_by_role("heading", level=2).all_text_contents()
        assert heads[0].startswith("Environments")


def test_the_markdown_is_copied(web: Web, browser: Browser) -> None:
    web.stage.node("n")
    run_id = web.stage.submit().document.id
    answer(web)
    context = browser.new_context(base_url=web.url, permissions=["clipboard-read", "clipboard-write"])
    page = context.new_page()
    page.goto(f"/reports/{web.stage.run(run_id).report.id}")
    page.get_by_role("button", name="Copy for the issue").click()
    expect(page.get_by_role("button", name="Copied")).to_be_visible()
    copied = page.evaluate("navigator.clipboard.readText()")
    assert copied.startswith("- **What:** ")
    assert copied == page.evaluate("document.getElementById('markdown').value")
    context.close()


def test_without_scripts_no_button_promises_to_copy(web: Web, browser: Browser) -> None:
    web.stage.node("n")
    run_id = web.stage.submit().document.id
    answer(web)
    with opened(browser, web.url, java_script_enabled=False) as page:
        page.goto(f"/runs/{run_id}")
        expect(page.get_by_role("button", name="Copy for the issue")).to_have_count(0)
        page.get_by_text("the text that “Copy for the issue” copies").click()
        expect(page.get_by_label("Markdown for the issue")).to_be_visible()


@pytest.mark.parametrize("width", [1180, 360])
def test_print_hides_what_paper_cannot_do(hostile: Hostile, browser: Browser, width: int) -> None:
    with opened(browser, hostile.url, viewport={"width": width, "height": 800}, color_scheme="dark") as page:
        page.emulate_media(media="print")
        for name in ("report", "run", "compare"):
            page.goto(hostile.paths[name])
            expect(page.locator("header.top nav")).to_be_hidden()
            assert page.locator("button:visible").count() == 0
            assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_terminal_colours_can_be_read(web: Web, browser: Browser, scheme: Any) -> None:
    web.stage.node("n")
    run_id = web.stage.submit(repeats=1).document.id
    text = "".join(f"\x1b[{code}m colour {code} \x1b[0m\n" for code in (*range(30, 38), *range(90, 98)))
    for attempt in web.stage.dispatch():
        web.stage.say(result(attempt, node="n", outcome=Outcome.COMPLETED, observation=showing(text)))
    [attempt_id] = [row.id for row in web.stage.attempts(run_id)]
    with opened(browser, web.url, color_scheme=scheme) as page:
        page.goto(f"/attempts/{attempt_id}")
        expect(page.locator("pre .ansi1").first).to_have_text(" colour 31 ")
        assert page.evaluate(FAINT) == []
