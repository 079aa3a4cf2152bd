"""A web full of hostile text, and a browser."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from types import SimpleNamespace

import pytest
from hostile_web import Hostile, fill
from playwright.sync_api import Browser
from running_browser import NoBrowserError, running_browser
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


@contextmanager
def browser_or_skip() -> Iterator[Browser]:
    """A Chromium. Where none runs, the test is skipped with the reason, and fails in CI."""
    with ExitStack() as stack:
        try:
            browser = stack.enter_context(running_browser(FLAGS))
        except NoBrowserError as error:
            if os.environ.get("CI"):
                pytest.fail(str(error))
            pytest.skip(str(error))
        yield browser


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """A Chromium for the tests of this session."""
    with browser_or_skip() as browser:
        yield browser
