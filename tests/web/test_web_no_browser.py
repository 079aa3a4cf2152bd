"""On a machine on which no browser runs, the tests that need one are skipped with the reason."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
import running_browser
from web.conftest import browser_or_skip


def outcome() -> str:
    """The reason for which the tests are skipped. Playwright's driver needs a thread of its own."""

    def start() -> str:
        with pytest.raises(pytest.skip.Exception) as skipped, browser_or_skip():
            pass
        return str(skipped.value)

    with ThreadPoolExecutor(1) as pool:
        return pool.submit(start).result(60)


@pytest.fixture(autouse=True)
def _not_in_ci(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CI", raising=False)


@pytest.mark.parametrize("driver", ["/bin/false", "/no/such/node"])
def test_a_driver_that_does_not_start_is_the_reason(monkeypatch: pytest.MonkeyPatch, driver: str) -> None:
    monkeypatch.setenv("PLAYWRIGHT_NODEJS_PATH", driver)
    assert outcome().startswith("Playwright's driver does not start: ")


@pytest.mark.parametrize(
    ("path", "reason"),
    [("/bin/false", "/bin/false does not start: "), ("/no/such/chromium", "no chromium on this machine: ")],
)
def test_a_browser_that_does_not_start_is_the_reason(
    monkeypatch: pytest.MonkeyPatch, path: str, reason: str
) -> None:
    monkeypatch.setattr(running_browser.shutil, "which", lambda _name: path)
    assert outcome().startswith(reason)
