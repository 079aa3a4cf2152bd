"""From the first page of the demo to what regressed with the newest toolchain, as someone who has never
seen it.
"""

from __future__ import annotations

import gzip
import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from html_page import Page, faults
from numpy_versions import finish, say_hello, send
from playwright.sync_api import Browser, expect
from running_web import Web, web_of
from stage import Stage

from app.runs.exchange.replay import replay
from app.serve.demo import HISTORY

REGRESSED = {"trapz", "flat[1.0]", "in1d", "newshape", "float() of an array", "sum over a generator"}
PAGE_BYTES = 100_000


@pytest.fixture
def demo(stage: Stage, tmp_path: Path) -> Iterator[Web]:
    """A demo with what regressed with the newest version of numpy and one that was fixed, on it and on the
    one before.
    """
    for path in (HISTORY / "lab-cpu").iterdir():
        bundle = json.loads(gzip.decompress(path.read_bytes()))
        told = any(
            words in bundle["report"]["text"].partition("\n")[0] for words in {*REGRESSED, "unique with axis"}
        )
        if told and {job["target"]["toolchain"] for job in bundle["jobs"]} & {"numpy-2.3.5", "numpy-2.4.0"}:
            (tmp_path / "lab-cpu").mkdir(exist_ok=True)
            shutil.copy(path, tmp_path / "lab-cpu")
    with stage.session() as session:
        replay(session, tmp_path)
    with web_of(stage, demo=True) as web:
        yield web


@pytest.mark.browser
@pytest.mark.parametrize(("width", "scripts"), [(1200, True), (390, False)])
def test_what_regressed_with_the_newest_toolchain_is_in_sight_at_once(
    browser: Browser, demo: Web, width: int, *, scripts: bool
) -> None:
    context = browser.new_context(
        base_url=demo.url, viewport={"width": width, "height": 900}, java_script_enabled=scripts
    )
    page = context.new_page()
    page.goto("/")
    heading = page.get_by_role("heading", name=re.compile("1 unexplained regression with numpy-2.4.0"))
    expect(heading).to_be_in_viewport()
    links = page.locator("#triage tbody th a")
    assert links.count() == len(REGRESSED)
    assert "flat[1.0]" in links.first.inner_text()
    for words in REGRESSED:
        assert any(words in text for text in links.all_inner_texts()), words
    first = page.locator("#triage tbody tr").first
    expect(first).to_contain_text("numpy ○ 2.3.5 (0 of 5) → ● 2.4.0 (3 of 3)")
    expect(first).to_contain_text("2.3.5 prints refused")
    expect(first).to_contain_text("2.4.0 prints took 1")
    # The first click: the evidence. The second: one of the reports.
    page.get_by_role("link", name="The evidence").click()
    assert page.locator("tbody tr").count() == 1
    page.get_by_role("link", name="5 announced").click()
    rows = page.locator("tbody tr")
    assert rows.count() == len(REGRESSED) - 1
    expect(page.get_by_text("It happens with numpy 2.4.0, and did not with 2.3.5.")).to_have_count(
        len(REGRESSED) - 1
    )
    rows.filter(has_text="trapz").get_by_role("link").first.click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("trapz")
    card = page.locator("#verdict")
    expect(card.get_by_role("heading")).to_have_text("Regressed in numpy 2.4.0, fine in 2.3.5.")
    for words in (
        "Seen on AMD EPYC with numpy 2.4.0. Not with numpy 2.3.5.",
        "3 of 3 attempts with numpy 2.4.0, 0 of 5 with 2.3.5. That is hardly chance",
        "Announced: numpy 2.3.5 warned that this will change, and numpy 2.4.0 no longer takes it.",
    ):
        expect(card.locator("dd", has_text=words)).to_be_visible()
    card.get_by_role("link", name="Compare both sides").click()
    expect(page).to_have_url(re.compile(r"/compare\?baseline="))
    context.close()


@pytest.mark.browser
@pytest.mark.parametrize(("scheme", "width"), [("light", 1180), ("dark", 1180), ("light", 360)])
def test_a_long_warning_stays_in_its_card(browser: Browser, demo: Web, scheme: Any, width: int) -> None:
    reports = demo.client.get("/api/v1/reports?q=trapz").json()["items"]
    context = browser.new_context(
        base_url=demo.url, viewport={"width": width, "height": 900}, color_scheme=scheme
    )
    page = context.new_page()
    for path in (f"/reports/{reports[0]['id']}", f"/runs/{reports[0]['latest']['id']}"):
        page.goto(path)
        card = page.locator(".verdict").first
        # A line that can't be broken, as a warning may be, and a name of that kind in the sentences.
        card.evaluate(
            """(card) => {
                const long = document.createElement("pre");
                long.tabIndex = 0;
                long.textContent = "DeprecationWarning: " + "x".repeat(4000);
                card.firstElementChild.append(long);
                card.querySelector(".slots dd").textContent = "W".repeat(600);
                card.querySelector(".what").textContent = "W".repeat(300);
            }"""
        )
        assert page.evaluate("document.documentElement.scrollWidth") <= width, path
        inside = card.evaluate(
            """(card) => {
                const {left, right} = card.getBoundingClientRect();
                return [...card.querySelectorAll("dl.facts, pre, .what, .slots")].map((one) => {
                    const box = one.getBoundingClientRect();
                    return box.width >= 100 && box.left >= left && box.right <= right;
                });
            }"""
        )
        assert len(inside) >= 4, path
        assert all(inside), (path, inside)
    context.close()


def test_every_page_of_a_demo_says_so_and_is_light(demo: Web) -> None:
    newest = demo.client.get("/api/v1/changes?limit=1").json()["items"][0]
    pages = [
        "/",
        "/changes",
        "/nodes",
        "/reports",
        "/compare",
        "/nothing-here",
        f"/reports/{newest['report']}",
        f"/runs/{newest['run']}",
    ]
    for path in pages:
        answer = demo.client.get(path)
        assert list(faults(answer.text)) == [], path
        assert Page(answer.text).text.count("The history was recorded on other machines.") == 1, path
        assert len(answer.content) < PAGE_BYTES, path

    changes = demo.client.get("/api/v1/changes").json()["items"]
    trapz = next(change for change in changes if "trapz" in change["title"])
    assert trapz["removal"]["cause"] == "announced"
    for path in ("/changes?group=announced", f"/reports/{trapz['report']}", f"/reports/{trapz['report']}.md"):
        text = (
            Page(demo.client.get(path).text).text if not path.endswith(".md") else demo.client.get(path).text
        )
        assert "DeprecationWarning: `trapz` is deprecated. Use `trapezoid` instead" in text, path
        assert "numpy 2.3.5 warned that this will change" in text, path


def test_elsewhere_no_page_says_so(web: Web) -> None:
    assert "The history was recorded" not in web.client.get("/").text


def test_the_first_page_says_what_came_with_the_newest_toolchain_also_where_nothing_regressed(
    web: Web,
) -> None:
    assert 'id="triage"' not in web.client.get("/").text
    say_hello(web.stage, "2.0.0", "2.1.0")
    send(web.stage, "2.0.0", "2.1.0")
    finish(web.stage, {"2.0.0": True, "2.1.0": False})
    page = Page(web.client.get("/").text)
    assert "Nothing regressed with the newest toolchain that was tried, numpy-2.1.0" in " ".join(
        page.text.split()
    )
    assert page.one("a", href="/changes?kind=fixed&toolchain=newest").inside[-1] == "p"
