"""Bad values in the database, and faults in views: pages and Markdown copies say what they can't show."""

from __future__ import annotations

import json
import re

import pytest
from held_values import showing, tensor
from html_page import Page
from running_web import Web
from sqlalchemy import text
from stage import Stage, result
from structlog.testing import capture_logs

from app.web.views import markdown_copy
from app.web.views import reports as report_views
from worker.contract import Outcome

SHAPE = "{observation,values,0,shape}"


def addresses(stage: Stage) -> dict[str, str]:
    """A finished run with values; the addresses of everything that shows it."""
    stage.node("n")
    document = stage.submit(repeats=2).document
    while attempts := stage.dispatch():
        for attempt in attempts:
            stage.say(
                result(
                    attempt, node="n", outcome=Outcome.COMPLETED, observation=showing("1\n", tensor("x", 1.0))
                )
            )
    ids = [attempt.id for attempt in stage.attempts(document.id)]
    return {
        "report": f"/reports/{document.report.id}",
        "run": f"/runs/{document.id}",
        "cell": f"/jobs/{stage.jobs(document.id)[0].id}",
        "attempt": f"/attempts/{ids[0]}",
        "compare": f"/compare?baseline={ids[0]}&candidate={ids[1]}",
    }


def fail(*_some: object, **_named: object) -> None:
    raise ZeroDivisionError("planted")


def test_no_stored_value_takes_a_page_down(web: Web) -> None:
    paths = addresses(web.stage)
    digits = json.dumps("9" * 5000)
    with web.stage.session() as session:
        for statement in (
            "UPDATE environment SET facts = jsonb_set(facts, '{torch.version}', CAST(:digits AS jsonb))",
            "UPDATE attempt SET result = jsonb_set(result, CAST(:place AS text[]), CAST(:shape AS jsonb))",
            "UPDATE node SET hello = jsonb_set(hello, '{toolchains,0,torch}', CAST(:digits AS jsonb))",
            "UPDATE report SET source_url = 'http://[', labels = ARRAY[:long]",
            "DELETE FROM run_document",
        ):
            values = {"digits": digits, "shape": json.dumps([2] * 50_000), "long": "9" * 5000, "place": SHAPE}
            used = {name: value for name, value in values.items() if f":{name}" in statement}
            assert session.execute(text(statement), used).rowcount > 0, statement  # type: ignore[attr-defined]
    for path in (
        *paths.values(),
        f"{paths['report']}.md",
        f"{paths['run']}.md",
        "/",
        "/reports",
        "/nodes",
        "/changes",
    ):
        assert web.client.get(path).status_code == 200, path


def test_a_comparison_that_cannot_be_made_leaves_its_attempts(
    web: Web, monkeypatch: pytest.MonkeyPatch, broken_parts: list[str]
) -> None:
    paths = addresses(web.stage)
    monkeypatch.setattr("app.web.routes.comparisons.compare_pair", fail)
    answer = web.client.get(paths["compare"])
    assert answer.status_code == 200
    page = Page(answer.text).text
    assert "This part can't be shown: the result. The fault is ours" in page
    assert "The two attempts" in answer.text
    assert "Full output" in page
    assert broken_parts == ["the title", "the result", "the differences"]
    broken_parts.clear()


def failed_parts_total(web: Web) -> float:
    (line,) = re.findall(
        r"^samehere_page_parts_failed_total (.*)$", web.client.get("/metrics").text, re.MULTILINE
    )
    return float(line)


def test_a_fault_is_logged_and_not_remembered(
    web: Web, monkeypatch: pytest.MonkeyPatch, broken_parts: list[str]
) -> None:
    path = addresses(web.stage)["report"]
    assert failed_parts_total(web) == 0
    with monkeypatch.context() as patch, capture_logs() as lines:
        patch.setattr(report_views, "build_grid", fail)
        answer, copy = web.client.get(path), web.client.get(f"{path}.md")
    assert (answer.status_code, copy.status_code) == (200, 200)
    assert "This part can't be shown: where and since when." in Page(answer.text).text
    assert "This part can't be shown: the targets. The fault is ours" in copy.text
    assert "To repeat it" in copy.text
    line = next(line for line in lines if line.get("part") == "where and since when")
    assert (line["event"], line["report"]) == ("page_part_failed", path.removeprefix("/reports/"))
    assert failed_parts_total(web) == len(broken_parts) > 1
    broken_parts.clear()
    # The fault has passed, so the page is whole.
    for again in (path, f"{path}.md"):
        assert "can't be shown" not in web.client.get(again).text


def test_each_part_of_a_markdown_copy_stands_by_itself(
    web: Web, monkeypatch: pytest.MonkeyPatch, broken_parts: list[str]
) -> None:
    path = f"{addresses(web.stage)['run']}.md"
    whole = web.client.get(path).text
    monkeypatch.setattr(markdown_copy, "_cells", fail)
    broken = web.client.get(path).text
    assert broken_parts == ["the targets, in Markdown"]
    broken_parts.clear()
    sentence = "This part can't be shown: the targets. The fault is ours."
    lost = [part for part in whole.split("\n\n") if part not in broken]
    assert [part[:8] for part in lost] == ["| target"]
    assert broken == whole.replace(lost[0], sentence)
