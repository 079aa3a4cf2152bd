"""Complaints about a value as a whole: `the result is not sorted`, `returns an empty list`."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence

from app.intake.claim.claims import Check, CheckKind, Role, Trait
from app.intake.code.syntax import tree_of
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
_WHOLE = (
    r"\b(?:all|only|nothing but|entirely|completely|just|everything is|every (?:value|element|entry|row) is"
    r"|all (?:the )?(?:values|elements|entries|rows|numbers) (?:are|become|is))[ \t]{1,3}"
)
_ALL_OF: tuple[tuple[Trait, KeyedPattern], ...] = (
    (
        Trait.NOT_ZEROS,
        keyed_pattern("zero zeros zeroes", rf"{_WHOLE}`?zero(?:e?s)?\b|\bzeroe?s everywhere\b"),
    ),
    (Trait.NOT_NAN, keyed_pattern("nan nans", rf"{_WHOLE}`?NaNs?\b|\bNaNs? everywhere\b")),
)
_NUMBERS = {
    Trait.NOT_ZEROS: re.compile(r"[-+]?0(?:\.0{0,20})?"),
    Trait.NOT_NAN: re.compile(r"[-+]?nan", re.IGNORECASE),
}
_BREAK = re.compile(r"[;:(]|,\s|\.\s|\b(?:but|instead|rather)\b")
_DENIED = re.compile(r"\b(?:not|unsorted|isn['’]t|aren['’]t)\b", re.IGNORECASE)
# It is a condition, a wish, or what another version does.
_NO_COMPLAINT = re.compile(
    r"\b(?:if|when|where|unless|because|since|should|must|would|expect\w*|want\w*|documented|input|before|after"
    r"|errors?|exceptions?|warn\w*)\b",
    re.IGNORECASE,
)


def as_whole(check: Check, main: str) -> Check:
    """The check. That a value is nan or zero is one of all its elements, where the sentence says `all`."""
    if check.kind is not CheckKind.VALUE or check.role is not Role.BUG or _prints_of(main) != 1:
        return check
    trait = next((trait for trait, pattern in _ALL_OF if pattern.search(check.text)), None)
    if trait is None or not _NUMBERS[trait].fullmatch(check.number or ""):
        return check
    return Check(text=check.text, kind=CheckKind.LACKS, trait=trait, prints=1, where=check.where)


def _prints_of(main: str) -> int:
    """The number of values that a script prints; 0 if a loop or a function may print."""
    tree = tree_of(main) if "print(" in main else None
    at_top = [
        each.value
        for each in (tree.body if tree else ())
        if isinstance(each, ast.Expr) and isinstance(each.value, ast.Call)
    ]
    names = [call.func.id for call in at_top if isinstance(call.func, ast.Name)]
    return int(names.count("print") == main.count("print(") == 1)


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
    return _lacks_more(main, title, sentences)


def _clause_of(text: str, match: re.Match[str]) -> str:
    """The words around a match, up to the next break behind it."""
    return text[: match.end()] + _BREAK.split(text[match.end() :], maxsplit=1)[0]


def _lacks_more(main: str, title: str, sentences: Sequence[str]) -> list[Check]:
    """The check that the only printed value is nothing but zeros, or nan."""
    if _prints_of(main) != 1:
        return []
    for sentence in (title, *sentences[:_MOST_SENTENCES]):
        text = sentence[:_MOST_SENTENCE]
        for trait, pattern in _ALL_OF:
            # Words about the right value may stand behind the complaint.
            match = pattern.search(text)
            if match is not None and not _NO_COMPLAINT.search(_clause_of(text, match)):
                return [Check(text=text[:_MOST_TEXT], kind=CheckKind.LACKS, trait=trait, prints=1)]
    return []
