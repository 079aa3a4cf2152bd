"""Captions above outputs, such as `Output:`, `Expected result`, `Before:`, `Good (1.10)`."""

from __future__ import annotations

import re

from app.intake.words.vocabulary import ACTUAL, DESIRED, MODALS, RESULTS, RIGHT, SHOW, any_of

_MARKS = r"[\s*_:>=-]{0,6}"
_RESULT = any_of(RESULTS)
_SEEN = re.compile(
    rf"{_MARKS}(?:(?:the |my |actual(?:ly)? |current |observed |real |wrong |printed |console |program "
    rf"|script |seen ){{0,3}}{_RESULT}|{any_of(ACTUAL)}|stdout|printed"
    r"|(?:what )?(?:i|we|you) (?:actually )?(?:see|get|got|saw)(?: is)?(?: this)?"
    r"|what (?:it|is|the (?:script|code|program)) (?:actually )?(?:prints?|printed|returns?|gives?"
    r"|shows?|seen|shown)|(?:(?:it|this|that|which|and|the (?:script|code|program)) )?(?:prints?"
    rf"|gives?|outputs?|shows?|returns?)(?: me| this)?|what happens|(?:heraus )?kommt(?: heraus)?"
    rf"|ausgabe|ergebnis|(?:la )?sortie|résultat|salida|resultado"
    r"|(?:фактический |полученный |текущий )?(?:вывод|результат)|получаю"
    rf"|实际(?:输出|结果)|輸出|输出|結果|结果|出力|実際の(?:出力|結果)){_MARKS}",
    re.IGNORECASE,
)
_EXPECTED = re.compile(
    rf"{_MARKS}(?:(?:the |my )?{any_of(DESIRED, RIGHT)}(?: {_RESULT})?"
    r"|(?:but )?(?:what )?(?:i|we) (?:would )?(?:expect(?:ed)?|want(?:ed)?)(?: is)?"
    rf"|(?:(?:it|this|which|what it) )?{any_of(MODALS)} {any_of(SHOW)}"
    r"|(?:and )?(?:instead of|rather than|in place of|and not|but not)(?: this| the expected)?"
    r"|erwartet(?:e ausgabe|es ergebnis)?|attendu|sortie attendue|esperado|salida esperada"
    r"|ожидается|(?:ожидаемый|ожидаемое)(?: \w+)?"
    rf"|(?:期望|预期|期待)(?:的|される)?(?:输出|结果|出力|結果)?){_MARKS}",
    re.IGNORECASE,
)
_MOST_WORDS = 6
_OLDER = re.compile(
    r"\W*(?:the )?(?:before|old|older|previous(?:ly)?|earlier|good|working|formerly)\b[^\n]{0,80}",
    re.IGNORECASE,
)
_NEWER = re.compile(
    r"\W*(?:the )?(?:after|new|newer|now|current(?:ly)?|bad|broken|wrong|regress\w*|today)\b[^\n]{0,80}",
    re.IGNORECASE,
)
# `Before:` and `After:` alone may be about the script's own steps.
_OF_STEPS = re.compile(r"\W*(?:before|after|now|current(?:ly)?)\W*", re.IGNORECASE)


def is_seen_caption(text: str) -> bool:
    """True if a line is nothing but a caption of what a script prints, such as `Output:`."""
    return _SEEN.fullmatch(text) is not None


def is_expected_caption(text: str) -> bool:
    """True if a line is nothing but a caption of what is right, such as `Expected output:`."""
    return _EXPECTED.fullmatch(text) is not None


def is_older_caption(text: str) -> bool:
    """True if a caption speaks of a state that was good, such as `Old behaviour (1.5)`."""
    return len(text.split()) <= _MOST_WORDS and _OLDER.fullmatch(text.strip()) is not None


def is_newer_caption(text: str) -> bool:
    """True if a caption speaks of the state of now, such as `New behaviour (2.0)`."""
    return len(text.split()) <= _MOST_WORDS and _NEWER.fullmatch(text.strip()) is not None


def may_be_of_steps(text: str) -> bool:
    """True if a caption such as `Before:` names nothing but a time."""
    return _OF_STEPS.fullmatch(text.strip()) is not None
