"""Hostile text in a terminal, files that can't be read, and exit statuses."""

from __future__ import annotations

import unicodedata
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.command.files.source import argument_text, read_source
from app.command.service.exit_status import status_of_error, status_of_run
from app.command.terminal.plain_text import one_line, visible
from app.errors import InputError, NodeError, SetupError, TooLargeError, UnauthorisedError, UnavailableError
from app.judging.judgement import Verdict


@given(st.text())
def test_visible_text_holds_nothing_that_acts_or_hides(text: str) -> None:
    shown = visible(text)
    assert all(char == "\n" or unicodedata.category(char)[0] != "C" for char in shown)
    assert shown.count("\n") == text.count("\n")


@given(st.text(), st.integers(2, 50))
def test_one_line_is_one_line_of_bounded_length(text: str, most: int) -> None:
    line = one_line(text, most=most)
    assert len(line) <= most
    assert len(line.splitlines()) <= 1


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[31mred\x07\u202e\x9b\t|", "red⟨U+0007⟩⟨U+202E⟩⟨U+009B⟩    |"),
        ("\u3164a\u115f\u2800", "⟨U+3164⟩a⟨U+115F⟩⟨U+2800⟩"),
        ("b\ufe0fc\U000e0101", "b\ufe0fc⟨U+E0101⟩"),
    ],
)
def test_what_acts_or_hides_is_written_as_its_number(text: str, shown: str) -> None:
    assert visible(text) == shown


def test_marks_are_not_piled_up_without_end() -> None:
    assert 3 <= visible("Z" + "\u0301" * 500).count("\u0301") <= 10


@pytest.mark.parametrize(
    ("content", "code"),
    [
        (b"", "empty_file"),
        (b" \n\t\n", "empty_file"),
        (b"\xef\xbb\xbf", "empty_file"),
        (b"print(1)\0", "not_text"),
        (b"print('\xff')", "not_text"),
        (b"#" * 101, "too_large"),
    ],
)
def test_a_file_that_is_no_report_is_refused(tmp_path: Path, content: bytes, code: str) -> None:
    path = tmp_path / "report.py"
    path.write_bytes(content)
    with pytest.raises(InputError) as refused:
        read_source(str(path), form="auto", most_bytes=100)
    assert refused.value.code == code


def test_what_is_no_file_is_refused(tmp_path: Path) -> None:
    for name, code in (
        (str(tmp_path), "not_a_file"),
        (str(tmp_path / "none"), "unreadable_file"),
        ("a\0b", "unreadable_file"),
    ):
        with pytest.raises(InputError) as refused:
            read_source(name, form="auto", most_bytes=100)
        assert refused.value.code == code
        assert refused.value.message.isprintable()


@pytest.mark.parametrize(
    ("name", "asked", "form"),
    [
        ("a.py", "auto", "script"),
        ("a.MD", "auto", "report"),
        ("a.txt", "auto", "auto"),
        ("a.py", "report", "report"),
    ],
)
def test_a_name_says_what_a_file_holds(tmp_path: Path, name: str, asked: str, form: str) -> None:
    (tmp_path / name).write_bytes(b"\xef\xbb\xbfprint(1)\r\n")
    source = read_source(str(tmp_path / name), form=asked, most_bytes=100)  # type: ignore[arg-type]
    assert (source.text, source.form) == ("print(1)\r\n", form)


def test_arguments_become_proper_text() -> None:
    assert argument_text(b"a\xff\xc3\xa9".decode("utf-8", "surrogateescape")) == "a\N{REPLACEMENT CHARACTER}é"


@pytest.mark.parametrize(
    ("verdict", "seen", "plain", "as_answer"),
    [
        (Verdict.REPRODUCED, True, 0, 1),
        (Verdict.FLAKY, True, 0, 1),
        (Verdict.DIFFERENT, False, 0, 125),
        (Verdict.NOT_REPRODUCED, False, 0, 0),
        (Verdict.CANNOT_SHOW, False, 0, 125),
        (Verdict.OBSERVED, False, 0, 125),
        (Verdict.NEEDS_INFO, False, 0, 125),
        (Verdict.NO_RESULT, False, 3, 125),
    ],
)
def test_the_exit_status_of_a_verdict(verdict: Verdict, seen: bool, plain: int, as_answer: int) -> None:  # noqa: FBT001
    assert status_of_run(state="finished", verdict=verdict, seen=seen, as_answer=False) == plain
    assert status_of_run(state="finished", verdict=verdict, seen=seen, as_answer=True) == as_answer


def test_a_cancelled_run_is_no_answer() -> None:
    assert status_of_run(state="cancelled", verdict=None, seen=True, as_answer=True) == 130


def test_the_exit_status_of_an_error() -> None:
    assert {
        status_of_error(kind("x")) for kind in (InputError, TooLargeError, SetupError, UnauthorisedError)
    } == {2}
    assert {status_of_error(kind("x")) for kind in (NodeError, UnavailableError)} == {1}
