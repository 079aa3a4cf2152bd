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
    heading = page.get_by_role("heading", name=re.compile("6 reports regressed with numpy-2.4.0"))
    expect(heading).to_be_in_viewport()
    links = page.locator("#newest .waiting a")
    assert links.count() == len(REGRESSED)
    for words in REGRESSED:
        assert any(words in text for text in links.all_inner_texts()), words
    # The first click: the same with its evidence. The second: one of the reports.
    page.get_by_role("link", name="All 6, with the evidence").click()
    rows = page.locator("tbody tr")
    assert rows.count() == len(REGRESSED)
    expect(page.get_by_text("It happens with numpy 2.4.0, and did not with 2.3.5.")).to_have_count(
        len(REGRESSED)
    )
    rows.filter(has_text="trapz").get_by_role("link").first.click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("trapz")
    expect(
        page.locator(
            "p", has_text="It did not happen in numpy 2.3.5, and happens in numpy 2.4 (on 1 target)."
        )
    ).to_be_visible()
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
    for path in ("/changes", f"/reports/{trapz['report']}", f"/reports/{trapz['report']}.md"):
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
    assert 'id="newest"' not in web.client.get("/").text
    say_hello(web.stage, "2.0.0", "2.1.0")
    send(web.stage, "2.0.0", "2.1.0")
    finish(web.stage, {"2.0.0": True, "2.1.0": False})
    page = Page(web.client.get("/").text)
    assert "Nothing regressed with the newest toolchain, numpy-2.1.0" in " ".join(page.text.split())
    assert page.one("a", href="/changes?kind=fixed&toolchain=newest").inside[-1] == "p"
