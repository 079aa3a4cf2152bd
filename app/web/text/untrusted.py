"""Text from scripts and reports made safe to look at: what can't be seen is shown, what could hide or reorder is not obeyed."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

_ANSI = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]{0,1000}(?:\x07|\x1b\\)?|[@-Z\\-_])")
_SPECIAL = re.compile(r"[^\n\t\x20-\x7e]+")
# Besides whole categories: fillers and blanks that count as letters and signs, joiners and selectors that count as marks.
_INVISIBLE = {
    *(0x034F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x2800, 0x3164, 0xFFA0),
    *range(0x180B, 0x1810),
    *range(0xFE00, 0xFE0E),
    *range(0xE0000, 0xE0200),
}
_HIDING = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}
# No writing piles up more; a page of them covers what stands around it.
_MARKS = 6


def visible(text: str) -> str:
    """The text without terminal colours, and with control, zero-width and bidirectional characters spelled out."""
    return _SPECIAL.sub(_shown, _ANSI.sub("", text).replace("\r\n", "\n"))


def _shown(found: re.Match[str]) -> str:
    marks = 0
    shown = []
    for character in found[0]:
        category = unicodedata.category(character)
        marks = marks + 1 if category in {"Mn", "Me"} else 0
        hides = category in _HIDING or ord(character) in _INVISIBLE or marks > _MARKS
        shown.append(f"⟨U+{ord(character):04X}⟩" if hides else character)
    return "".join(shown)


def one_line(text: str, most: int = 160) -> str:
    """The first words of a text on one line, for a table's cell."""
    return _one_line(text[: 4 * most], most)


# Cells of one table say the same again and again, and are compared by what they say.
@lru_cache(maxsize=4096)
def _one_line(text: str, most: int) -> str:
    flat = " ".join(visible(text).split())
    return flat if len(flat) <= most else flat[:most].rstrip() + "…"


def clip(text: str, most: int = 800) -> str:
    """The beginning of a text of several lines, for a table's cell."""
    return visible(text) if len(text) <= most else visible(text[:most]).rstrip() + "…"


def short_url(url: str) -> str:
    """An address without what says nothing: `github.com/pytorch/pytorch/issues/1`."""
    return one_line(re.sub(r"^https?://(?:www\.)?", "", url), 60)
