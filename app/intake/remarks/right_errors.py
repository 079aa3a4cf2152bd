"""Errors that a report calls right: what should come in place of a crash, or of a value that is wrong.

They are no checks. Judging asks whether an error that ends the script at the claimed statement is among them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from app.intake.claim.claim_text import sentences_in
from app.intake.claim.claims import ANY_ERROR, MOST_RIGHT_ERRORS
from app.intake.remarks.lacking_errors import is_wanted
from app.intake.snippets.parts import Part
from app.intake.words.vocabulary import DESIRED, EXPECT, FLAGS, INSTEAD, MODALS, TYPE, any_of

_MOST_SENTENCES = 300
_MOST_LINE = 1_000
_HEADING = "Expected: "
_NOUN = rf"(?:(?i:errors?|exceptions?|traceback)|`?{TYPE}`?)"
_VERB = (
    r"(?:raise[sd]?|raising|throw(?:s|n|ing)?|reject(?:s|ed|ing)?|refuse[sd]?|complain(?:s|ing)?|forbid(?:s|den)?"
    r"|disallow(?:s|ed)?|error(?:s|ed|ing)? out)"
)
_SPEAKS_OF_ERROR = re.compile(rf"(?<![\w.-])(?:{_NOUN}|{_VERB})(?![\w-])", FLAGS)
# Errors of numbers, and error bars.
_OF_NUMBERS = re.compile(
    r"\b(?:max\w*|mean|relative|absolute|rounding|squared|numerical|numeric|approximation|standard|truncation"
    r"|round-?off|prediction|test|train\w*|validation|reconstruction|small|large|tiny|average|total|percentage"
    r"|floating[- ]point|machine|measurement|std|rms|residual|reprojection) errors?\b"
    r"|\berrors? (?:of|below|above|bars?|rates?|bounds?|within|terms?|estimates?|at most|less|smaller|larger"
    r"|in the order|around|metric|norm|function|handling|correction|analysis|model)\b",
    FLAGS,
)
# `no error`, `without raising`, `it should not fail`, and what another thing does or did.
_DENIED = re.compile(
    rf"\b(?:no|not|never|none|without|free of|neither|nor|{any_of(INSTEAD)}|unless|no longer|avoid\w*)\b"
    rf"|n['’]t\b|\berror[- ]free\b|\bsame (?:error|exception)\b",
    FLAGS,
)
# `raise an error instead of returning zeros`, `a segfault rather than a proper exception`.
_IN_PLACE = re.compile(
    rf"\b{any_of(INSTEAD)} (?:(?:just |simply )?(?:raising|throwing|reporting|giving|getting"
    rf"|producing|returning|showing|issuing) )?(?:an? |any |the |some )?(?:\w{{1,14}} ){{0,3}}{_NOUN}(?!\w)"
    rf"|\b(?:raise|throw|report|give|issue|emit)s? (?:an? |the |some )?(?:\w{{1,14}} ){{0,3}}{_NOUN}"
    rf" {any_of(INSTEAD)}\b",
    FLAGS,
)
_WISH = re.compile(
    rf"\b(?:{EXPECT}|{any_of(DESIRED)}|want|would be (?:nice|better|good|great)|i['’]d (?:like|prefer|expect)"
    rf"|please|better|prefer\w*|{any_of(MODALS)}|could)\b",
    FLAGS,
)
# The report complains that bad input is taken.
_TAKES_BAD_INPUT = re.compile(
    r"\b(?:accepts?|allows?|takes|passes|permits?) (?:an? |the |any |some )?(?:\w{1,14} )?"
    r"(?:invalid|illegal|wrong|bad|nonsensical|malformed|out[- ]of[- ](?:range|bounds?)|inconsistent|negative"
    r"|incompatible|mismatched|unsupported) "
    r"|\b(?:no|missing|lacks?|without|lacking) (?:any )?(?:input |argument |parameter |bounds? |shape |size "
    r"|range |sanity |domain |type )?(?:validation|checks?|checking)\b"
    r"|\b(?:should|must|needs? to|has to) (?:be )?(?:check(?:ed)?|validat(?:e|ed)|verif(?:y|ied))\b"
    r"|\b(?:nobody|nothing|no one|does(?:n['’]t| not)|did(?:n['’]t| not)) (?:even )?complains?\b"
    r"|\bwithout (?:any )?(?:complain\w*|complaint|a word)\b",
    FLAGS,
)
_CLAUSE = re.compile(r"[;,:.]\s|\bbut\b", FLAGS)
_MOST_BEFORE = 80
_TYPES = re.compile(rf"(?<![\w.]){TYPE}(?!\w)")
_TRACEBACK = re.compile(rf"^(?P<type>{TYPE})(?::|$)", re.MULTILINE)
_HEAD = "Traceback (most recent call last)"
_COMMENT = re.compile(r"#\s?(?P<text>[^\n]{3,300})")


def errors_called_right(
    texts: Sequence[str], should: Sequence[str], outputs: Sequence[Part], main: str
) -> tuple[str, ...]:
    """The types of errors that the report calls right, without their modules; `Exception` stands for any.

    `should` are lines about what is expected, and `outputs` those that are right. Empty if some line of
    `should` asks for no error.
    """
    wishes = [line[:_MOST_LINE] for line in should if _speaks_of_error(line)]
    if any(_denies(wish) for wish in wishes):
        return ()
    comments = [match["text"] for match in _COMMENT.finditer(main[: _MOST_LINE * 20])]
    sentences = [sentence[:_MOST_LINE] for text in (*texts, *comments) for sentence in sentences_in(text)][
        :_MOST_SENTENCES
    ]
    wishes += [sentence for sentence in sentences if _asks_for_error(sentence)]
    types = {name for wish in wishes for name in _types_in(wish)}
    types_of_outputs = {name for part in outputs for name in _shown_types(part.text)}
    if not types and (wishes or types_of_outputs):
        # Another library shows which error it raises, perhaps.
        types = {ANY_ERROR}
    return tuple(sorted(types | types_of_outputs))[:MOST_RIGHT_ERRORS]


def _speaks_of_error(line: str) -> bool:
    return _SPEAKS_OF_ERROR.search(_OF_NUMBERS.sub(" ", line.removeprefix(_HEADING))) is not None


def _denies(line: str) -> bool:
    """Whether the line asks for no error. `raise an error instead of` and `an error rather than` do not."""
    plain = _OF_NUMBERS.sub(" ", line)
    return all(
        _DENIED.search(_clause_before(plain, match.start())) is not None
        for match in _SPEAKS_OF_ERROR.finditer(plain)
    )


def _clause_before(text: str, end: int) -> str:
    """The words before a place that belong to it: after the last break, and after `if … I expect`."""
    before = _CLAUSE.split(text[max(0, end - _MOST_BEFORE) : end])[-1]
    wishes = list(_WISH.finditer(before))
    return before[wishes[-1].start() :] if wishes else before


def _asks_for_error(sentence: str) -> bool:
    plain = _OF_NUMBERS.sub(" ", sentence)
    if is_wanted(plain) or _TAKES_BAD_INPUT.search(plain):
        return True
    return _IN_PLACE.search(plain) is not None and _is_wish(plain)


def _is_wish(sentence: str) -> bool:
    """Whether the sentence says what is wanted, or what is missing in place of an error."""
    in_place = re.search(rf"\b{any_of(INSTEAD)} ", sentence, FLAGS)
    error = _SPEAKS_OF_ERROR.search(sentence)
    after = in_place is not None and error is not None and in_place.start() < error.start()
    # `It returns zeros instead of an error` needs no wish. `It raises an error instead of 3` is the bug.
    return after or _WISH.search(sentence) is not None


def _types_in(text: str) -> Iterator[str]:
    for match in _TYPES.finditer(text):
        name = match[0].rsplit(".", 1)[-1].strip("`_")
        if not name.endswith("Warning"):
            yield name


def _shown_types(text: str) -> Iterator[str]:
    if _HEAD in text:
        yield ANY_ERROR
    for match in _TRACEBACK.finditer(text):
        yield match["type"].rsplit(".", 1)[-1]
