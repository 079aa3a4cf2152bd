"""The words of a text as they are searched: without case, accents kept, names in pieces (`index_put_` is `index put`)."""

from __future__ import annotations

import re
import unicodedata

# Of one word so much; a longer one is found by its beginning.
MOST_CHARACTERS = 40
# Writing without blanks: each sign is a word, and a row of them a phrase.
_SIGN = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
_WORD = re.compile(rf"[{_SIGN}]|[^\W_{_SIGN}]+")


def tokens(text: str) -> list[str]:
    """The words of a text, in order."""
    plain = unicodedata.normalize("NFKC", text).casefold()
    return [found[:MOST_CHARACTERS] for found in _WORD.findall(plain)]
