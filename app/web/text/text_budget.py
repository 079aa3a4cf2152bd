"""How much of strangers' texts a page may hold: one allowance for all of them, so that no page outgrows its weight, whatever was written.

Each text is shown up to its own limit as long as there is room. Where a page has none left, every further one is cut to its first words;
what is cut says so, and the whole of it is a link away.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from markupsafe import Markup, escape

from app import visible_text
from app.judging.comparison.text_diff import Piece
from app.web.text import cutting, untrusted
from app.web.text.ansi import coloured
from app.web.text.cutting import Cut

# Bytes as sent. With the markup around them, and style and scripts, a page stays below 100 kB.
PAGE_BYTES = 18_000
# One text may take twice its limit in characters: Hebrew has two bytes a letter, an escaped quotation mark five.
BYTES_A_CHARACTER = 2
LEAST_BLOCK, LEAST_LINE = 300, 40
MOST_MARKED = 12


@dataclass(slots=True)
class Room:
    """What is left on one page."""

    left: int = PAGE_BYTES

    def cut(self, text: str, *, most: int, least: int) -> int:
        """How many characters of a text there is room for, up to so many bytes, and never fewer than `least` bytes hold; it is taken."""
        count, heavy = fit(text, min(most, max(least, self.left)))
        self.left = max(0, self.left - heavy)
        return count


_ROOM: ContextVar[Room | None] = ContextVar("room", default=None)


@contextmanager
def room(size: int = PAGE_BYTES) -> Iterator[Room]:
    """The room of the page that is drawn inside; outside of one nothing is cut but by its own limit."""
    made = Room(size)
    token = _ROOM.set(made)
    try:
        yield made
    finally:
        _ROOM.reset(token)


def weight(text: str) -> int:
    """The bytes of a text as a page shows it."""
    shown = coloured(text) if "\x1b[" in text else escape(visible_text.visible(text))
    return len(shown.encode(errors="replace"))


def fit(text: str, most: int) -> tuple[int, int]:
    """How many characters from the beginning weigh no more than that, and what they weigh."""
    count, heavy = min(len(text), most), 0
    while count and (heavy := weight(text[:count])) > most:
        count = min(count - 1, count * most // heavy)
    return count, heavy if count else 0


def head(text: str, lines: int = 200, characters: int = 12_000) -> Cut:
    """The first lines, as many as there is room for."""
    cut = cutting.head(text, lines, characters)
    count = _room_for(cut.text, characters=characters, least=LEAST_BLOCK)
    return cut if count == len(cut.text) else cutting.head(text, lines, count)


def ends(text: str, characters: int = 8_000) -> Cut:
    """The beginning and the end, as much as there is room for."""
    cut = cutting.ends(text, characters)
    both = cut.text + cut.tail
    count = _room_for(both, characters=characters, least=LEAST_BLOCK)
    return cut if count == len(both) else cutting.ends(text, count)


def visible(text: str) -> str:
    """A name or a sentence with what can't be seen spelled out."""
    return _line(visible_text.visible(text), characters=len(text) + LEAST_LINE, least=2 * LEAST_LINE)


def one_line(text: str, most: int = 160) -> str:
    """The first words of a text on one line, for a table's cell."""
    return _line(untrusted.one_line(text, most), characters=most, least=LEAST_LINE)


def clip(text: str, most: int = 800) -> str:
    """The beginning of a text of several lines, for a table's cell."""
    return _line(untrusted.clip(text, most), characters=most, least=LEAST_LINE)


def short_url(url: str) -> str:
    """An address without what says nothing."""
    return _line(untrusted.short_url(url), characters=2 * LEAST_LINE, least=LEAST_LINE)


def marked(line: Sequence[Piece]) -> Markup:
    """A line with what differs marked, as far as there is room for it; of one in many pieces the later ones go unmarked."""
    whole = "".join(piece.text for piece in line)
    left = _room_for(whole, characters=len(whole), least=LEAST_LINE)
    made = ["" if left == len(whole) else "…"]
    for number, piece in enumerate(line):
        shown, left = piece.text[:left], left - len(piece.text[:left])
        mark = Markup("<mark>{}</mark>") if piece.differs and number < MOST_MARKED else Markup("{}")
        made.insert(-1, mark.format(visible_text.visible(shown)) if shown else "")
    return Markup("").join(made)


def _line(shown: str, *, characters: int, least: int) -> str:
    count = _room_for(shown, characters=characters, least=least)
    return shown if count == len(shown) else shown[:count].rstrip("…") + "…"


def _room_for(text: str, *, characters: int, least: int) -> int:
    """How many characters of it a page may show."""
    here = _ROOM.get()
    return (
        len(text)
        if here is None
        else here.cut(text, most=max(least, BYTES_A_CHARACTER * characters), least=least)
    )
