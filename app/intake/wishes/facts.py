"""Facts that a report states about the true result: `one sees that the cheapest path costs 2`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from app.intake.words.keyed_pattern import keyed_pattern

_MOST_SENTENCES = 200
_MOST_SENTENCE = 600
_SEES = keyed_pattern(
    "see sees seen obvious obviously clear clearly evident evidently sieht sehen voit voir ve vede vedere",
    r"\b(?:(?:one|you|we|I)(?: (?:can|may|will|could))?(?: \w{1,12})?(?: sees?)|easy to see|can be seen"
    r"|(?:is|it['’]s) (?:obvious|clear|evident)|sieht man|man sieht|(?:man|wir) sehen|on voit|se ve"
    r"|si vede)\b"
    r"(?P<rest>[^.;!?\n]{0,20}?\b(?:that|dass|que|che|daß|there)\b[^;!?\n]{1,300})",
)
_NUMBER = re.compile(r"(?<![\w.,:])[-+]?\d{1,12}(?:\.\d{1,16})?(?:e[-+]?\d{1,3})?(?![\w:]|[.,]\d)")
_LIST = re.compile(r"\((?P<items>[^()\n]{3,280})\)")
_CODE = re.compile(r"`(?P<code>[^`\n]{1,200})`")
_DENIES = re.compile(
    r"\b(?:not|never|wrong\w*|incorrect\w*|bug|nicht|kein\w*|falsch|pas|faux|no)\b|n['’]t\b", re.IGNORECASE
)
_LEAST_COMMAS = 2


def facts_in(sentences: Sequence[str]) -> tuple[str, ...]:
    """The values of such sentences: numbers, lists in parentheses, and values between backticks."""
    return tuple(dict.fromkeys(_facts_in(sentences)))


def _facts_in(sentences: Sequence[str]) -> Iterator[str]:
    for sentence in sentences[:_MOST_SENTENCES]:
        match = _SEES.search(sentence[:_MOST_SENTENCE])
        if match is None or _DENIES.search(match[0]):
            continue
        rest = match["rest"]
        for items in _LIST.finditer(rest):
            if items["items"].count(",") >= _LEAST_COMMAS:
                yield items["items"].strip()
        plain = _LIST.sub(" ", rest)
        for code in _CODE.finditer(plain):
            yield code["code"].strip()
        yield from _NUMBER.findall(_CODE.sub(" ", plain))
