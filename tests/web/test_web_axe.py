"""Axe, the checker of what people with screen readers need, finds nothing on any page, at any level."""

from __future__ import annotations

import os
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from hostile_web import Hostile
from playwright.sync_api import Browser, expect

pytestmark = pytest.mark.browser
# Pages without text from elsewhere.
OUR_OWN = {"sign in": "/sign-in", "regressions": "/changes", "not there": "/reports/nothing"}
# CSP forbids scripts in our pages, so it is run from outside them: by the debugger's own protocol.
RUN = """async () => {
  const found = (await axe.run(document, {resultTypes: ["violations"]})).violations;
  return found.map((one) => [one.impact, one.id, one.nodes.map((node) => node.html.slice(0, 200))]);
}"""


@pytest.fixture(scope="session")
def axe() -> str:
    """The text of axe-core, from a development dependency."""
    found = find_spec("axe_playwright_python")
    if found is None or found.origin is None:
        reason = "axe-playwright-python is not installed: `make test` does that"
        if os.environ.get("CI"):
            pytest.fail(reason)
        pytest.skip(reason)
    return (Path(found.origin).parent / "axe.min.js").read_text()


@pytest.mark.parametrize(("scheme", "width"), [("light", 1180), ("dark", 360)])
def test_axe_finds_nothing(hostile: Hostile, browser: Browser, axe: str, scheme: Any, width: int) -> None:
    context = browser.new_context(
        base_url=hostile.url, color_scheme=scheme, viewport={"width": width, "height": 800}
    )
    page = context.new_page()
    found: set[str] = set()
    for name, path in (hostile.paths | OUR_OWN).items():
        page.goto(path)
        page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
        page.evaluate(axe)
        found |= {
            f"{name}: {impact}: {rule}: {node}"
            for impact, rule, nodes in page.evaluate(RUN)
            for node in nodes
        }
    page.goto("/reports")
    page.keyboard.press("j")
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Keys on this page")).to_be_visible()
    page.evaluate(axe)
    found |= {
        f"keys: {impact}: {rule}: {node}" for impact, rule, nodes in page.evaluate(RUN) for node in nodes
    }
    page.goto("/")
    page.locator("#text").fill("print(44)")
    page.get_by_role("button", name="Next").click()
    page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    expect(page.get_by_role("region", name="The cells that would run")).to_have_attribute("tabindex", "0")
    page.evaluate(axe)
    found |= {
        f"plan: {impact}: {rule}: {node}" for impact, rule, nodes in page.evaluate(RUN) for node in nodes
    }
    context.close()
    assert sorted(found) == []
