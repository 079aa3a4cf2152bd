"""Finds the error that a sentence says occurs, among the error types that it names.

Expected and missing errors do not count. Every pattern is linear.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from app.intake.words.vocabulary import EXPECT, FLAGS, INSTEAD, MODALS, TYPE, any_of

_ERROR_NAME = re.compile(
    rf"(?<![\w.])(?P<type>{TYPE}|Exception(?=:[ \t]*\S))(?!\w)(?P<colon>:[ \t]*(?=[^\s]))?"
)
# Words before the name, in its clause, that say the error does not occur.
_NOT_SEEN = re.compile(
    rf"\b(?:{EXPECT}|{any_of(MODALS)} (?:have )?(?:raised?|thrown?|throw|been?|got(?:ten)?|get|given?"
    rf"|give|fail(?:ed)?|produced?)|documented|promised|{any_of(INSTEAD)}"
    r"|no longer raises?|without|no|not|missing|lacking|absent)\b[^.;\n]{0,30}$"
    r"|n['’]t (?:raise|throw)[^.;\n]{0,20}$",
    FLAGS,
)
# Words after the name that say the error does not occur.
_IS_NOT_SEEN = re.compile(
    r"`? (?:(?:is|was|are|were|gets?|got)(?:n['’]t| not| never| no longer) (?:\w+ )?(?:raised|thrown"
    r"|reported|given)|(?:is|was) what (?:[\w'’]+ ){1,4}?(?:expect|want|say|promise|demand"
    r"|document)\w*|(?:(?:is|was|gets?) )?(?:silently )?(?:swallowed|missing|lost|suppressed|ignored"
    r"|gone)|(?:is|was|would be|would have been) (?:the )?(?:expected|right|correct|documented|better"
    r"|appropriate))\b",
    FLAGS,
)
_CLAUSE = re.compile(
    r"\b(?:but|yet|now|however|whereas|while|instead(?! of))\b|[;—–]"
    r"|,(?= (?:but |and |then )?(?:i |we |it |this |that |which |python )?(?:get|got|gets|getting|see"
    r"|saw|raises?|raised|throws?|threw|fails?|is)\b)",
    FLAGS,
)
# The reporter's own words after the message: `ValueError: bad, since 2.1`, `… only on Windows`.
PLACE_AFTER = re.compile(
    r",? (?:since|starting (?:from|with)|only (?:on|in|with|under)) (?:(?:py)?torch|python|version"
    r"|windows|macos|linux|v?\d)|, works in \d",
    FLAGS,
)
_WORDS_AFTER = re.compile(
    r"\s[—–]\s|\s--?\s(?=(?:an?|the|it|i|this|that|which|why|but|works?)\b)|\?(?=\s|$)"
    r"|,? (?:must|should|is|was|gets?|are|has to|can) (?:not |never |being |sometimes "
    r"|always )?(?:be )?(?:raised|thrown|reported|shown|printed|unexpected|wrong)\b"
    r"|,? (?:comes|appears|pops up|shows up)\b"
    r"|,? (?:but (?:i|it|this|that|the|only|works|should)|even though|although|though|whereas"
    r"|instead of|rather than|despite)\b|\s(?:here|now|there)[.!]?$",
    FLAGS,
)
_CLOSING = {"`": "`", '"': '"', "“": "”"}
_MOST_BEFORE, _MOST_NAMES = 60, 40
_ASSERTION = re.compile(
    r"(?<!side )(?<!side-)(?<!static )\b(?:assert(?:ion)?s?(?: (?:in|on|at|of|below|above|statement"
    r"|line|\d{1,3}|the|last|first|second|here)){0,4} (?:fails?|failed|is (?:violated|hit|false)"
    r"|triggers|fires|does(?:n['’]t| not) hold)|assertion errors?)\b",
    FLAGS,
)
_IF = re.compile(r"\b(?:if|unless|when|whether|until|no longer|used to)\b[^.;\n]{0,30}$", FLAGS)


@dataclass(frozen=True, slots=True)
class NamedError:
    """A named error: the last name of its type, its message, and the position of the type."""

    type: str
    message: str
    start: int
    end: int


def seen_error(sentence: str) -> NamedError | None:
    """The first error that occurs, in a sentence. `the assertion fails` names one, too."""
    return next(_seen_errors(sentence), None) or _assertion(sentence)


def _assertion(sentence: str) -> NamedError | None:
    match = _ASSERTION.search(sentence)
    if (
        match is None
        or _NOT_SEEN.search(sentence, max(0, match.start() - _MOST_BEFORE), match.start())
        or _IF.search(sentence, 0, match.start())
    ):
        return None
    return NamedError("AssertionError", "", match.start(), match.end())


def own_message(text: str) -> str:
    """The message without the reporter's own words after it on the same line."""
    for ends in (PLACE_AFTER, _WORDS_AFTER, _WORDS_AFTER):
        text = ends.split(text, maxsplit=1)[0]
    return text.strip()


def _seen_errors(sentence: str) -> Iterator[NamedError]:
    for number, match in enumerate(_ERROR_NAME.finditer(sentence)):
        if number >= _MOST_NAMES:
            return
        before = _CLAUSE.split(sentence[max(0, match.start() - _MOST_BEFORE) : match.start()])[-1]
        if not _NOT_SEEN.search(before) and not _IS_NOT_SEEN.match(sentence, match.end("type")):
            name, message = match["type"].rsplit(".", 1)[-1], _message(sentence, match)
            yield NamedError(name, message, match.start(), match.end("type"))


def _message(sentence: str, match: re.Match[str]) -> str:
    """The message after the type. It ends at the closing quote, if a quote opens before the type."""
    message = sentence[match.end() :].partition("\n")[0] if match["colon"] else ""
    closing = _CLOSING.get(sentence[match.start() - 1 : match.start()])
    return message.partition(closing)[0].strip() if closing and closing in message else own_message(message)
