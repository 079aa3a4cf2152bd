"""What a reader meets: code from right to left, hidden tabs, long titles, a phone, a keyboard, much zoom."""

from __future__ import annotations

from typing import Any

import pytest
from held_values import showing, tensor
from html_page import Page
from playwright.sync_api import Browser, expect
from running_web import Web
from stage import result
from test_web_browser import opened

from app.runs.submission.submit import Submission, submit
from app.targets.target import Target
from worker.contract import Device, Outcome

ARABIC = "\u0645\u0631\u062d\u0628\u0627"
CODE = f"# {ARABIC}\nprint('{ARABIC}', (1 + 2) * 3)\n# end\n"
TARGETS = (Target(device=Device.CPU), Target(device=Device.CPU, settings={"threads": "1"}))
LONG = "W" * 280
# Where each character of the second line of a text stands, from the left.
PLACES = """(pre) => {
  const found = [];
  const texts = document.createTreeWalker(pre, NodeFilter.SHOW_TEXT);
  let line = 0;
  for (let text = texts.nextNode(); text; text = texts.nextNode()) {
    [...text.data].forEach((sign, at) => {
      if (sign === "\\n") line += 1;
      if (line !== 1 || !"print(',+*)".includes(sign)) return;
      const range = document.createRange();
      range.setStart(text, at); range.setEnd(text, at + 1);
      found.push([sign, range.getBoundingClientRect().left]);
    });
  }
  return found;
}"""
HIDE = """(hidden) => {
  Object.defineProperty(document, "hidden", { configurable: true, get: () => hidden });
  document.dispatchEvent(new Event("visibilitychange"));
}"""
# The ratio of the contrast of a placeholder.
PLACEHOLDER = """(field) => {
  const light = (colour) => {
    const [r, g, b] = colour.match(/[\\d.]+/g).map(Number)
      .map((v) => (v /= 255) <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const [a, b] = [getComputedStyle(field, "::placeholder").color, getComputedStyle(field).backgroundColor]
    .map(light).sort((x, y) => y - x);
  return (a + 0.05) / (b + 0.05);
}"""


def submitted(web: Web, script: str = CODE, **more: Any) -> tuple[str, str]:
    """A run of two targets with different outputs; the ids of the run and of its report."""
    web.stage.node("n")
    with web.stage.session() as session:
        wish = Submission(script=script, targets=TARGETS, repeats=1, **more)
        document = submit(session, wish, settings=web.stage.settings).document
    return document.id, document.report.id or ""


def play(web: Web) -> list[str]:
    """Let all attempts end; their ids."""
    attempts = web.stage.dispatch()
    for number, attempt in enumerate(attempts):
        seen = showing(f"one\nloss 0.{number}5 {'x' * 90}\n", tensor("x", 1.0, float(number)))
        web.stage.say(result(attempt, node="n", outcome=Outcome.COMPLETED, observation=seen))
    return [attempt.attempt_id for attempt in attempts]


@pytest.mark.browser
def test_code_is_laid_out_from_left_to_right(web: Web, browser: Browser) -> None:
    _, report_id = submitted(web)
    with opened(browser, web.url) as page:
        page.goto(f"/reports/{report_id}")
        places = page.get_by_role("region", name="Script").evaluate(PLACES)
        lefts = [left for _, left in places]
        assert "".join(sign for sign, _ in places) == "print('',(+)*)"
        assert lefts == sorted(lefts)


@pytest.mark.browser
def test_a_hidden_tab_holds_no_stream(web: Web, browser: Browser) -> None:
    run_id, _ = submitted(web)
    with opened(browser, web.url) as page:
        streams = []
        page.on("request", lambda asked: streams.append(asked) if asked.url.endswith("/events") else None)
        with page.expect_request("**/events"):
            page.goto(f"/runs/{run_id}")
        with page.expect_event("requestfailed", lambda asked: asked.url.endswith("/events")):
            page.evaluate(HIDE, True)
        play(web)
        page.evaluate(HIDE, False)
        expect(page.locator("#part-verdict[data-state=finished]")).to_be_visible()
        page.evaluate(HIDE, True)
        page.evaluate(HIDE, False)
        assert len(streams) <= 2


@pytest.mark.browser
def test_one_long_title_spoils_no_list(web: Web, browser: Browser) -> None:
    submitted(web, title=LONG)
    submitted(web, script="print(2)\n", title=f"`{LONG[:100]}` is gone, says `<b>`")
    with opened(browser, web.url, viewport={"width": 1180, "height": 800}) as page:
        for path in ("/reports", "/"):
            page.goto(path)
            table = page.locator(".scroll:has(table.reports)")
            assert table.evaluate("(one) => one.scrollWidth - one.clientWidth") <= 0


@pytest.mark.browser
@pytest.mark.parametrize(("scheme", "size"), [("dark", (360, 844)), ("light", (320, 256))])
def test_on_a_phone_and_with_much_zoom_the_content_is_in_sight(
    web: Web, browser: Browser, scheme: Any, size: tuple[int, int]
) -> None:
    _, report_id = submitted(web)
    ids = play(web)
    width, height = size
    with opened(browser, web.url, color_scheme=scheme, viewport={"width": width, "height": height}) as page:
        page.goto(f"/reports/{report_id}")
        box = page.get_by_role("heading", level=1).bounding_box()
        assert box is not None
        assert box["y"] < min(height, 150)
        page.goto("/")
        assert page.locator("#text").evaluate(PLACEHOLDER) >= 4.5
        page.goto(f"/compare?baseline={ids[0]}&candidate={ids[1]}")
        for region in page.locator(".scroll").all():
            assert region.evaluate("(one) => one.scrollWidth - one.clientWidth") <= 1
        # One below the other, each as wide as the screen allows.
        first, second = (page.locator(".diff tr:not(.same) code").nth(at).bounding_box() for at in (0, 1))
        assert first is not None
        assert second is not None
        assert second["y"] > first["y"]
        assert first["width"] > width / 2


@pytest.mark.browser
def test_two_keys_lead_to_the_text_box(web: Web, browser: Browser) -> None:
    with opened(browser, web.url) as page:
        page.goto("/")
        page.keyboard.press("Tab")
        page.keyboard.press("Tab")
        expect(page.get_by_role("link", name="Skip to the text box")).to_be_focused()
        page.keyboard.press("Enter")
        expect(page.locator("#text")).to_be_focused()


def test_a_title_shows_code_as_code_and_nothing_else_as_markup(web: Web) -> None:
    _, report_id = submitted(web, title="`np.trapz` is gone <b>now</b> `` a`b `` `")
    source = web.client.get(f"/reports/{report_id}").text
    heading = source.partition("<h1")[2].partition("</h1>")[0].partition(">")[2]
    assert heading == "<code>np.trapz</code> is gone &lt;b&gt;now&lt;/b&gt; <code>a`b</code> `"


def test_links_of_a_matrix_with_equal_words_have_names_of_their_own(web: Web) -> None:
    run_id, report_id = submitted(web, claim="prints 2")
    play(web)
    for path in (f"/reports/{report_id}", f"/runs/{run_id}"):
        names: dict[str, set[str]] = {}
        for link in Page(web.client.get(path).text).all("a"):
            if link.attributes["href"].startswith(("/jobs/", "/compare?")):
                name = link.attributes.get("aria-label") or " ".join(link.text.split())
                names.setdefault(name, set()).add(link.attributes["href"])
        assert {name: targets for name, targets in names.items() if len(targets) > 1} == {}
