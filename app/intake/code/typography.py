"""Replaces characters that word processors, chats and web pages put into code.

Examples are typographic quotes, dashes, odd spaces and full-width signs. A string in proper quotes is left
alone, since there such a character may be the bug.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_DOUBLE = "\u201c\u201d\u201e\u201f\u2033\u00ab\u00bb"
_SINGLE = "\u2018\u2019\u201a\u201b\u2032\u00b4"
_DASHES = "\u2010\u2011\u2012\u2013\u2014\u2212"
_SPACES = (
    "\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f"
)
_NOTHING = (
    "\u00ad\u200b\u200c\u200d\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2060\u2066\u2067\u2068\u2069\ufeff"
)
# ASCII signs as East Asian keyboards write them, and their space.
_WIDE = {
    **{chr(0xFEE0 + code): chr(code) for code in range(0x21, 0x7F) if not chr(code).isalnum()},
    "\u3000": " ",
    "\u3001": ",",
}
_PLAIN: dict[str, tuple[str, str]] = {
    **dict.fromkeys(_DOUBLE, ('"', "smart_quotes")),
    **dict.fromkeys(_SINGLE, ("'", "smart_quotes")),
    **dict.fromkeys(_DASHES, ("-", "smart_dashes")),
    **dict.fromkeys(_SPACES, (" ", "invisible_characters")),
    **dict.fromkeys(_NOTHING, ("", "invisible_characters")),
    **{wide: (plain, "full_width_characters") for wide, plain in _WIDE.items()},
}
_ANY = re.compile(f"[{re.escape(''.join(_PLAIN))}]")
# A string in proper quotes, long or on one line, and a comment.
_LEFT_ALONE = {
    '"""': re.compile(r'"""(?:[^\\]|\\.)*?"""', re.DOTALL),
    "'''": re.compile(r"'''(?:[^\\]|\\.)*?'''", re.DOTALL),
    '"': re.compile(r'"(?:[^"\\\n]|\\.)*"'),
    "'": re.compile(r"'(?:[^'\\\n]|\\.)*'"),
    "#": re.compile(r"#[^\n]*"),
}


def has_typography(text: str) -> bool:
    """True if the text holds any such character."""
    return _ANY.search(text) is not None


def plain_characters(text: str) -> tuple[str, tuple[str, ...]]:
    """The text in plain characters, line for line, and the codes of the repairs."""
    codes: dict[str, None] = {}
    return "".join(_pieces(text, codes)), tuple(codes)


def _pieces(text: str, codes: dict[str, None]) -> Iterator[str]:
    at = 0
    # For each kind of string, no string ends before this place. Without it, a text of nothing but opening
    # quotes would take quadratic time.
    hopeless = dict.fromkeys(_LEFT_ALONE, 0)
    while at < len(text):
        character = text[at]
        if character in "\"'#" and (end := _proper(text, at, hopeless)):
            yield text[at:end]
            at = end
            continue
        plain, name = _PLAIN.get(character, (character, ""))
        if name:
            codes[name] = None
        yield plain
        at += 1
        if plain in {'"', "'"} and name:
            end = _end_of_string(text, at, plain)
            if end >= 0:
                yield f"{text[at:end]}{plain}"
                at = end + 1


def _proper(text: str, at: int, hopeless: dict[str, int]) -> int:
    """The end of the string or comment that begins here; 0 if none does."""
    for kind in (text[at : at + 3], text[at]):
        if kind not in _LEFT_ALONE or at < hopeless[kind]:
            continue
        match = _LEFT_ALONE[kind].match(text, at)
        if match:
            return match.end()
        line_end = text.find("\n", at)
        hopeless[kind] = len(text) if len(kind) == 3 or line_end < 0 else line_end
    return 0


def _end_of_string(text: str, at: int, plain: str) -> int:
    """The place of the quote that closes a typographic string: the next of its kind on the line.

    -1 if none does.
    """
    closing = re.compile(f"[{_DOUBLE if plain == chr(34) else _SINGLE}{plain}\n]")
    match = closing.search(text, at)
    return match.start() if match and match[0] != "\n" else -1
