"""Complaints that a call gives back what it got: `the frame comes back unchanged`."""

from __future__ import annotations

import re
from collections.abc import Sequence

from app.intake.claim.claims import Check, CheckKind, Trait
from app.intake.snippets.calls.printed_inputs import input_of_print
from app.intake.words.keyed_pattern import keyed_pattern

_MOST_SENTENCES = 200
_MOST_SENTENCE = 600
_MOST_TEXT = 300
_VALUE = (
    r"(?:results?|outputs?|values?|lists?|arrays?|strings?|tensors?|(?:data)?frames?|series|it|they|that"
    r"|this)"
)
_UNCHANGED = keyed_pattern(
    "unchanged unmodified untouched same identical equal input original argument",
    rf"\b{_VALUE} (?:just |simply |only )?(?:(?:comes?|came|is|are|gets?|was|were) (?:back |returned |left )?"
    r"|stays? |remains? )(?:completely |simply |just |entirely )?(?:unchanged|unmodified|untouched)\b"
    r"|\b(?:gives?|returns?|prints?|gets?|got|is|are) (?:(?:me|back|just|simply|only|exactly) ){0,3}"
    r"(?:the same as|identical to|equal to) (?:the|its|my) (?:input|original|argument)\b"
    r"|\breturns (?:me )?(?:its|the|my) (?:input|argument|original \w{1,20})\b"
    r"(?: unchanged| unmodified| as it is| itself)?(?=[.,;!]|$)",
)
# It is a condition, a wish, or what is right.
_NO_COMPLAINT = re.compile(
    r"\b(?:if|when|where|unless|because|since|should|must|would|expect\w*|want\w*|documented|correctly|good|fine"
    r"|right|not|never|no|errors?|exceptions?)\b|n['’]t\b",
    re.IGNORECASE,
)
_BREAK = re.compile(r"[;:(]|,\s|\.\s|\b(?:but|instead|rather)\b")


def lacks_effect(main: str, title: str, sentences: Sequence[str]) -> list[Check]:
    """The check that a call gives back what it got, where a report complains of it.

    The script then prints both.
    """
    if "print(" not in main or not input_of_print(main):
        return []
    for sentence in (title, *sentences[:_MOST_SENTENCES]):
        text = sentence[:_MOST_SENTENCE]
        match = _UNCHANGED.search(text)
        if match is None:
            continue
        clause = text[: match.start()] + _BREAK.split(text[match.end() :], maxsplit=1)[0]
        if not _NO_COMPLAINT.search(clause):
            kind, trait = CheckKind.LACKS, Trait.DISTINCT
            return [Check(text=text[:_MOST_TEXT], kind=kind, trait=trait, among=(1, 2), prints=2)]
    return []
