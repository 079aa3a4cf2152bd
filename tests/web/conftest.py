"""A web full of hostile text, and a browser."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hostile_web import Hostile, fill
from playwright.sync_api import Browser, sync_playwright
from running_web import web_of
from stage import Stage

FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
]
FLAGS += ["--disable-component-update", "--disable-sync"]


@pytest.fixture
def hostile(stage: Stage) -> Iterator[Hostile]:
    """A web in which everything that strangers may write is hostile."""
    paths = fill(stage)
    with web_of(stage) as web:
        yield Hostile(url=web.url, client=web.client, paths=paths)


@pytest.fixture(scope="session")
def browser(chromium: str) -> Iterator[Browser]:
    """A Chromium for the tests of this session."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=FLAGS)
        yield browser
        browser.close()
