"""Facts that a report states about the true result.

`One sees that the cheapest path costs 2`, and what anybody can reckon: `3.0 is halfway between 2 and 4`.
Also what it calculates by hand: `this leaves 2 and 3, that is 2.5`, `(2 + 3) / 2 = 2.5`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence

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
_N = r"`?(?P<{}>[-+]?\d{{1,12}}(?:\.\d{{0,16}})?)(?![\w%]|[.,]\d)`?"
_OF_TWO = (
    r"(?:exactly |just |right |precisely )?(?:at )?(?:the )?(?:(?P<mean>half ?-?way|midway|middle|mid-?point"
    r"|mean|average|in the middle)|(?P<sum>sum)|(?P<product>product)) (?:point )?(?:value )?(?:of|between) "
    rf"{_N.format('one')} and {_N.format('other')}"
)
_IS = r"(?: is| would be| lies| are|,| =)"
_RECKONED = tuple(
    keyed_pattern("halfway way midway middle midpoint mid mean average sum product", pattern)
    for pattern in (
        rf"(?<![\w.]){_N.format('value')}{_IS} {_OF_TWO}",
        rf"{_OF_TWO}{_IS} {_N.format('value')}",
    )
)
_RECKON: Mapping[str, Callable[[float, float], float]] = {
    "mean": lambda one, other: (one + other) / 2,
    "sum": lambda one, other: one + other,
    "product": lambda one, other: one * other,
}

_RESULT = r"(?P<value>`[^`\n]{1,80}`|[-+]?\d{1,12}(?:\.\d{1,16})?(?!\w|\.\d))(?=\s*(?:[.,;:!)]|$))"
_TEXT = r"(?:[^.;!?\n]|\.(?=\d))"
# `The two in the middle are 4 and 9, which makes 6.5`.
_CALCULATES = (
    keyed_pattern(
        "that which so makes making hence thus therefore ergibt macht sind donc fait decir",
        rf"(?P<from>{_TEXT}{{3,200}}?)[,:–—-]? (?:(?:so )?that(?:['’]s| is| makes| gives)"
        r"|which (?:is|makes|gives)|making|so|hence|thus|therefore|das (?:sind|macht|ergibt)"
        rf"|donc|ce qui fait|es decir) {_RESULT}",
    ),
    keyed_pattern(
        "mean average median sum product difference mittelwert summe moyenne suma",
        r"\b(?:mean|average|median|sum|product|difference|mittelwert|summe|moyenne|suma)"
        rf" (?:of|between|von|de)(?P<from>{_TEXT}{{3,120}}?) (?:is|are|=|ist|est|es) {_RESULT}",
    ),
)
_FORMULA = re.compile(r"(?<![\w.)\]=`])(?P<from>[\d(](?:[\d.()]|[ ]?[-+*/][ ]?){2,80})[ ]?=[ ]?" + _RESULT)
# Words about the program, and guesses about what it does.
_OF_PROGRAM = re.compile(
    r"\b(?:it|i|we|numpy|scipy|pandas|torch|function|method|code|script|program|library|implementation"
    r"|seems?|apparently|probably|maybe|perhaps|looks|as (?:if|though)|instead|prints?|returns?|outputs?"
    r"|shows?|gets?|got|computes?|calculates?|takes?|uses?|treats?|counts?|shape|version|offenbar|wohl|peut-être)\b",
    re.IGNORECASE,
)


def facts_in(sentences: Sequence[str]) -> tuple[str, ...]:
    """The values of such sentences: numbers, lists in parentheses, and values between backticks."""
    return tuple(dict.fromkeys(_facts_in(sentences)))


def _facts_in(sentences: Sequence[str]) -> Iterator[str]:
    for sentence in sentences[:_MOST_SENTENCES]:
        yield from _reckoned_in(sentence[:_MOST_SENTENCE])
        yield from _calculated_in(sentence[:_MOST_SENTENCE])
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


def _reckoned_in(sentence: str) -> Iterator[str]:
    """The mean, the sum or the product of two numbers that a sentence names, if it is so."""
    for pattern in _RECKONED:
        for match in pattern.finditer(sentence):
            name = next(name for name in _RECKON if match[name])
            right = _RECKON[name](float(match["one"]), float(match["other"]))
            if math.isclose(float(match["value"]), right) and not _DENIES.search(sentence):
                yield match["value"].removesuffix(".")


def _calculated_in(sentence: str) -> Iterator[str]:
    """The results that a sentence calculates from at least two numbers, and not as what the program does."""
    if not any(map(str.isdigit, sentence)):
        return
    for pattern in (*_CALCULATES, *((_FORMULA,) if "=" in sentence else ())):
        for match in pattern.finditer(sentence):
            words = sentence[: match.start("value")]
            if len(_NUMBER.findall(match["from"])) > 1 and not (
                _OF_PROGRAM.search(words) or _DENIES.search(sentence)
            ):
                yield match["value"].strip("`").strip()
