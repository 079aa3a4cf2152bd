"""Reads that an error is missing where the report says it over several sentences, or under headings."""

from __future__ import annotations

import re
from collections.abc import Sequence

from app.intake.claim.claim_text import cut, sentences_in
from app.intake.claim.claims import Check, CheckKind, Role
from app.intake.memory import remembers
from app.intake.words.vocabulary import DESIRED, EXPECT, FLAGS, INSTEAD, MODALS, TYPE, any_of

_ERROR = (
    rf"(?:an? |any |the |some |une? |eine[nr]? |un )?(?:\w{{1,12}} )?(?:(?i:errors?|exceptions?)|`?{TYPE}`?)"
)
_RAISED = (
    r"(?:raised?|raises|thrown?|throws?|rejected?|error(?: out)?|fail(?: with)?|refused?|complain"
    r"|reported?|reports?)"
)
_WANTED = re.compile(
    rf"\b{any_of(MODALS, 'would')}(?: (?:have|be|been|just|rather|also|always|really|simply"
    rf"|instead))* {_RAISED}\b"
    rf"|\b(?:{EXPECT}|want(?:ed)?)\b:?[^.;,\n]{{0,30}}?(?<!no )(?<!without ){_ERROR}(?!\w)"
    rf"|(?<!\w)(?<!no ){_ERROR} (?:would|should) (?:be|have been|come|appear|\w+ be) ?(?:right|correct"
    rf"|better|nice|good"
    r"|raised|thrown|expected|appropriate|given|shown)?(?!\w)"
    rf"|(?<!\w)(?<!no ){_ERROR} (?:is|was) (?:expected|wanted|due)\b|\bwould expect {_ERROR}",
    FLAGS,
)
_UNDER_HEADING = re.compile(
    rf"Expected:[\s*_-]{{0,4}}(?:it |that |this )?(?:to )?(?:{_RAISED} )?(?:with )?{_ERROR}(?:[.!]|:"
    rf"| with\b| is\b|$)"
    rf"|Expected:[\s*_-]{{0,4}}(?:it |that |this |the \w{{1,20}} )?(?:{any_of(MODALS)} )?(?:be )?{_RAISED}\b",
    FLAGS,
)
_ABSENT = re.compile(
    r"\b(?:no|without(?: any| an?)?) (?:errors?|exceptions?|warnings?|complaints?|message)\b"
    r"|\bwithout (?:a word|complain\w*|rais\w+|throw\w+|failing)"
    r"|\bnothing (?:happens|is raised|is thrown|gets raised)\b|\b(?:silently|quietly) (?:\w+)"
    r"|\b(?:accepts?|takes|passes|succeeds|completes|is accepted|goes through|runs through|runs fine)\b"
    rf"|\bno `?{TYPE}|\b(?:does|did|do|is|was|are)(?: not|n['’]t) (?:even )?(?:{_RAISED})\b",
    FLAGS,
)
_DENIED = re.compile(
    rf"\b(?:not|never|n['’]t|no longer|without|if|unless|when|{any_of(INSTEAD)}|used to|previously"
    rf"|in (?:numpy|eager))\b"
    r"|n['’]t\b",
    FLAGS,
)
_TYPES = re.compile(rf"(?<![\w.]){TYPE}(?!\w)")
_WISHED = re.compile(rf"\b(?:{any_of(MODALS, DESIRED)}|{EXPECT})\b[^.;]{{0,40}}$", FLAGS)
_MOST_SENTENCES = 300
_MOST_LINE = 1_000


def lacking_error(texts: Sequence[str], *, alone: bool) -> list[Check]:
    """The check that an error is missing, and the error that is right, if its type is named.

    Lines under a heading for what is expected begin with `Expected:`. Unless `alone`, another sentence has to
    say that no error comes.
    """
    sentences = [each[:_MOST_LINE] for text in texts for each in _sentences(text)][:_MOST_SENTENCES]
    wishes = [each for each in sentences if is_wanted(each)]
    if not wishes or not (alone or any(map(_is_absent, sentences))):
        return []
    types = {match[0].rsplit(".", 1)[-1] for each in wishes for match in _TYPES.finditer(each)}
    others = {match[0].rsplit(".", 1)[-1] for each in sentences for match in _TYPES.finditer(each)} - types
    if len(types) > 1 or others:
        # Some other error is raised, perhaps.
        return []
    kind = next(iter(types), None)
    bug = Check(text=cut(wishes[0]), kind=CheckKind.NO_ERROR, exception_type=kind)
    if kind is None:
        return [bug]
    right = Check(
        text=cut(wishes[0]), kind=CheckKind.EXCEPTION, role=Role.EXPECTED, exception_type=kind, message=""
    )
    return [bug, right]


def _sentences(text: str) -> list[str]:
    """The sentences. A line under a heading is one of its own."""
    lines = text.split("\n")
    own = [line for line in lines if line.startswith("Expected:")]
    return [*own, *sentences_in("\n".join(line for line in lines if not line.startswith("Expected:")))]


@remembers()
def is_wanted(sentence: str) -> bool:
    """Whether the sentence says that an error is wanted."""
    if _UNDER_HEADING.match(sentence):
        return not _DENIED.search(sentence)
    match = _WANTED.search(sentence)
    return (
        match is not None
        and not _DENIED.search(sentence, max(0, match.start() - 60), match.end())
        and not _ABSENT.search(match[0])
    )


def _is_absent(sentence: str) -> bool:
    match = _ABSENT.search(sentence)
    # `no error is expected` and `it should run without errors` are the opposite.
    return match is not None and not _WISHED.search(sentence, max(0, match.start() - 60), match.start())
