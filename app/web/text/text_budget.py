"""A budget of bytes for the untrusted texts of one page, so that no page grows without limit.

Each text is shown up to its own limit while the budget lasts. After that, only the first words of each text
are shown. A text that is cut says so, and the whole text is one link away.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from markupsafe import Markup, escape

from app import visible_text
from app.judging.comparison.text_diff import Piece
from app.web.text import cutting, short_texts
from app.web.text.ansi import with_colours
from app.web.text.cutting import Cut

# Bytes as sent. With markup, style and scripts a page stays below 100 kB.
PAGE_BYTES = 7_200
# A text may take twice its limit in bytes: a Hebrew letter has two bytes, an escaped quotation mark has five.
BYTES_A_CHARACTER = 2
# Each block and each line gets at least so many bytes, also when the budget is used up.
LEAST_BLOCK, LEAST_LINE = 300, 40
MOST_MARKS = 12


@dataclass(slots=True)
class TextBudget:
    """The bytes that are left for untrusted texts on one page."""

    left: int = PAGE_BYTES

    def take(self, text: str, *, most: int, least: int) -> int:
        """Take the bytes of a text from the budget. Returns how many of its characters may be shown.

        A text gets at most `most` bytes, and at least `least` bytes also when the budget is used up.
        """
        count, size = fit(text, min(most, max(least, self.left)))
        self.left = max(0, self.left - size)
        return count


_BUDGET: ContextVar[TextBudget | None] = ContextVar("text_budget", default=None)


@contextmanager
def page_budget(size: int = PAGE_BYTES) -> Iterator[TextBudget]:
    """The budget of the page that is rendered inside. Outside of it a text has only its own limit."""
    budget = TextBudget(size)
    token = _BUDGET.set(budget)
    try:
        yield budget
    finally:
        _BUDGET.reset(token)


def take_bytes(size: int) -> None:
    """Take bytes from the budget of the page, for something else than a text."""
    budget = _BUDGET.get()
    if budget is not None:
        budget.left = max(0, budget.left - size)


# A text that a page shows as it is: printable ASCII without the characters that HTML escapes.
_PLAIN = re.compile(r"[\n !#-%(-;=?-~]*")


def weight(text: str) -> int:
    """The bytes of a text as a page shows it."""
    if _PLAIN.fullmatch(text):
        return len(text)
    html = with_colours(text) if "\x1b[" in text else escape(visible_text.visible(text))
    return len(html.encode(errors="replace"))


def fit(text: str, most: int) -> tuple[int, int]:
    """How many of the first characters fit into `most` bytes of a page, and how many bytes they take."""
    count, size = min(len(text), most), 0
    while count and (size := weight(text[:count])) > most:
        count = min(count - 1, count * most // size)
    return count, size if count else 0


def head(text: str, lines: int = 200, characters: int = 12_000) -> Cut:
    """The first lines, as many as the budget allows."""
    cut = cutting.head(text, lines, characters)
    count = _take(cut.text, characters=characters, least=LEAST_BLOCK)
    return cut if count == len(cut.text) else cutting.head(text, lines, count)


def ends(text: str, characters: int = 8_000) -> Cut:
    """The beginning and the end, as much as the budget allows."""
    cut = cutting.ends(text, characters)
    both = cut.text + cut.tail
    count = _take(both, characters=characters, least=LEAST_BLOCK)
    return cut if count == len(both) else cutting.ends(text, count)


def visible(text: str) -> str:
    """A name or a sentence. Characters that can't be seen become their numbers."""
    return _shorten(visible_text.visible(text), characters=len(text) + LEAST_LINE, least=2 * LEAST_LINE)


def one_line(text: str, most: int = 160) -> str:
    """The first words of a text on one line, for a table's cell."""
    return _shorten(short_texts.one_line(text, most), characters=most, least=LEAST_LINE)


def clip(text: str, most: int = 800) -> str:
    """The beginning of a text of several lines, for a table's cell."""
    return _shorten(short_texts.clip(text, most), characters=most, least=LEAST_LINE)


def short_url(url: str) -> str:
    """An address without the parts that say nothing."""
    return _shorten(short_texts.short_url(url), characters=2 * LEAST_LINE, least=LEAST_LINE)


def mark_differences(line: Sequence[Piece]) -> Markup:
    """A line as HTML with its first differing pieces marked, as far as the budget allows."""
    whole = "".join(piece.text for piece in line)
    left = _take(whole, characters=len(whole), least=LEAST_LINE)
    is_cut = left < len(whole)
    parts = []
    for number, piece in enumerate(line):
        text, left = piece.text[:left], left - len(piece.text[:left])
        template = Markup("<mark>{}</mark>") if piece.differs and number < MOST_MARKS else Markup("{}")
        parts.append(template.format(visible_text.visible(text)) if text else "")
    return Markup("").join([*parts, "…" if is_cut else ""])


def _shorten(text: str, *, characters: int, least: int) -> str:
    count = _take(text, characters=characters, least=least)
    return text if count == len(text) else text[:count].rstrip("…") + "…"


def _take(text: str, *, characters: int, least: int) -> int:
    """How many characters of a text this page may show. They are taken from its budget."""
    budget = _BUDGET.get()
    if budget is None:
        return len(text)
    return budget.take(text, most=max(least, BYTES_A_CHARACTER * characters), least=least)
