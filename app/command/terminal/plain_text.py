"""Untrusted text for a terminal: tabs have a fixed width, and a table's cell is one line."""

from __future__ import annotations

from app import visible_text

_TAB = "    "


def visible(text: str) -> str:
    """The text with everything invisible or active written as its number; line ends stay."""
    return visible_text.visible(text).replace("\t", _TAB)


def one_line(text: str, *, most: int) -> str:
    """The text on one line of at most `most` characters. A line end is shown as `⏎`, a cut as `…`."""
    line = visible(text.strip()).replace("\n", "⏎ ")
    return line if len(line) <= most else line[: most - 1] + "…"
