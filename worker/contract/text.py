"""Text that a database can store and that every reader of JSON takes."""

from __future__ import annotations

import re

REPLACEMENT = "\N{REPLACEMENT CHARACTER}"
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


def storable_text(text: str) -> str:
    """The text with U+FFFD in place of each NUL and each half of a surrogate pair; the length stays."""
    return _UNSTORABLE.sub(REPLACEMENT, text)
