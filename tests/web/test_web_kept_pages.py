"""A report's page is rendered once until something on it changes; then it equals a freshly rendered page."""

from __future__ import annotations

import pytest
from running_web import Web
from stage import result
from test_web_maintain import report_of, submitted

from app.cache import SizedCache
from app.web import pages
from app.web.views import reports as report_views


def drawn_anew(web: Web, path: str, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Whether a look at a page draws it; either way it says what a page does that nobody keeps."""
    drawn = []
    with monkeypatch.context() as patch:
        values = report_views.report_values
        patch.setattr(
            report_views, "report_values", lambda *some, **named: drawn.append(some) or values(*some, **named)
        )
        text = web.client.get(path).text
    with monkeypatch.context() as patch:
        patch.setattr(pages, "_PAGES", SizedCache(0))
        assert web.client.get(path).text == text
    return bool(drawn)


def test_a_page_is_drawn_again_when_something_it_tells_has_changed(
    web: Web, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = submitted(web)
    path = report_of(web, run)
    other = report_of(web, submitted(web, script="raise RuntimeError('boom')  # another\n"))

    def send(address: str, **values: str) -> None:
        assert web.client.post(address, data={"reason": "as it is", **values}).status_code == 303

    assert drawn_anew(web, path, monkeypatch)
    assert not drawn_anew(web, path, monkeypatch)
    for what, address, values in (
        ("a word on a run", f"{run}/overrule", {"verdict": "not_reproduced"}),
        ("another reason for it", f"{run}/overrule", {"verdict": "not_reproduced", "reason": "on Tuesdays"}),
        ("taken back", f"{run}/take-back", {}),
        ("a word on the report", f"{path}/overrule", {"verdict": "needs_info"}),
        ("a label", f"{path}/label", {"add": "accuracy"}),
        ("closed", f"{path}/close", {"duplicate_of": other.removeprefix("/reports/")}),
        ("opened", f"{path}/reopen", {}),
        ("a node that is not believed", "/quarantines", {"kind": "node", "name": "n"}),
    ):
        send(address, **values)
        assert drawn_anew(web, path, monkeypatch), what
        if web.stage.run(run.removeprefix("/runs/")).state == "finished":
            assert not drawn_anew(web, path, monkeypatch), what


def test_a_page_of_something_that_goes_on_is_drawn_each_time(
    web: Web, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = report_of(web, submitted(web))
    assert drawn_anew(web, path, monkeypatch)
    assert web.client.post(f"{path}/runs", data={"preset": "quick"}).status_code == 303
    assert drawn_anew(web, path, monkeypatch)
    assert drawn_anew(web, path, monkeypatch)
    while attempts := web.stage.dispatch():
        for attempt in attempts:
            assert drawn_anew(web, path, monkeypatch)
            web.stage.say(result(attempt, node="n"))
    assert drawn_anew(web, path, monkeypatch)
    assert not drawn_anew(web, path, monkeypatch)


def test_each_part_and_form_of_a_page_is_one_of_its_own(web: Web, monkeypatch: pytest.MonkeyPatch) -> None:
    path = report_of(web, submitted(web))
    addresses = [path, f"{path}.md", f"{path}?rows=each", f"{path}?from=1", f"{path}?older=1"]
    assert [drawn_anew(web, address, monkeypatch) for address in addresses] == [True] * 5
    assert [drawn_anew(web, address, monkeypatch) for address in addresses] == [False] * 5
    # The address is in what is copied.
    there = {"Host": "localhost:1"}
    assert "http://localhost:1/reports/" in web.client.get(path, headers=there).text
    assert "http://localhost:1/reports/" not in web.client.get(path).text
