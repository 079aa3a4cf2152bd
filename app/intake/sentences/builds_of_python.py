"""Finds out whether something is said to go wrong only in the free-threaded build of Python.

No other build can show that it is gone.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from app.intake.claim.claim_text import sentences_in
from app.intake.claim.claims import Where

FREE_THREADED = "free-threaded build"
_NAMES = re.compile(
    r"\bfree[- ]?thread(?:ed|ing)\b|\bno[- ]?gil\b|\bgil[- ](?:free|less|disabled)\b"
    r"|(?<![\w.])3\.1[3-9]t(?!\w)|\bpython3\.1[3-9]t\b|\b(?:cp|py)31[3-9]t\b|\bPYTHON_GIL=0"
    r"|-X ?gil=0|--disable-gil|\b(?:without|ohne|sans|sin|senza|без) (?:the |a |den |le |el |il )?GIL\b"
    r"|\bGIL (?:is |was )?(?:disabled|off|turned off|switched off)\b"
    r"|\b(?:disabled?|turn(?:ed)? off) the GIL\b|(?:无|無|关闭|禁用) ?GIL",
    re.IGNORECASE,
)
_OF_BUILD = re.compile(r"3\.1\dt|31\dt", re.IGNORECASE)
_VERSION = re.compile(
    r"(?<![\w.])(?:(?:python ?|py)?(?P<dotted>3\.1[3-9])|(?:cp|py)3(?P<short>1[3-9]))(?=t?(?![\w.]*\d))"
)
_CLAUSE = re.compile(r"[,;:](?=\s)|\b(?:but|while|whereas|and|yet|aber|mais|pero)\b", re.IGNORECASE)
_FINE = re.compile(
    r"\b(?:fine|ok(?:ay)?|correct(?:ly)?|right|as expected|no (?:problem|error|crash|issue|difference)s?"
    r"|(?<!not )(?<!n't )(?<!never )works?|passes)\b"
    r"|(?:\b(?:not|never|cannot)\b|n['’]t\b)(?: \w{1,12})? (?:happen|occur|fail|crash|see|reproduce|appear"
    r"|hang|show|affect\w*|needed?|requires?d?|about)\b",
    re.IGNORECASE,
)
_EVERYWHERE = re.compile(
    r"\btoo(?=[.,;:!)]|$)|\b(?:also|both|either|regardless|with or without|as well|even|not only"
    r"|same|whether)\b",
    re.IGNORECASE,
)
_WRONG = re.compile(
    r"\b(?:only|see|sees|saw|get|gets|got|have|fail\w*|drops?|dropped|los[et]s?|lost|wrong\w*|crash\w*|segfault\w*"
    r"|hang\w*|deadlock\w*|races?|errors?|happen\w*|occur\w*|prints?|printed|gives?|gave|shows?|returns?|appear\w*"
    r"|reproduc\w*|bugs?|problems?|issues?|affected|breaks?|broken|corrupt\w*|dies|died|raises?|output|result|nur"
    r"|seulement|solo|passiert)\b|\w(?:Error|Exception)\b",
    re.IGNORECASE,
)
_MOST_SENTENCES = 100
_MOST_SENTENCE = 600


def with_build(place: Where, texts: Sequence[str]) -> Where:
    """The place of a bug, with the free-threaded build and its version if the bug is said to be there only.

    The first text is the title.
    """
    build = _place_of_build(texts)
    return Where(**{**place.model_dump(exclude_none=True), **build.model_dump(exclude_none=True)})


def _place_of_build(texts: Sequence[str]) -> Where:
    """Empty if the bug is said to be elsewhere too, or all to be right there."""
    if not any(map(_may_name, texts)):
        return Where()
    sentences = [(texts[0], True)] + [
        (each[:_MOST_SENTENCE], False) for text in texts[1:] for each in sentences_in(text)[:_MOST_SENTENCES]
    ]
    named = [(sentence, is_title) for sentence, is_title in sentences if _NAMES.search(sentence)]
    if any(_EVERYWHERE.search(sentence) or _FINE.search(_clause_of(sentence)) for sentence, _ in named):
        return Where()
    wrong = [sentence for sentence, is_title in named if is_title or _WRONG.search(sentence)]
    if not wrong:
        return Where()
    version = next((version for sentence, _ in named if (version := _version_in(sentence))), None)
    return Where(version=version and f"python {version}", mode=FREE_THREADED)


def _may_name(text: str) -> bool:
    """False if no sentence of a text can name the build. Most say nothing like it."""
    words = text.lower()
    return any(part in words for part in ("gil", "free thread", "free-thread", "freethread")) or (
        ("3.1" in words or "p31" in words or "py31" in words) and _OF_BUILD.search(words) is not None
    )


def _clause_of(sentence: str) -> str:
    """The clause that names the build."""
    match = _NAMES.search(sentence)
    start, end = (match.start(), match.end()) if match else (0, len(sentence))
    first = max((each.end() for each in _CLAUSE.finditer(sentence, 0, start)), default=0)
    last = next((each.start() for each in _CLAUSE.finditer(sentence, end)), len(sentence))
    return sentence[first:last]


def _version_in(sentence: str) -> str | None:
    match = _VERSION.search(_clause_of(sentence)) or _VERSION.search(sentence)
    return None if match is None else match["dotted"] or f"3.{match['short']}"
