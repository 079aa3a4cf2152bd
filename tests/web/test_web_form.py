"""The form: it takes what was pasted, says what is wrong beside the field, and loses nothing that was
typed.
"""

from __future__ import annotations

import re

import pytest
from html_page import Page, faults
from numpy_versions import say_hello
from running_web import Web, web_of
from stage import SCRIPT, Stage

from app.runs.estimates.wording import about_how_long
from app.runs.run_object.parts.estimates import Basis, RangePart
from app.storage.models import ReportRow, RunRow
from app.targets.planning.presets import PRESETS

FORM = "application/x-www-form-urlencoded"
# A first empty line, a tag's end, an ampersand, characters beyond ASCII: what a textarea may swallow.
TYPED = "\n\nprint('</textarea>&amp; é 数')\n  \n"


def submitted(web: Web, **fields: str) -> str:
    answer = web.client.post("/", data=fields)
    assert answer.status_code == 303, answer.text
    return answer.headers["location"].removeprefix("/runs/")


def test_the_form_needs_no_script_and_says_what_becomes_public(web: Web) -> None:
    source = web.client.get("/").text
    assert list(faults(source)) == []
    page = Page(source)
    form = page.one("form", action="/plan")
    assert form.attributes["method"] == "post"
    [field] = [
        one
        for one in page.elements
        if "name" in one.attributes and "form" in one.inside and one.tag == "textarea"
    ]
    assert field.attributes["name"] == "text"
    assert "becomes public here" in page.one("main").text
    page = Page(web.client.post("/plan", data={"text": "print(1)"}).text)
    presets = {one.attributes["value"] for one in page.all("input", name="preset")}
    assert presets == set(PRESETS)
    assert [
        one.attributes["value"] for one in page.all("input", name="preset") if "checked" in one.attributes
    ] == ["quick"]


@pytest.mark.parametrize(
    ("text", "form", "kept"),
    [
        ("print(1)", "auto", "script"),
        ("# Title\n\n```python\nprint(1)\n```\n", "auto", "report"),
        ("print(1)", "report", "report"),
        ("# only a comment\nprint(1)", "script", "script"),
    ],
)
def test_what_was_pasted_is_read_as_asked(web: Web, text: str, form: str, kept: str) -> None:
    web.stage.node("n")
    run_id = submitted(web, text=text, form=form)
    report_id = web.stage.run(run_id).report.id
    with web.stage.session() as session:
        row = session.get(ReportRow, report_id)
        assert row is not None
        assert (row.form, row.text) == (kept, text)


def test_lines_end_as_python_ends_them(web: Web) -> None:
    web.stage.node("n")
    run = web.stage.run(
        submitted(
            web,
            text="x = 1\r\nprint(x)\r\n",
            claim="prints 2\r\nexpected 1",
            title="T",
            source_url="https://x/1",
        )
    )
    assert run.report.scripts[0].script == "x = 1\nprint(x)\n"
    assert (run.report.title, run.report.source_url, run.preset) == ("T", "https://x/1", "quick")


@pytest.mark.parametrize(
    ("changed", "field", "words"),
    [
        ({"text": "   \n"}, "text", "empty"),
        ({"text": "x = 1\nprint(x +* 2)\n", "form": "script"}, "text", "line 2"),
        ({"text": "#" * (300 * 1024), "form": "script"}, "text", "larger than"),
        ({"preset": "nix"}, "preset", "determinism"),
        ({"source_url": "javascript:alert(1)"}, "source_url", "http"),
        ({"title": "t" * 301}, "title", "300"),
    ],
)
def test_an_error_stands_beside_its_field_and_nothing_is_lost(
    web: Web, changed: dict[str, str], field: str, words: str
) -> None:
    typed = {
        "text": TYPED,
        "form": "script",
        "claim": TYPED,
        "title": "A <title>",
        "source_url": "https://x/?a=1&b=2",
        "preset": "cpu-isa",
    }
    typed |= changed
    answer = web.client.post("/", data=typed)
    assert answer.status_code == (413 if "larger" in words else 422)
    assert list(faults(answer.text)) == []
    page = Page(answer.text)
    [alert] = page.all("p", role="alert")
    assert words in alert.text
    assert alert.attributes["id"].startswith("error-script" if field == "text" else f"error-{field}")
    # The first line break after the tag is the parser's, not the text's.
    assert page.one("textarea", name="text").text.removeprefix("\n") == typed["text"]
    assert page.one("textarea", name="claim").text.removeprefix("\n") == typed["claim"]
    assert [page.one("input", name=name).attributes["value"] for name in ("title", "source_url")] == [
        typed["title"],
        typed["source_url"],
    ]
    chosen = {
        one.attributes["name"]: one.attributes["value"]
        for one in page.all("input", type="radio")
        if "checked" in one.attributes
    }
    assert chosen == {"form": "script"} | ({} if field == "preset" else {"preset": "cpu-isa"})
    assert web.stage.count(RunRow) == 0


def test_the_field_with_the_error_is_marked_for_who_cannot_see(web: Web) -> None:
    for changed, tag, name in (
        ({"text": " "}, "textarea", "text"),
        ({"source_url": "x:y"}, "input", "source_url"),
    ):
        page = Page(web.client.post("/", data={"text": "print(1)", **changed}).text)
        field = page.one(tag, name=name)
        [alert] = page.all("p", role="alert")
        assert field.attributes.get("aria-invalid") == "true", name
        assert alert.attributes["id"] in field.attributes.get("aria-describedby", "").split(), name


def test_a_report_without_code_is_asked_for_it(web: Web) -> None:
    run_id = submitted(web, text="# It crashes\n\nIt crashes when I train.\n", form="report")
    source = web.client.get(f"/runs/{run_id}").text
    assert list(faults(source)) == []
    assert "needs info" in Page(source).text
    assert "Send the script" in Page(source).text


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 303),
        ({"Origin": "SELF"}, 303),
        ({"Sec-Fetch-Site": "same-origin"}, 303),
        ({"Origin": "https://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Origin": "http://127.0.0.1:1"}, 403),
        ({"Sec-Fetch-Site": "cross-site"}, 403),
        ({"Sec-Fetch-Site": "same-site"}, 403),
        ({"Host": "evil.example"}, 403),
    ],
)
def test_a_form_comes_from_our_own_page(web: Web, headers: dict[str, str], status: int) -> None:
    sent = {name: web.url if value == "SELF" else value for name, value in headers.items()}
    answer = web.client.post("/", data={"text": SCRIPT}, headers=sent)
    assert answer.status_code == status
    assert web.stage.count(RunRow) == (1 if status == 303 else 0)
    if status != 303:
        assert list(faults(answer.text)) == []


def test_who_may_only_read_is_told_so(stage: Stage) -> None:
    with web_of(stage, anonymous_scopes=("read",)) as web:
        assert web.client.get("/").status_code == 200
        answer = web.client.post("/", data={"text": SCRIPT})
        assert (answer.status_code, list(faults(answer.text))) == (401, [])
        assert stage.count(RunRow) == 0


def test_the_plan_says_how_long_in_one_number_and_which_versions(web: Web) -> None:
    say_hello(web.stage, "1.26.4", "2.1.0")
    script = "import numpy\nprint(1)\n"

    def answers(text: str) -> str:
        return " ".join(
            Page(web.client.post("/plan", data={"text": text}).text).one("section", id="answers").text.split()
        )

    plain = answers(script)
    assert "Does it happen with the newest version? It runs in 1 place, about" in plain
    # The limit is so far away that it tells nothing.
    assert "or longer if the script is slow." in plain
    assert not re.search(r"\(\d+ s to \d+", plain)
    older = answers(f"I use numpy 1.26.4.\n\n```python\n{script}```\n\nIt prints 1, expected 2.\n")
    assert "Does it happen with the newest version, and with the one nearest to yours? It runs in 2" in older


@pytest.mark.parametrize(
    ("least", "about", "most", "basis", "words"),
    [
        (1, 3, 2940, "measured", "about 3 s"),
        (1, 3, 2940, "recent", "about 3 s, or longer if the script is slow"),
        (20, 60, 200, "guess", "about 60 s, at most 3 min"),
        (3, 3, 3, "measured", "about 3 s"),
        (3, 3, None, "guess", "about 3 s, or longer if the script is slow"),
    ],
)
def test_a_time_in_one_number(
    least: float, about: float, most: float | None, basis: Basis, words: str
) -> None:
    assert about_how_long(RangePart(at_least=least, about=about, at_most=most), basis) == words
