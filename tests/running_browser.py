"""A Chromium for tests, or the reason why none runs on this machine."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright

ADVICE = "install your distribution's package, or run `playwright install chromium`"


class NoBrowserError(Exception):
    """No browser runs here. The text is the reason."""


@contextmanager
def running_browser(flags: Sequence[str], *, executable: str | None = None) -> Iterator[Browser]:
    """The named Chromium, else the system's, else Playwright's. Raises NoBrowserError."""
    try:
        driver = sync_playwright().start()
    except Exception as error:  # a driver that ends at once raises no type of its own
        raise NoBrowserError(f"Playwright's driver does not start: {_first_line(error)}") from error
    try:
        names = ("chromium", "chromium-browser", "google-chrome")
        found = executable or next(filter(None, map(shutil.which, names)), driver.chromium.executable_path)
        if not Path(found).exists():
            raise NoBrowserError(f"no chromium on this machine: {ADVICE}")
        try:
            browser = driver.chromium.launch(executable_path=found, args=list(flags))
        except Exception as error:
            raise NoBrowserError(f"{found} does not start: {_first_line(error)}") from error
        yield browser
        browser.close()
    finally:
        driver.stop()


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]
