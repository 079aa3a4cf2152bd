"""Complaints about a value as a whole: `the result is not sorted`, `returns an empty list`."""

from __future__ import annotations

import re
from collections.abc import Sequence

from app.intake.claim.claims import Check, CheckKind, Trait
from app.intake.words.keyed_pattern import KeyedPattern, keyed_pattern

_MOST_SENTENCES = 200
_MOST_SENTENCE = 600
_MOST_TEXT = 300
_VALUE = (
    r"(?:results?|outputs?|values?|lists?|arrays?|keys|columns|rows|index|order|eigenvalues?|roots?|numbers?"
    r"|it|they|that|this)"
)
_RETURNS = r"(?:returns?|returned|gives?|gave|prints?|yields?|produces?|outputs?|gets?|got)"
_OBJECT = r"(?:list|array|set|dict|dictionary|string|tuple|tensor|frame|dataframe|series|result|output|index)"
_BETWEEN = r"(?: [^\s.,;:()]{1,15}){0,4}?"
_COMPLAINTS: tuple[tuple[Trait, KeyedPattern], ...] = (
    (
        Trait.SORTED,
        keyed_pattern(
            "sorted unsorted order",
            rf"\b{_VALUE}{_BETWEEN} (?:is|are|comes? (?:out|back)|isn['’]t|aren['’]t) "
            r"(?:not )?(?:in )?(?:unsorted|sorted|ascending order|increasing order)\b",
        ),
    ),
    (
        Trait.REAL,
        keyed_pattern(
            "complex imaginary",
            rf"\b(?:{_VALUE}{_BETWEEN} (?:is|are|becomes?|comes? out(?: as)?) complex(?! type)"
            rf"|{_RETURNS}(?: an?)? (?:complex|imaginary) {_VALUE})\b",
        ),
    ),
    (
        Trait.NOT_EMPTY,
        keyed_pattern(
            "empty",
            rf"\b(?:{_RETURNS} (?:only )?an? empty {_OBJECT}(?!['’])|{_OBJECT} is (?:always )?empty)\b",
        ),
    ),
    (
        Trait.SUMS_TO_ONE,
        keyed_pattern(
            "sum add", r"\b(?:do not|don['’]t|does not|doesn['’]t) (?:sum|add)(?: up)? to (?:1|one)\b(?!\.\d)"
        ),
    ),
)
_DENIED = re.compile(r"\b(?:not|unsorted|isn['’]t|aren['’]t)\b", re.IGNORECASE)
# It is a condition, a wish, or what another version does.
_NO_COMPLAINT = re.compile(
    r"\b(?:if|when|where|unless|because|since|should|must|would|expect\w*|want\w*|documented|input|before|after"
    r"|errors?|exceptions?|warn\w*)\b",
    re.IGNORECASE,
)


def lacks_trait(main: str, title: str, sentences: Sequence[str]) -> list[Check]:
    """The check that the last printed value lacks a trait, where a report complains of one."""
    if "print" not in main:
        return []
    for sentence in (title, *sentences[:_MOST_SENTENCES]):
        text = sentence[:_MOST_SENTENCE]
        for trait, pattern in _COMPLAINTS:
            match = pattern.search(text)
            if match is None or _NO_COMPLAINT.search(text):
                continue
            if trait is not Trait.SORTED or _DENIED.search(match[0]):
                return [Check(text=text[:_MOST_TEXT], kind=CheckKind.LACKS, trait=trait)]
    return []
