"""`samehere import-issues`: a tracker is submitted once, and only news are printed, whatever fields the JSON
has.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Sequence
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from numpy_versions import SCRIPT, again, finish, say_hello
from running_web import Web, web_of
from sqlalchemy import select
from stage import Stage

from app.command.files.issue_list import issues_in
from app.command.import_issues import import_issues
from app.errors import InputError, TooLargeError
from app.runs.maintenance.tokens import Scope, create
from app.storage.models import ReportRow, RunRow

BROKEN = {"2.0.0": False, "2.1.0": True}
BODY = f"It fails.\n\n```python\n{SCRIPT}```\n\n```\nRuntimeError: boom\n```\n"


def issue(number: int, body: str = BODY, **more: Any) -> dict[str, Any]:
    return {
        "number": number,
        "title": f"It fails {number}",
        "body": body,
        "url": f"https://example.org/issues/{number}",
        **more,
    }


@pytest.fixture
def told(tmp_path: Path, capsys: pytest.CaptureFixture[str], web: Web) -> Any:
    """Import issues into the web; what was printed."""

    def run(
        issues: Sequence[dict[str, Any]], *, url: str = web.url, as_json: bool = False, **more: Any
    ) -> str:
        (tmp_path / "issues.json").write_text(json.dumps(issues))
        capsys.readouterr()
        options = {
            "server": url,
            "token": None,
            "preset": None,
            "memory_file": None,
            "as_json": as_json,
            **more,
        }
        assert import_issues(str(tmp_path / "issues.json"), **options) == 0
        # The web runs in this process, too. Its log is no answer of the command.
        lines = capsys.readouterr().out.splitlines(keepends=True)
        return "".join(line for line in lines if not re.match(r"\[\w+ *\] \w+ ", line))

    return run


def runs(stage: Stage) -> list[RunRow]:
    with stage.session() as session:
        return list(session.scalars(select(RunRow).order_by(RunRow.id)))


def test_nothing_is_run_twice_and_only_what_is_new_is_told(web: Web, told: Any) -> None:
    say_hello(web.stage, "2.0.0")
    issues = [
        issue(1),
        issue(2, "It crashes, always."),
        issue(3, state="CLOSED"),
        issue(4, f"{BODY}\nOther.\n"),
    ]
    assert told(issues) == (
        "#2  needs_info  It fails 2\n4 issues: 3 new, 2 waiting, 1 with a new verdict, 1 closed, not run.\n"
    )
    assert [run.trigger for run in runs(web.stage)] == ["imported"] * 3
    assert told(issues) == "4 issues: 2 waiting, 1 closed, not run.\n"
    finish(web.stage, BROKEN)
    assert told(issues).splitlines() == [
        "#1  not_reproduced  It fails 1",
        "#4  not_reproduced  It fails 4",
        "4 issues: 2 with a new verdict, 1 closed, not run.",
    ]
    assert told(issues) == "4 issues: 1 closed, not run.\n"
    assert len(runs(web.stage)) == 3


def test_a_flip_is_told_once_with_the_new_verdict(web: Web, told: Any) -> None:
    say_hello(web.stage, "2.0.0")
    told([issue(1)])
    finish(web.stage, BROKEN)
    told([issue(1)])
    say_hello(web.stage, "2.0.0", "2.1.0")
    with web.stage.session() as session:
        report_id = session.scalars(select(ReportRow.id)).one()
    again(web.stage, report_id, "2.1.0")
    finish(web.stage, BROKEN)
    news = json.loads(told([issue(1)], as_json=True))
    assert news["tally"] == {"with a new verdict": 1, "regressed": 1}
    assert [(one["number"], one["before"], one["verdict"]) for one in news["verdicts"]] == [
        (1, "not_reproduced", "reproduced")
    ]
    assert [(one["kind"], one["report"], one["toolchain"]) for one in news["changes"]] == [
        ("regressed", report_id, "numpy-2.1.0")
    ]
    assert told([issue(1)]) == "1 issue: nothing new.\n"


def test_without_the_file_of_what_was_told_nothing_is_run_again_either(
    web: Web, told: Any, tmp_path: Path
) -> None:
    say_hello(web.stage, "2.0.0")
    by = {"author": {"login": "ada"}}
    first = issue(1, comments=[{"body": "me too", "author": {"login": "bo"}}], **by)
    told([first])
    (tmp_path / "issues.json.told.json").unlink()
    # Later comments of others are no news.
    told(
        [
            {
                **first,
                "labels": [{"name": "bug"}],
                "comments": [*first["comments"], {"body": "any news?", "author": {"login": "bo"}}],
            }
        ]
    )
    assert len(runs(web.stage)) == 1
    told(
        [
            {
                **first,
                "comments": [
                    {"body": f"Sorry, here is the right script:\n{BODY}", "author": {"login": "Ada"}}
                ],
            }
        ]
    )
    assert len(runs(web.stage)) == 2


def test_an_issue_with_a_new_text_is_a_new_report_and_the_older_one_is_closed(web: Web, told: Any) -> None:
    say_hello(web.stage, "2.0.0")
    told([issue(1), issue(2)])
    said = told([issue(1, f"{BODY}\nMore.\n"), issue(2)])
    assert "1 new" in said
    assert "1 with a new text, the older report closed" in said
    with web.stage.session() as session:
        older, newer = session.scalars(
            select(ReportRow).where(ReportRow.source_url == issue(1)["url"]).order_by(ReportRow.id)
        ).all()
        other = session.scalars(select(ReportRow).where(ReportRow.source_url == issue(2)["url"])).one()
    assert (older.duplicate_of, newer.closed_at, other.closed_at) == (newer.id, None, None)
    assert "new text" not in told([issue(1, f"{BODY}\nMore.\n"), issue(2)])
    # The text is changed back: the first report is open again, and the two don't point at each other.
    assert "1 with a new text" in told([issue(1), issue(2)])
    with web.stage.session() as session:
        first, second = session.scalars(
            select(ReportRow).where(ReportRow.source_url == issue(1)["url"]).order_by(ReportRow.id)
        ).all()
    assert (first.closed_at, first.duplicate_of, second.duplicate_of) == (None, None, first.id)


def test_without_the_scope_the_older_report_stays_open(stage: Stage, told: Any) -> None:
    say_hello(stage, "2.0.0")
    with web_of(stage, anonymous_scopes=("read", "submit")) as narrow:
        told([issue(1)], url=narrow.url)
        assert "left open: closing it needs the scope maintain" in told(
            [issue(1, f"{BODY}\nMore.\n")], url=narrow.url
        )


def test_what_the_service_does_not_take_is_left_or_named(stage: Stage, told: Any, tmp_path: Path) -> None:
    say_hello(stage, "2.0.0")
    with web_of(stage, unawaited_runs=1) as full:
        lines = told([issue(1), issue(2, "\x1b[31m" + BODY), issue(3)], url=full.url).splitlines()
        assert lines == ["3 issues: 1 new, 1 waiting, 2 left for the next time."]
        finish(stage, BROKEN)
        assert "1 new" in told([issue(1), issue(2)], url=full.url)
        refused = full.client.post("/api/v1/runs", json={"script": "print(1)", "awaited": False})
        assert (refused.status_code, refused.json()["code"]) == (409, "too_many_unawaited")
        assert full.client.post("/api/v1/runs", json={"script": "print(1)"}).status_code == 202
    with web_of(stage, report_bytes=300) as small:
        lines = told(
            [issue(7, "x" * 400, title="\x1b[31mred")],
            url=small.url,
            memory_file=str(tmp_path / "other.json"),
        ).splitlines()
        assert lines[0].startswith("#7  refused: ")
        assert lines[0].endswith("  red")
        assert lines[1] == "1 issue: 1 refused."


def test_a_service_that_dies_in_the_middle_loses_nothing(
    stage: Stage, told: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    say_hello(stage, "2.0.0")
    from app.command.service.client import Client

    whole = Client.submit
    sent: list[str] = []

    def dies(self: Client, body: Any, *, idempotency_key: str) -> dict[str, Any]:
        if len(sent) == 1:
            raise KeyboardInterrupt
        sent.append(idempotency_key)
        return whole(self, body, idempotency_key=idempotency_key)

    with monkeypatch.context() as patched:
        patched.setattr(Client, "submit", dies)
        with pytest.raises(KeyboardInterrupt):
            told([issue(1), issue(2)])
    assert len(json.loads((tmp_path / "issues.json.told.json").read_text())["servers"]) == 1
    assert "1 new" in told([issue(1), issue(2)])
    assert len(runs(stage)) == 2


@pytest.mark.parametrize(
    "fields", [("body",), ("number", "body"), ("title", "body", "url"), ("body", "comments", "state")]
)
def test_any_fields_will_do(fields: tuple[str, ...]) -> None:
    whole = issue(5, comments=3, state="OPEN", labels=[], createdAt="2026-01-01T00:00:00Z")
    (found,) = issues_in(json.dumps([{name: whole[name] for name in fields}]).encode(), most=5)
    assert found.thread["body"] == BODY
    assert found.thread["comments"] == []
    assert not found.closed
    assert found.name == ("#5" if "number" in fields else whole["url"] if "url" in fields else "an issue")


def test_odd_values_are_left_out_and_doubles_are_one() -> None:
    odd = {
        "number": True,
        "title": None,
        "body": "a \ud800 b",
        "url": "javascript:alert(1)",
        "comments": [1, {"body": None}],
        "state": 7,
    }
    (found,) = issues_in(json.dumps([odd, odd]).encode(), most=5)
    assert (found.number, found.title, found.url, found.closed) == (None, "", None, False)
    assert found.thread["body"] == "a ? b"


@pytest.mark.parametrize(
    ("data", "kind", "words"),
    [
        (b"{", InputError, "no JSON"),
        (b"[" * 100_000, InputError, "no JSON"),
        (b"3", InputError, "no list of issues"),
        (b"[1]", InputError, "no list of issues"),
        (b'[{"title": "x"}]', InputError, "no body"),
        (b'[{"body": ""}, {"body": "a"}]', TooLargeError, "at most 1"),
    ],
)
def test_what_is_no_list_of_issues_is_refused(data: bytes, kind: type[InputError], words: str) -> None:
    with pytest.raises(kind, match=words):
        issues_in(data, most=1)


def test_options_that_can_not_work_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    options: dict[str, Any] = {
        "server": "http://127.0.0.1:9",
        "token": None,
        "preset": None,
        "as_json": False,
    }
    monkeypatch.setattr(sys, "stdin", StringIO(""))
    with pytest.raises(InputError, match="--told"):
        import_issues("-", memory_file=None, **options)
    (tmp_path / "a.json").write_text("[]")
    (tmp_path / "told").write_text("{]")
    with pytest.raises(InputError, match="not written by an earlier import"):
        import_issues(str(tmp_path / "a.json"), memory_file=str(tmp_path / "told"), **options)
    with pytest.raises(InputError, match="can't be written"):
        import_issues(str(tmp_path / "a.json"), memory_file=str(tmp_path / "no" / "folder"), **options)


def test_the_nightly_job_runs_as_the_page_has_it(web: Web, tmp_path: Path) -> None:
    """Its places are replaced, and `gh` by a program that prints what gh prints."""
    page = (Path(__file__).parents[2] / "docs" / "operations.md").read_text()
    match = re.search(r"^```\n(#!/bin/sh -e\n.*?)^```", page, re.DOTALL | re.MULTILINE)
    assert match is not None
    script = match[1]
    assert len(script.splitlines()) == 5
    places = {
        "/var/lib/samehere-issues": str(tmp_path),
        "/etc/samehere/token": str(tmp_path / "token"),
        "https://samehere.example": web.url,
    }
    for place, own in places.items():
        assert place in script
        script = script.replace(place, own)
    job, gh = tmp_path / "job", tmp_path / "bin" / "gh"
    gh.parent.mkdir()
    gh.write_text(f'#!/bin/sh -e\n[ "$1 $2 $3" = "issue list --repo" ]\ncat {tmp_path}/tracker.json\n')
    job.write_text(script)
    (tmp_path / "tracker.json").write_text(
        json.dumps([issue(1, title="$(touch owned) `touch owned`\x1b[31m")])
    )
    with web.stage.session() as session:
        token = create(session, name="nightly", scopes=[Scope.SUBMIT])
    (tmp_path / "token").write_text(token.secret + "\n")
    (tmp_path / "token").chmod(0o600)
    for path in (job, gh):
        path.chmod(0o755)
    say_hello(web.stage, "2.0.0")

    def night() -> str:
        programs = f"{gh.parent}:{Path(sys.executable).parent}:{os.environ['PATH']}"
        ended = subprocess.run(
            [job], env={**os.environ, "PATH": programs}, capture_output=True, text=True, check=False
        )
        assert (ended.stderr, ended.returncode) == ("", 0)
        return ended.stdout

    assert night() == "1 issue: 1 new, 1 waiting.\n"
    finish(web.stage, BROKEN)
    line = night().splitlines()[0]
    assert re.fullmatch(r"#1  not_reproduced  \$\(touch owned\) `touch owned`\S*", line)
    assert not list(tmp_path.rglob("owned"))
