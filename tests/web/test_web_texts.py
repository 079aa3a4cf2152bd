"""Long, coloured and hostile texts on pages: cut with what was left out counted, and coloured without
obeying anything else.
"""

from __future__ import annotations

import re

from html_page import faults
from hypothesis import example, given
from hypothesis import strategies as st

from app.visible_text import visible
from app.web.text.ansi import with_colours
from app.web.text.cutting import ends, head
from app.web.text.short_texts import short_url

PAGE = (
    '<!doctype html><html lang="en"><head><title>t</title></head><body><h1>t</h1><pre>{}</pre></body></html>'
)


def test_colours_become_classes() -> None:
    assert with_colours("\x1b[1;31mred\x1b[0m plain") == '<span class="ansi1 strong">red</span> plain'
    assert with_colours("\x1b[92mok\x1b[39m.") == '<span class="ansi2">ok</span>.'
    assert with_colours("\x1b[38;5;31mx") == "x"
    assert with_colours("\x1b[2J\x1b]0;title\x07x\x1b[5Ay") == "xy"


@given(st.text(st.one_of(st.characters(), st.sampled_from("\x1b[;m0134<>&\"'")), max_size=120))
@example('\x1b[31"onload=alert(1)m<img>')
@example("\x1b[" + "1;" * 30 + "m")
def test_a_coloured_text_says_the_same_and_nothing_gets_in(text: str) -> None:
    html = str(with_colours(text))
    assert list(faults(PAGE.format(html))) == []
    assert set(re.findall(r"<(/?\w+)", html)) <= {"span", "/span"}
    assert set(re.findall(r'class="([^"]*)"', html)) <= {
        one for one in re.findall(r'class="([^"]*)"', html) if re.fullmatch(r"(ansi\d)? ?(strong)?", one)
    }
    assert "\x1b" not in html


@given(st.text(st.characters(exclude_characters="\r"), max_size=300), st.integers(1, 5), st.integers(2, 60))
def test_what_is_cut_is_counted(text: str, lines: int, characters: int) -> None:
    cut = head(text, lines, characters)
    assert text.startswith(cut.text)
    assert len(cut.text) <= characters
    assert cut.text == text or cut.more_lines or cut.left_out
    middle = ends(text, characters)
    assert len(middle.text) + len(middle.tail) + middle.left_out == len(text)
    assert text.startswith(middle.text)
    assert text.endswith(middle.tail)


def test_addresses_are_short() -> None:
    assert short_url("https://github.com/pytorch/pytorch/issues/1") == "github.com/pytorch/pytorch/issues/1"
    assert visible(short_url("https://x/\u202ea")) == short_url("https://x/\u202ea")
