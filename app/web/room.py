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

from app.judging.text_diff import Piece
from app.web import cutting, hostile
from app.web.ansi import coloured
from app.web.cutting import Cut

# Bytes as sent. With the markup around them, and style and scripts, a page stays below 100 kB.
PAGE_BYTES = 40_000
# One text may take twice its limit in characters: Hebrew has two bytes a letter, an escaped quotation mark five.
BYTES_A_CHARACTER = 2
LEAST_BLOCK, LEAST_LINE = 300, 60
MOST_PIECES, _MARK = 24, len("<mark></mark>")


@dataclass(slots=True)
class Room:
    """What is left on one page."""

    left: int = PAGE_BYTES

    def take(self, wanted: int, *, most: int, least: int) -> int:
        """So many bytes of what is wanted, and never less than `least` of it."""
        given = min(wanted, most, max(least, self.left))
        self.left = max(0, self.left - given)
        return given


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
    shown = coloured(text) if "\x1b[" in text else escape(hostile.visible(text))
    return len(shown.encode(errors="replace"))


def fit(text: str, most: int) -> int:
    """How many characters from the beginning weigh no more than that."""
    count = min(len(text), most)
    while count and (heavy := weight(text[:count])) > most:
        count = min(count - 1, count * most // heavy)
    return count


def head(text: str, lines: int = 200, characters: int = 12_000) -> Cut:
    """The first lines, as many as there is room for."""
    cut = cutting.head(text, lines, characters)
    given = _given(weight(cut.text), characters=characters, least=LEAST_BLOCK)
    return cut if given is None else cutting.head(text, lines, fit(cut.text, given))


def ends(text: str, characters: int = 8_000) -> Cut:
    """The beginning and the end, as much as there is room for."""
    cut = cutting.ends(text, characters)
    given = _given(weight(cut.text) + weight(cut.tail), characters=characters, least=LEAST_BLOCK)
    if given is None:
        return cut
    count = min(len(cut.text) + len(cut.tail), given)
    while count > 1 and (heavy := weight(cut.text) + weight(cut.tail)) > given:
        count = min(count - 1, count * given // heavy)
        cut = cutting.ends(text, count)
    return cut


def visible(text: str) -> str:
    """A name or a sentence with what can't be seen spelled out."""
    return _line(text, hostile.visible(text), least=4 * LEAST_LINE)


def one_line(text: str, most: int = 160) -> str:
    """The first words of a text on one line, for a table's cell."""
    return _line(text, hostile.one_line(text, most), least=LEAST_LINE)


def clip(text: str, most: int = 800) -> str:
    """The beginning of a text of several lines, for a table's cell."""
    return _line(text, hostile.clip(text, most), least=2 * LEAST_LINE)


def short_url(url: str) -> str:
    """An address without what says nothing."""
    return _line(url, hostile.short_url(url), least=2 * LEAST_LINE)


def marked(line: Sequence[Piece]) -> Markup:
    """A line with what differs marked, as far as there is room for it; of one in many pieces the later ones go unmarked."""
    whole = "".join(piece.text for piece in line)
    given = _given(weight(whole) + _MARK * min(len(line), MOST_PIECES), characters=len(whole) + _MARK * MOST_PIECES, least=LEAST_LINE)
    left = len(whole) if given is None else fit(whole, given)
    made = []
    for number, piece in enumerate(line):
        shown, left = piece.text[:left], left - len(piece.text[:left])
        mark = Markup("<mark>{}</mark>") if piece.differs and number < MOST_PIECES else Markup("{}")
        made.append(mark.format(hostile.visible(shown)) if shown else Markup(""))
    return Markup("").join(made) + ("…" if left == 0 and given is not None else "")


def _line(text: str, shown: str, *, least: int) -> str:
    given = _given(weight(shown), characters=max(200, len(text)), least=least)
    return shown if given is None else shown[: fit(shown, given)].rstrip("…") + "…"


def _given(wanted: int, *, characters: int, least: int) -> int | None:
    """None where there is room for all that is wanted."""
    here = _ROOM.get()
    if here is None:
        return None
    given = here.take(wanted, most=max(least, BYTES_A_CHARACTER * characters), least=least)
    return None if given == wanted else given
