"""Makes untrusted text safe to look at, on a page and in a terminal.

Nothing in the result moves the cursor, changes the colour, reorders the line, or hides.
"""

from __future__ import annotations

import re
import unicodedata

# A sequence that never ends hides nothing: only its first two characters are removed.
_TERMINAL_SEQUENCE = re.compile(
    r"\x1b(?:"
    r"\[[0-?]*[ -/]*[@-~]"
    r"|\][^\x07\x1b\n]{0,1000}(?:\x07|\x1b\\)"
    r"|[@-Z\\-_]"
    r")"
)
_NOT_PLAIN_ASCII = re.compile(r"[^\n\t\x20-\x7e]+")
_HIDDEN_CATEGORIES = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}
# Unicode counts these as letters, signs or marks, but they are invisible: fillers, joiners and selectors.
_INVISIBLE = {
    *(0x034F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x2800, 0x3164, 0xFFA0),
    *range(0x180B, 0x1810),
    *range(0xFE00, 0xFE0E),
    *range(0xE0000, 0xE0200),
}
# No script of the world puts more marks on one letter. A tall pile would cover the lines around it.
_MOST_MARKS = 6


def visible(text: str) -> str:
    r"""The text without terminal sequences. Characters that can't be seen become their numbers, `⟨U+200B⟩`.

    Line ends and tabs stay; `\r\n` becomes `\n`.
    """
    return _NOT_PLAIN_ASCII.sub(_with_numbers, _TERMINAL_SEQUENCE.sub("", text).replace("\r\n", "\n"))


def _with_numbers(match: re.Match[str]) -> str:
    marks = 0
    characters = []
    for character in match[0]:
        category = unicodedata.category(character)
        marks = marks + 1 if category in {"Mn", "Me"} else 0
        is_hidden = can_hide(character) or marks > _MOST_MARKS
        characters.append(f"⟨U+{ord(character):04X}⟩" if is_hidden else character)
    return "".join(characters)


def can_hide(character: str) -> bool:
    """Whether a character can't be seen, or moves others. Line ends and tabs are such characters, too."""
    return unicodedata.category(character) in _HIDDEN_CATEGORIES or ord(character) in _INVISIBLE
