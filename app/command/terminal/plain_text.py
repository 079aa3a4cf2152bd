"""Makes text of scripts and reports safe to show in a terminal: nothing in it can move the cursor, colour, or hide."""

from __future__ import annotations

import unicodedata

# Letters and marks pass; what controls, reorders, or has no shape is written as its number.
_NAMED = {"\t": "    "}


def visible(text: str) -> str:
    """The text with everything invisible or active written out; line ends stay."""
    return "".join(char if char == "\n" else _shown(char) for char in text)


def one_line(text: str, *, most: int) -> str:
    """The text on one line, line ends written out, cut with an ellipsis."""
    line = visible(text.strip().replace("\r\n", "\n")).replace("\n", "⏎ ")
    return line if len(line) <= most else line[: most - 1] + "…"


def _shown(char: str) -> str:
    if char in _NAMED:
        return _NAMED[char]
    category = unicodedata.category(char)
    if category[0] != "C" and category not in {"Zl", "Zp"}:
        return char
    number = ord(char)
    return (
        f"\\x{number:02x}"
        if number < 0x100
        else f"\\u{number:04x}"
        if number < 0x10000
        else f"\\U{number:08x}"
    )
