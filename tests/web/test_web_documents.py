"""The same address as a page, as JSON and as Markdown; what a page does not show is one link away, and no
page is heavy.
"""

from __future__ import annotations

import re

import pytest
from held_values import showing
from hostile_web import Hostile
from html_page import Page, faults
from running_web import Web
from stage import result

from app.judging.report.attention import Attention
from app.runs.submission.submit import Submission, submit
from app.targets.target import Target
from app.web.text.labels import ATTENTION
from worker.contract import Device, Outcome

HEAVIEST = 100_000


def played(web: Web, script: str, printed: str, *, cells: int = 1, repeats: int = 2) -> tuple[str, str]:
    web.stage.node("n", slots=512)
    targets = tuple(
        Target(device=Device.CPU, settings={"threads": str(number)}) for number in range(1, cells + 1)
    )
    with web.stage.session() as session:
        request = Submission(script=script, claim="prints 6", targets=targets, repeats=repeats, title="T")
        run = submit(session, request, settings=web.stage.settings).document
    number = 0
    while attempts := web.stage.dispatch():
        for attempt in attempts:
            number += 1
            seen = showing(printed or f"value {number}\n")
            web.stage.say(result(attempt, node="n", outcome=Outcome.COMPLETED, observation=seen))
    return run.id, str(run.report.id)


def test_one_address_has_three_forms(web: Web) -> None:
    run_id, report_id = played(web, "print(5)\n", "5\n")
    for path, key in ((f"/runs/{run_id}", "jobs"), (f"/reports/{report_id}", "runs")):
        assert web.client.get(path).headers["content-type"].startswith("text/html")
        for answer in (
            web.client.get(f"{path}.json"),
            web.client.get(path, headers={"Accept": "application/json"}),
        ):
            assert (answer.status_code, answer.headers["vary"]) == (200, "Accept")
            assert answer.json()[key]
        whole = web.client.get(f"/api/v1{path}").json()
        # The addresses of the API stand in its own answers only.
        assert web.client.get(f"{path}.json").json() == {
            key: value for key, value in whole.items() if key not in {"url", "links"}
        }
        markdown = web.client.get(f"{path}.md")
        assert markdown.text == web.client.get(path, headers={"Accept": "text/markdown"}).text
        assert (
            web.client.get(path, headers={"Accept": "text/html,application/json"})
            .headers["content-type"]
            .startswith("text/html")
        )
        page = Page(web.client.get(path).text)
        assert page.one("textarea", id="markdown").text.strip() == markdown.text.strip()
        assert f"{web.url}{path}" in markdown.text
    for path in (
        "/runs/nothing.json",
        "/reports/nothing.md",
        "/jobs/nothing",
        "/attempts/nothing/stdout",
        f"/reports/{report_id}/scripts/9",
    ):
        assert web.client.get(path).status_code == 404, path


def test_what_is_cut_is_one_link_away(web: Web) -> None:
    script = "".join(f"print('line {number}')\n" for number in range(2000))
    printed = "".join(f"line {number}\n" for number in range(20_000))
    run_id, report_id = played(web, script, printed)
    for path in (f"/runs/{run_id}", f"/reports/{report_id}"):
        answer = web.client.get(path)
        assert len(answer.content) < HEAVIEST
        assert list(faults(answer.text)) == []
        assert re.search(r"1 [89]\d\d more lines are not shown", answer.text)
        assert f'href="/reports/{report_id}/scripts/1"' in answer.text
    assert web.client.get(f"/reports/{report_id}/scripts/1").text == script
    whole = web.client.get(f"/reports/{report_id}/text")
    assert (whole.text, whole.headers["content-type"]) == (script, "text/plain; charset=utf-8")
    [attempt, *_] = [one.id for one in web.stage.run(run_id).jobs[0].attempts]
    page = web.client.get(f"/attempts/{attempt}").text
    assert "characters left out" in page
    assert f'href="/attempts/{attempt}/stdout"' in page
    assert web.client.get(f"/attempts/{attempt}/stdout").text == printed


@pytest.mark.parametrize("printed", ["5\n", ""], ids=["all the same", "all others"])
def test_many_cells_stay_light_and_in_reach(web: Web, printed: str) -> None:
    run_id, report_id = played(web, "print(5)\n", printed, cells=100, repeats=1)
    reached: set[str] = set()
    for first in (f"/reports/{report_id}", f"/runs/{run_id}"):
        reached.clear()
        # Targets that say the same stand in one row; each by itself is a link away.
        each = {
            link.attributes["href"]
            for link in Page(web.client.get(first).text).all("a")
            if "rows=each" in link.attributes["href"]
        }
        assert bool(each) == (printed != "" and "reports" in first)
        path: str | None = next(iter(each), first)
        while path is not None:
            answer = web.client.get(path)
            assert len(answer.content) < HEAVIEST
            assert list(faults(answer.text)) == []
            page = Page(answer.text)
            links = [link.attributes["href"] for link in page.all("a")]
            reached |= {link for link in links if link.startswith("/jobs/") and not link.endswith(".py")}
            path = next((link.attributes["href"] for link in page.all("a", rel="next")), None)
        assert len(reached) == 100, first


def test_hostile_pages_are_light(hostile: Hostile) -> None:
    assert {
        name: len(hostile.page(name))
        for name in hostile.paths
        if len(hostile.page(name).encode()) >= HEAVIEST
    } == {}


def test_the_first_page_groups_what_wants_attention(web: Web) -> None:
    assert set(ATTENTION) == set(Attention)
    assert len({look.name for look in ATTENTION.values()}) == len(Attention)
    _, report_id = played(web, "print(6)\n", "6\n")
    page = Page(web.client.get("/").text)
    group = page.one("section", id="still_broken")
    assert "last verified" in group.text
    assert page.all("a", href=f"/reports/{report_id}")
    whole = web.client.get("/attention/still_broken")
    assert list(faults(whole.text)) == []
    assert Page(whole.text).all("a", href=f"/reports/{report_id}")
    empty = web.client.get("/attention/fixed")
    assert (empty.status_code, "No report is in this group." in empty.text) == (200, True)
    assert web.client.get("/attention/nothing").status_code == 422
    assert web.client.get("/attention/fixed?cursor=nothing").status_code == 422


def test_a_group_is_read_page_by_page(web: Web) -> None:
    for number in range(8):
        played(web, f"print(6)  # {number}\n", "6\n", repeats=1)
    seen: list[str] = []
    from app.runs.lookup.attention import group

    cursor: str | None = None
    while True:
        with web.stage.session() as session:
            found = group(session, Attention.STILL_BROKEN, cursor=cursor, limit=3)
        seen += [one.id for one in found.reports]
        cursor = found.next_cursor
        if cursor is None:
            break
    assert (len(seen), len(set(seen)), found.size) == (8, 8, 8)
    assert "All 8" in web.client.get("/").text
