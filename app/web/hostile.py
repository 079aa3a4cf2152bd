"""Text from scripts and reports made safe to look at: what can't be seen is shown, what could hide or reorder is not obeyed."""

from __future__ import annotations

import re
import unicodedata

_ANSI = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]{0,1000}(?:\x07|\x1b\\)?|[@-Z\\-_])")
# Bidirectional overrides and isolates, zero-width characters, tags: they change what a reader sees.
_INVISIBLE = {*range(0x200B, 0x2010), *range(0x202A, 0x202F), *range(0x2060, 0x2070), 0xFEFF, *range(0xE0000, 0xE0080)}


def visible(text: str) -> str:
    """The text without terminal colours, and with control, zero-width and bidirectional characters spelled out."""
    return "".join(map(_shown, _ANSI.sub("", text).replace("\r\n", "\n")))


def _shown(character: str) -> str:
    code = ord(character)
    if character in "\n\t" or 0x20 <= code < 0x7F:
        return character
    if code in _INVISIBLE or unicodedata.category(character) in {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}:
        return f"\N{LEFT-POINTING ANGLE BRACKET}U+{code:04X}\N{RIGHT-POINTING ANGLE BRACKET}"
    return character


def one_line(text: str, most: int = 160) -> str:
    """The first words of a text on one line, for a table's cell."""
    flat = re.sub(r"\s+", " ", visible(text[: 4 * most])).strip()
    return flat if len(flat) <= most else flat[:most].rstrip() + "…"
