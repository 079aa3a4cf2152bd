"""Finds the expected value in other sentences, if the bug was read from an output or a traceback."""

from __future__ import annotations

import re
from collections.abc import Sequence

from app.intake.claim.claim_text import cut, lines_in, output_check, sentences_in
from app.intake.claim.claims import Check, CheckKind, Role
from app.intake.claim.missing_errors import expected_error
from app.intake.claim.phrases import expected_check
from app.intake.words.vocabulary import FLAGS, LITERAL, MODALS, NUMBER, SHOW, any_of, strip_quotes

_MOST_SENTENCES = 200
_MOST_LINE = 2_000
_SHOULD = rf"{any_of(MODALS)} {any_of(SHOW)}"
_EXPECTED_LINE = re.compile(r"[\s>*_-]*(?:expected|expects?|should be|correct)\b[^:\n]{0,30}:", FLAGS)
# A sentence about nothing else: `I expect 3.`, `It should print 3`, `Expected 3`, `Should be 3`.
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
    rf" {_SHOULD} (?P<expected>{LITERAL})",
    FLAGS,
)
# `0` is right; the right value is `0`.
_IS_RIGHT = re.compile(
    rf"`?(?P<before>{LITERAL})`? (?:is|would be) (?:the )?(?:right|correct|expected)\b"
    rf"|\b(?:right|correct|expected)(?: (?:one|value|result|answer|output))? (?:is"
    rf"|would be) `?(?P<after>{LITERAL})`?",
    FLAGS,
)
_LITERALS = re.compile(rf"(?<![\w.])(?:True|False|None|{NUMBER})", FLAGS)
_PLACES = {"first": 0, "second": 1, "third": 2, "last": -1}
_TICKS = re.compile(r"`([^`\n]{1,200})`")


def find_expected_elsewhere(checks: Sequence[Check], texts: Sequence[str]) -> list[Check]:
    """The expected check for the one bug of these checks.

    Empty if there is one already, or if it would be a guess.
    """
    bugs = [check for check in checks if check.role is Role.BUG]
    if len(bugs) != 1 or any(check.role is Role.EXPECTED for check in checks):
        return []
    (bug,) = bugs
    if bug.kind is CheckKind.EXCEPTION:
        return _error(bug, texts) or _value_instead_of_error(texts)
    if bug.kind is not CheckKind.OUTPUT:
        return []
    expected = (
        _lone_value(texts)
        if len(bug.lines) == 1
        else _one_line(bug.lines, texts) or _all_lines(bug.lines, texts) or _twin(bug.lines, texts)
    )
    return (
        []
        if expected is None or (expected.number or "\n".join(expected.lines)) == "\n".join(bug.lines)
        else [expected]
    )


def _error(bug: Check, texts: Sequence[str]) -> list[Check]:
    for text in texts:
        for sentence in sentences_in(text)[:_MOST_SENTENCES]:
            expected = expected_error(sentence[:_MOST_LINE])
            if expected is not None and bug.exception_type and expected.exception_type != bug.exception_type:
                return [expected.model_copy(update={"text": cut(expected.text)})]
    return []


def _value_instead_of_error(texts: Sequence[str]) -> list[Check]:
    """The output that is expected where an error is raised, as in `It should print 3`."""
    expected = _lone_value(texts)
    return [] if expected is None else [expected]


def _lone_value(texts: Sequence[str]) -> Check | None:
    lines = [line for text in texts for line in lines_in(text)][:_MOST_SENTENCES]
    expected = next(
        (check for line in lines if _EXPECTED_LINE.match(line) and (check := expected_check(line))), None
    )
    if expected is not None:
        return expected
    sentences = [sentence for text in texts for sentence in sentences_in(text)][:_MOST_SENTENCES]
    return next(
        (
            check
            for each in sentences
            if _EXPECTED_SENTENCE.match(each) and (check := expected_check(each[:_MOST_LINE]))
        ),
        None,
    )


def _one_line(lines: Sequence[str], texts: Sequence[str]) -> Check | None:
    """Read `The first should be 2`: the printed lines, with this one replaced."""
    for text in texts:
        for sentence in sentences_in(text)[:_MOST_SENTENCES]:
            match = _OF_A_LINE.match(sentence)
            place = _PLACES[match["place"].lower()] if match else 0
            if match and place < len(lines):
                expected_lines = list(lines)
                expected_lines[place] = strip_quotes(match["expected"])
                return output_check(expected_lines, role=Role.EXPECTED)
    return None


def _twin(lines: Sequence[str], texts: Sequence[str]) -> Check | None:
    """Read `(`0` is right)` above two lines that should be equal: both should be the line with this value."""
    values = {
        strip_quotes(match["before"] or match["after"])
        for text in texts
        for match in _IS_RIGHT.finditer(text[:_MOST_LINE])
    }
    if len(lines) != 2 or len(values) != 1:
        return None
    (value,) = values
    right = [line for line in lines if value in _LITERALS.findall(line)]
    same_form = len({_LITERALS.sub(" ", line) for line in lines}) == 1
    return output_check([right[0], right[0]], role=Role.EXPECTED) if len(right) == 1 and same_form else None


def _all_lines(lines: Sequence[str], texts: Sequence[str]) -> Check | None:
    """Read `Expected: `1.0` and `True``: as many values as there are printed lines."""
    for text in texts:
        for line in lines_in(text)[:_MOST_SENTENCES]:
            match = re.search(r"\bexpected\b[^`\n]{0,30}", line, FLAGS)
            expected_lines = _TICKS.findall(line[match.start() :]) if match else []
            if len(expected_lines) == len(lines):
                return output_check(expected_lines, role=Role.EXPECTED)
    return None
