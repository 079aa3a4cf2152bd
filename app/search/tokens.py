"""The searched words of a text: case-folded, with accents, names split (`index_put_` is `index put`)."""

from __future__ import annotations

import re
import unicodedata

# A longer word is cut to this, so it is found by its beginning.
MOST_CHARACTERS = 40
# Chinese and Japanese have no spaces: each character is a word, and several are a phrase.
_SIGN = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
_WORD = re.compile(rf"[{_SIGN}]|[^\W_{_SIGN}]+")


def tokens(text: str) -> list[str]:
    """The words of a text, in order."""
    plain = unicodedata.normalize("NFKC", text).casefold()
    return [word[:MOST_CHARACTERS] for word in _WORD.findall(plain)]
