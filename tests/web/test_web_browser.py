"""The pages in a real browser: they fill in, they work without scripts, nothing is injected, everybody can
read them.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy_versions
import pytest
from hostile_web import Hostile
from playwright.sync_api import Browser, Page, expect
from running_web import Web
from stage import SCRIPT, Stage, result

from worker.contract import Observation, Outcome

DECIDED = "#part-verdict[data-state=finished] .cell"
pytestmark = pytest.mark.browser
# Text whose contrast is below WCAG AA against the nearest background that is painted.
FAINT = """() => {
  const channels = (colour) => colour.match(/[\\d.]+/g).map(Number);
  const light = ([r, g, b]) => {
    const [x, y, z] = [r, g, b].map((v) => (v /= 255) <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    return 0.2126 * x + 0.7152 * y + 0.0722 * z;
  };
  const painted = (element) => {
    for (; element; element = element.parentElement) {
      const colour = channels(getComputedStyle(element).backgroundColor);
      if (colour.length < 4 || colour[3] > 0) return colour;
    }
    return channels(getComputedStyle(document.documentElement).backgroundColor);
  };
  const found = [];
  for (const element of document.querySelectorAll("body *")) {
    const words = [...element.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim());
    if (!words || !element.checkVisibility()) continue;
    const [a, b] = [light(channels(getComputedStyle(element).color)), light(painted(element))].sort((x, y) => y - x);
    const ratio = (a + 0.05) / (b + 0.05);
    if (ratio < 4.5) found.push(`${element.tagName}.${element.className} ${element.textContent.trim().slice(0, 40)} ${ratio.toFixed(2)}`);
  }
  return found;
}"""  # noqa: E501


@contextmanager
def opened(browser: Browser, url: str, *, expected: str | None = None, **options: Any) -> Iterator[Page]:
    """A page that must not complain, ask anything, or speak to anybody else."""
    context = browser.new_context(base_url=url, **options)
    page = context.new_page()
    page.set_default_timeout(15_000)
    complaints: list[str] = []
    page.on(
        "console",
        lambda message: complaints.append(message.text) if message.type in {"error", "warning"} else None,
    )
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("dialog", lambda dialog: complaints.append(f"dialog {dialog.message}"))
    page.on(
        "request",
        lambda request: None if request.url.startswith((url, "data:")) else complaints.append(request.url),
    )
    yield page
    context.close()
    assert [words for words in complaints if expected is None or expected not in words] == []


def finish(stage: Stage) -> None:
    for attempt in stage.dispatch():
        stage.start(attempt, node="n")
        stage.say(result(attempt, node="n"))


def test_a_run_fills_in_while_one_looks(web: Web, browser: Browser) -> None:
    web.stage.node("n")
    run_id = web.stage.submit().document.id
    with opened(browser, web.url) as page:
        page.goto(f"/runs/{run_id}")
        page.evaluate("window.mine = true")
        expect(page.locator("#part-verdict")).to_contain_text("waiting for a node")
        finish(web.stage)
        expect(page.locator(DECIDED)).to_have_text("● reproduced")
        expect(page.locator("#part-where tbody")).to_contain_text("3 of 3")
        expect(page.locator("#part-attempts tbody a")).to_have_count(3)
        expect(page).to_have_title("reproduced · RuntimeError: boom · samehere")
        expect(page.locator("#news")).to_contain_text("It happens, as reported.")
        expect(page.get_by_role("button", name="Cancel")).to_have_count(0)
        assert page.evaluate("window.mine")


def test_what_one_reads_stays_while_a_run_fills_in(web: Web, browser: Browser) -> None:
    web.stage.node("n")
    run_id = web.stage.submit().document.id
    with opened(browser, web.url) as page:
        page.goto(f"/runs/{run_id}")
        script = page.get_by_role("region", name="Script")
        script.focus()
        script.evaluate("(element) => { element.mine = true; getSelection().selectAllChildren(element); }")
        finish(web.stage)
        expect(page.locator(DECIDED)).to_have_text("● reproduced")
        assert script.evaluate("(element) => element.mine && document.activeElement === element")
        assert page.evaluate("getSelection().toString()").strip() == SCRIPT.strip()


def test_the_place_without_the_bug_appears_after_the_run_has_ended(web: Web, browser: Browser) -> None:
    broken = {"2.4.0": True, "2.3.5": False}
    numpy_versions.say_hello(web.stage, *broken)
    run = web.client.post(
        "/api/v1/runs", json={"script": numpy_versions.SCRIPT, "claim": "RuntimeError: boom"}
    ).json()
    with opened(browser, web.url) as page:
        page.goto(f"/runs/{run['id']}")
        while web.stage.run(run["id"]).state != "finished":
            for attempt in web.stage.dispatch():
                numpy_versions.answer(web.stage, attempt, broken)
        expect(page.locator("#part-verdict")).to_contain_text("One target more is being tried")
        with opened(browser, web.url) as later:
            later.goto(f"/runs/{run['id']}")
            expect(later.locator("#part-verdict")).to_contain_text("One target more is being tried")
            numpy_versions.finish(web.stage, broken)
            for one in (page, later):
                expect(one.locator("#part-verdict")).to_contain_text(
                    "It does not happen on cpu@numpy-2.3.5.", timeout=20_000
                )


def test_a_run_is_stopped_by_its_button(web: Web, browser: Browser) -> None:
    web.stage.node("n")
    run_id = web.stage.submit().document.id
    with opened(browser, web.url) as page:
        page.goto(f"/runs/{run_id}")
        page.get_by_role("button", name="Cancel", exact=True).click()
        expect(page.locator("#part-verdict")).to_contain_text("cancelled")
    assert web.stage.run(run_id).state == "cancelled"


@pytest.mark.parametrize("scripts", [True, False], ids=["with scripts", "without scripts"])
def test_from_the_form_to_the_verdict(web: Web, browser: Browser, *, scripts: bool) -> None:
    web.stage.node("n")
    with opened(browser, web.url, java_script_enabled=scripts) as page:
        page.goto("/")
        page.get_by_label("Script or report").fill(SCRIPT)
        page.get_by_role("button", name="Next").click()
        page.get_by_label("What happens, and what should?").fill("RuntimeError: boom")
        page.get_by_text("More: title").click()
        page.get_by_label("Title").fill("It says boom")
        page.get_by_role("button", name="Quick answer").click()
        expect(page.get_by_role("heading", level=1)).to_have_text("It says boom")
        for _ in range(5):
            finish(web.stage)
        expect(page.locator(DECIDED)).to_have_text("● reproduced", timeout=60_000)


MISREAD = """```python
print("total", 5)
```

Here I get

```
total 6
```

\u05e9\u05dc\u05d5\u05dd \u202e 7

Expected:

```
total 5
```
"""


@pytest.mark.parametrize(("scheme", "width"), [("light", 1180), ("dark", 360)])
def test_an_exhibit_is_corrected_with_one_click(web: Web, browser: Browser, scheme: Any, width: int) -> None:
    web.stage.node("n")
    run = web.client.post("/api/v1/runs", json={"report": MISREAD}).json()
    finish(web.stage)
    options = {"color_scheme": scheme, "viewport": {"width": width, "height": 800}}
    with opened(browser, web.url, java_script_enabled=False, **options) as page:
        page.goto(f"/reports/{run['report']['id']}")
        expect(page.locator("mark.seen")).to_have_text("total 6")
        expect(page.locator("mark.gone")).to_have_text("total 5")
        page.get_by_role("button", name="Exhibit 2: what happens").click()
        expect(page.locator("#read-e2")).to_contain_text(
            "read as: what happens, corrected by someone on this machine"
        )
        expect(page.locator("mark.seen")).to_have_text(["total 6", "total 5"])
        assert page.url.endswith("#read-e2")


def test_a_mistake_is_where_one_looks(web: Web, browser: Browser) -> None:
    with opened(browser, web.url, expected="status of 422") as page:
        page.goto("/")
        page.get_by_label("Script or report").fill("print('a')\nx = = 2\n")
        page.get_by_role("button", name="Next").click()
        expect(page.get_by_role("alert")).to_contain_text("line 2")
        expect(page.get_by_label("Script or report")).to_have_value("print('a')\nx = = 2\n")
        expect(page.get_by_label("Script or report")).to_be_focused()


def test_the_keyboard_reaches_everything(web: Web, browser: Browser) -> None:
    with opened(browser, web.url) as page:
        page.goto("/nodes")
        page.keyboard.press("Tab")
        skip = page.get_by_role("link", name="Skip to the content")
        expect(skip).to_be_focused()
        assert skip.bounding_box()["x"] >= 0  # type: ignore[index]
        names = []
        for _ in range(7):
            page.keyboard.press("Tab")
            names.append(
                page.evaluate(
                    "document.activeElement.textContent.trim() || document.activeElement.getAttribute('aria-label')"  # noqa: E501
                )
            )
        assert names == ["samehere", "Reports", "Changes", "Nodes", "Compare", "Submit", "Search reports"]


@pytest.mark.parametrize(("scheme", "width"), [("light", 1180), ("dark", 1180), ("light", 360)])
def test_whatever_strangers_write_it_can_be_read(
    hostile: Hostile, browser: Browser, scheme: Any, width: int
) -> None:
    with opened(browser, hostile.url, color_scheme=scheme, viewport={"width": width, "height": 800}) as page:
        for name, path in hostile.paths.items():
            page.goto(path)
            page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
            assert page.evaluate("document.documentElement.scrollWidth") <= width, name
            assert page.evaluate(FAINT) == [], name
            assert page.locator("img, iframe, object, main script").count() == 0, name


def test_facts_stand_beside_their_names_and_the_footer_below_the_text(web: Web, browser: Browser) -> None:
    web.stage.node("n")
    run = web.stage.submit().document.id
    finish(web.stage)
    tops = """() => { const name = [...document.querySelectorAll(".facts dt")]
      .find((one) => one.textContent === "fixed before the run");
      const [a, b] = [name, name.nextElementSibling.querySelector("summary")];
      return Math.abs(a.getBoundingClientRect().bottom - b.getBoundingClientRect().bottom); }"""
    lefts = """() => { const [a, b] = ["h1", "footer"].map((name) => document.querySelector(name));
      const left = (one) => one.getBoundingClientRect().left + parseFloat(getComputedStyle(one).paddingLeft);
      return left(b) - left(a); }"""
    with opened(browser, web.url) as page:
        for width in (1180, 360):
            page.set_viewport_size({"width": width, "height": 800})
            page.goto(f"/runs/{run}")
            assert page.evaluate(tops) <= 8
            assert page.evaluate(lefts) == 0


@pytest.mark.parametrize("width", [320, 360, 390])
def test_the_menu_of_a_phone_is_one_line(web: Web, browser: Browser, width: int) -> None:
    page = browser.new_page(base_url=web.url, viewport={"width": width, "height": 800})
    page.goto("/")
    tops = page.evaluate(
        "[...document.querySelectorAll('header.top nav a')].map((one) => one.getBoundingClientRect().top)"
    )
    assert len(tops) == 5
    assert len(set(tops)) == 1
    page.close()


@pytest.mark.parametrize("width", [390, 1280])
def test_two_numbers_on_two_lines_are_what_a_sentence_says(web: Web, browser: Browser, width: int) -> None:
    web.stage.node("n")
    script = "```python\nprint(2.0)\nprint(0.0)\n```"
    text = f"# Rounds to even\n\n{script}\n\nI get 2.0 and 0.0. Expected 3.0 and 1.0.\n"
    printed = Observation(exit_status=0, stdout="2.0\n0.0\n", stdout_bytes=8)
    with opened(browser, web.url, viewport={"width": width, "height": 800}) as page:
        page.goto("/#submit")
        page.fill("#text", text)
        page.get_by_role("button", name="Next").click()
        expect(page.locator("main")).to_contain_text("this should happen instead")
        page.get_by_role("button", name="Quick answer").click()
        page.wait_for_url("**/runs/*")
        while attempts := web.stage.dispatch():
            for attempt in attempts:
                web.stage.start(attempt, node="n")
                web.stage.say(result(attempt, node="n", outcome=Outcome.COMPLETED, observation=printed))
        expect(page.locator(DECIDED)).to_contain_text("reproduced")
        card = page.locator("#part-verdict")
        expect(card).to_contain_text("so nothing shows yet what it depends on")
        expect(card).not_to_contain_text("trace=on")
        assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_a_refused_bisection_leads_back_by_keyboard(web: Web, browser: Browser) -> None:
    web.stage.node("n")
    report = web.stage.submit().document.report.id
    # The browser reports the status of the page that it shows.
    with opened(browser, web.url, expected="422") as page:
        page.goto(f"/reports/{report}")
        page.locator("[name=over]").fill("numpy")
        page.locator("[name=over]").press("Enter")
        page.get_by_role("link", name="Back to the report").focus()
        page.keyboard.press("Enter")
        page.wait_for_url(f"**/reports/{report}")
