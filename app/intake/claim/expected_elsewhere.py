"""What other sentences of a report say should be seen, where what is seen was read from an output or a traceback."""

from __future__ import annotations

import re
from collections.abc import Sequence

from app.intake.claim.claim_text import cut, lines_in, output_check, sentences_in
from app.intake.claim.claims import Check, CheckKind, Role
from app.intake.claim.missing_errors import wanted_error
from app.intake.claim.phrases import expectation
from app.intake.claim.vocabulary import FLAGS, LITERAL, unquoted

_MOST_SENTENCES = 200
_MOST_LINE = 2_000
_SHOULD = r"(?:should|must|ha(?:s|d) to|ought to) (?:be|have been|print|return|give|output|show|say|read)"
_EXPECTED_LINE = re.compile(r"[\s>*_-]*(?:expected|expects?|should be|correct)\b[^:\n]{0,30}:", FLAGS)
# A sentence that is about nothing else: `I expect 3.`, `It should print 3`, `Expected 3`, `Should be 3`.
_EXPECTED_SENTENCE = re.compile(
    r"[\s>*_-]*(?:(?:but|and|so|instead|here|of course|imho|in my opinion),? )?(?:(?:i|we)(?: would"
    r"|['’]d)?(?: have)? (?:expect(?:ed)?|assumed?)\b|expected\b(?! (?:to|by|from))"
    r"|(?:(?:it|this|that|which|the (?:correct |right |printed |last )?(?:result|output|value|answer"
    rf"|number|sum|line)) )?{_SHOULD}\b"
    r"|(?:the )?(?:correct|right|exact|true)(?: (?:result|output|value|answer))? (?:is|would be)\b)",
    FLAGS,
)
_OF_A_LINE = re.compile(
    r"[\s>*_-]*(?:(?:but|and|so) )?(?:the |my )?(?P<place>first|second|third|last)"
    r"(?: (?:one|line|print(?:out)?|value|output|result|number|call|answer))?"
    rf" {_SHOULD} (?P<wanted>{LITERAL})",
    FLAGS,
)
_PLACES = {"first": 0, "second": 1, "third": 2, "last": -1}
_TICKED = re.compile(r"`([^`\n]{1,200})`")


def wanted_elsewhere(checks: Sequence[Check], texts: Sequence[str]) -> list[Check]:
    """What these texts say should be seen in the place of the one thing that is; empty where that was read already, or is a guess."""
    bugs = [check for check in checks if check.role is Role.BUG]
    if len(bugs) != 1 or any(check.role is Role.EXPECTED for check in checks):
        return []
    (bug,) = bugs
    if bug.kind is CheckKind.EXCEPTION:
        return _error(bug, texts)
    if bug.kind is not CheckKind.OUTPUT:
        return []
    wanted = _value(texts) if len(bug.lines) == 1 else _of_a_line(bug.lines, texts) or _all(bug.lines, texts)
    return (
        []
        if wanted is None or (wanted.number or "\n".join(wanted.lines)) == "\n".join(bug.lines)
        else [wanted]
    )


def _error(bug: Check, texts: Sequence[str]) -> list[Check]:
    for text in texts:
        for sentence in sentences_in(text)[:_MOST_SENTENCES]:
            wanted = wanted_error(sentence[:_MOST_LINE])
            if wanted is not None and bug.exception_type and wanted.exception_type != bug.exception_type:
                return [wanted.model_copy(update={"text": cut(wanted.text)})]
    return []


def _value(texts: Sequence[str]) -> Check | None:
    lines = [line for text in texts for line in lines_in(text)][:_MOST_SENTENCES]
    wanted = next(
        (check for line in lines if _EXPECTED_LINE.match(line) and (check := expectation(line))), None
    )
    if wanted is not None:
        return wanted
    sentences = [sentence for text in texts for sentence in sentences_in(text)][:_MOST_SENTENCES]
    return next(
        (
            check
            for each in sentences
            if _EXPECTED_SENTENCE.match(each) and (check := expectation(each[:_MOST_LINE]))
        ),
        None,
    )


def _of_a_line(lines: Sequence[str], texts: Sequence[str]) -> Check | None:
    """`The first should be 2`: the lines that are printed, with that one in its place."""
    for text in texts:
        for sentence in sentences_in(text)[:_MOST_SENTENCES]:
            found = _OF_A_LINE.match(sentence)
            place = _PLACES[found["place"].lower()] if found else 0
            if found and place < len(lines):
                wanted = list(lines)
                wanted[place] = unquoted(found["wanted"])
                return output_check(wanted, role=Role.EXPECTED)
    return None


def _all(lines: Sequence[str], texts: Sequence[str]) -> Check | None:
    """`Expected: `1.0` and `True``: as many values as lines are printed."""
    for text in texts:
        for line in lines_in(text)[:_MOST_SENTENCES]:
            found = re.search(r"\bexpected\b[^`\n]{0,30}", line, FLAGS)
            wanted = _TICKED.findall(line[found.start() :]) if found else []
            if len(wanted) == len(lines):
                return output_check(wanted, role=Role.EXPECTED)
    return None
