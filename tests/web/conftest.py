"""A web full of hostile text, and a browser."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace

import pytest
from hostile_web import Hostile, fill
from playwright.sync_api import Browser, sync_playwright
from running_web import web_of
from stage import Stage

from app.web import parts


@pytest.fixture(autouse=True)
def broken_parts(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """The parts of pages that could not be drawn. A test that plants such faults clears the list."""
    names: list[str] = []
    log_exception = parts.log.exception

    def exception(event: str, **more: str) -> None:
        names.append(more["part"])
        log_exception(event, **more)

    monkeypatch.setattr(parts, "log", SimpleNamespace(exception=exception))
    yield names
    assert names == []


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
