"""A thread as a file, on standard input, and on the way to a server."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from typing import Any

import pytest
from default_limits import read

from app.command.files.source import read_source
from app.command.read import read_report
from app.command.reproduce import ReproduceOptions, _submission
from app.errors import InputError

CODE = "import torch\nprint(torch.ones(2).sum().item())"
THREAD = {
    "title": "sum is off",
    "author": {"login": "ann"},
    "body": "It prints:\n```\n3.0\n```\n",
    "comments": [
        {"author": {"login": "bob"}, "body": "I get\n```\n2.0\n```\n"},
        {"author": {"login": "ann"}, "body": f"```python\n{CODE}\n```\n"},
    ],
    "url": "https://github.com/a/b/issues/1",
}


def written(folder: Path, name: str, content: Any) -> str:
    path = folder / name
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return str(path)


def test_a_file_is_read_as_a_thread(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert read_report(written(tmp_path, "thread.JSON", THREAD), form="auto", as_json=True) == 0
    shown = json.loads(capsys.readouterr().out)
    assert (shown["verdict"], shown["ask"]) == (None, [])
    report = shown["report"]
    assert (report["title"], report["source_url"]) == ("sum is off", "https://github.com/a/b/issues/1")
    assert report["scripts"][0]["script"].strip() == CODE
    assert [check["text"] for check in report["claim"]["checks"]] == ["3.0"]


@pytest.mark.parametrize("form", ["auto", "report"])
def test_standard_input_is_read_as_a_thread(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], form: Any
) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(json.dumps(THREAD).encode())))
    assert read_report("-", form=form, as_json=True) == 0
    assert json.loads(capsys.readouterr().out)["report"]["scripts"][0]["script"].strip() == CODE


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ('{"title": "x"}', "gh issue view"),
        ("[1]", "gh issue view"),
        ('{"body": "x"', "gh issue view"),
        ([THREAD, THREAD], "one of them"),
        ({**THREAD, "comments": 2}, "number of comments"),
    ],
)
def test_a_file_that_is_no_thread_is_refused_with_what_to_do(tmp_path: Path, content: Any, says: str) -> None:
    with pytest.raises(InputError, match=says) as caught:
        read_report(written(tmp_path, "thread.json", content), form="auto", as_json=True)
    assert caught.value.code == "bad_thread"


@pytest.mark.parametrize("name", ["thread.json", "thread.md", "thread"])
def test_a_server_gets_the_whole_thread_as_a_report(tmp_path: Path, name: str) -> None:
    source = read_source(written(tmp_path, name, THREAD), form="auto", most_bytes=1 << 20)
    sent = _submission(source, read(source.text, form=source.form), ReproduceOptions(file=name))
    assert sent == {"report": json.dumps(THREAD), "title": "sum is off"}
