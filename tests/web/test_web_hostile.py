"""Text of strangers: nothing hidden, nothing obeyed, nothing lost that can be seen."""

from __future__ import annotations

import time
import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from app.visible_text import visible
from app.web.text.short_texts import one_line

# Text that a script can print once its bytes were decoded, with many of the characters that hide or reorder.
HOSTILE = "\x00\x07\x08\x1b\x7f\x85\x9b\u00ad\u061c\u115f\u180e\u200b\u200e\u202e\u2028\u2066\u3164\ufeff\ufff9\U000e0041\U0010ffff"  # noqa: E501
FILLERS = "\u115f\u1160\u3164\uffa0\u2800"
texts = st.text(st.one_of(st.characters(), st.sampled_from(HOSTILE)))


@given(texts)
@example("\x1b[31mred\x1b[0m")
@example("\ud800")
def test_nothing_invisible_is_left(text: str) -> None:
    for character in visible(text):
        assert character in "\n\t" or unicodedata.category(character) not in {
            "Cc",
            "Cf",
            "Cs",
            "Co",
            "Cn",
            "Zl",
            "Zp",
        }


@given(texts)
def test_what_is_visible_stays_so(text: str) -> None:
    assert visible(visible(text)) == visible(text)


@given(st.text(st.characters(categories=["L", "N", "P", "S", "Zs"], exclude_characters=FILLERS)))
def test_plain_text_is_as_it_was(text: str) -> None:
    assert visible(text) == text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[1;31mred\x1b[0m \x1b[38;2;1;2;3mx", "red x"),
        ("\x1b]0;title\x07a\x1b]8;;http://x\x1b\\b", "ab"),
        ("\x1b[2J\x1b[Hgone", "gone"),
        ("\x1b]0;a title without an end", "0;a title without an end"),
        ("a\r\nb", "a\nb"),
        ("50 %\rdone", "50 %⟨U+000D⟩done"),
        ("a\x00b\x08", "a⟨U+0000⟩b⟨U+0008⟩"),
        ("admin\u202enimda", "admin⟨U+202E⟩nimda"),
        ("pay\u200bpal \ufeff", "pay⟨U+200B⟩pal ⟨U+FEFF⟩"),
        ("\U000e0041hidden", "⟨U+E0041⟩hidden"),
        ("\u3164a\u115f", "⟨U+3164⟩a⟨U+115F⟩"),
        ("\x1b", "⟨U+001B⟩"),
        ("\x9b31mC1", "⟨U+009B⟩31mC1"),
        ("invalid \ufffd bytes", "invalid \ufffd bytes"),
        ("naïve 数 ∞ 🙂\ttab", "naïve 数 ∞ 🙂\ttab"),
    ],
)
def test_a_text(text: str, shown: str) -> None:
    assert visible(text) == shown


def test_marks_are_not_piled_up_without_end() -> None:
    shown = visible("Z" + "\u0301" * 500)
    assert shown.startswith("Z" + "\u0301" * 3)
    assert shown.count("\u0301") <= 10


@given(texts, st.integers(1, 50))
def test_one_line_is_one_line_and_short(text: str, most: int) -> None:
    line = one_line(text, most)
    assert "\n" not in line
    assert len(line) <= most + 1


def test_a_whole_stream_is_drawn_in_time() -> None:
    stream = "\x1b[31m\u202e\x00é" * 50_000
    before = time.perf_counter()
    visible(stream)
    visible("\x1b]" * 130_000)
    assert time.perf_counter() - before < 5
