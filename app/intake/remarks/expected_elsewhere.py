"""Finds the expected value in other sentences, if the bug was read from an output or a traceback."""

from __future__ import annotations

import re
from collections.abc import Sequence

from app.intake.claim.claim_text import cut, lines_in, output_check, sentences_in
from app.intake.claim.claims import Check, CheckKind, Role
from app.intake.claim.expected_values import opposed_value
from app.intake.claim.missing_errors import expected_error
from app.intake.claim.phrases import expected_check, literal_check
from app.intake.claim.value_mentions import find_mentions, lone_expected_value
from app.intake.words.vocabulary import FLAGS, LITERAL, MODALS, NUMBER, SHOW, any_of, is_number, strip_quotes

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
    r"[\s>*_-]*(?:(?:but|and|so|only|hence|therefore|thus) )?(?:the |my )?"
    r"(?P<place>first|second|third|fourth|fifth|last)"
    r"(?: (?:one|line|print(?:out)?|value|output|result|number|call|answer))?"
    rf"(?: is (?:wrong|incorrect|not right)[,;:]? (?:and |it |this |that ){{0,2}})? {{0,1}}"
    rf"{_SHOULD} (?P<expected>{LITERAL})",
    FLAGS,
)
_OF_EACH_LINE = re.compile(
    r"[\s>*_-]*(?:(?:but|and|so) )?(?:both|all|all of them|each|they(?: both| all)?)(?: (?:of them|lines?"
    r"|values?|sides?|outputs?|results?|numbers?|two|three)){0,2}"
    rf" {any_of(MODALS)}(?: both| all)? {any_of(SHOW)} (?P<expected>{LITERAL})",
    FLAGS,
)
# `The first is correct`, `the second one is wrong`.
_RIGHT_LINE = re.compile(
    r"\b(?P<place>first|second)(?: (?:one|line|value|result|output|number))? (?:is|was) (?:the )?"
    r"(?:(?P<right>right|correct|expected|ok|fine)|(?:wrong|incorrect|not (?:right|correct)))\b",
    FLAGS,
)
# `0` is right; the right value is `0`.
_IS_RIGHT = re.compile(
    rf"`?(?P<before>{LITERAL})`? (?:is|would be) (?:the )?(?:right|correct|expected)\b"
    rf"|\b(?:right|correct|expected)(?: (?:one|value|result|answer|output))? (?:is"
    rf"|would be) `?(?P<after>{LITERAL})`?",
    FLAGS,
)
# `Expected no nan` names a value that should not be there.
_NO_SUCH_VALUE = re.compile(
    r"\b(?:no|not|without|never|any|zero|keine?|sans|sin|без) (?:any )?(?:nan|inf)s?\b|\b(?:nan"
    r"|inf)s?[- ]free\b",
    FLAGS,
)
_LITERALS = re.compile(rf"(?<![\w.])(?:True|False|None|{NUMBER})", FLAGS)
_TEXT_LINE = re.compile(r"(?<!\w)'([^'\n]{1,200})'")
_LITERAL_OF_A_LINE = re.compile(rf"(?:{LITERAL}|,| )+", FLAGS)
_OF_A_ROW = re.compile(
    rf"(?:\w\[(?P<index>\d{{1,6}})(?:, ?\d{{1,6}})?\]"
    rf"|\b(?:row|index|entry|element|zeile|ligne|fila|riga|строка|第) ?(?P<row>\d{{1,6}}))(?: ?行)?`?"
    rf"(?: of [\w ]{{1,30}})? {{1,2}}(?:it )?{_SHOULD} {{1,2}}`?(?P<expected>{NUMBER})",
    FLAGS,
)
# ``I want `[ 0.  1. -1.]` and `0.0``, ``they should be `1` and `2``.
_WANTS_ALL = re.compile(
    r"\b(?:expected\b[^`\n]{0,30}"
    r"|(?:I|we)(?: would|['’]d)?(?: have)? (?:want(?:ed)?|expect|like|need)(?: (?:it )?to (?:get|see|be))?:? "
    rf"|(?:they|both|these|those|the (?:two|three|four)|all)(?: \w{{1,12}})? {_SHOULD}:? )(?=`)",
    FLAGS,
)
_END_OF_SENTENCE = re.compile(r"(?<=`)[.;]\s|(?<=`)[,;] (?:but|not|and not|instead|rather)\b")
_BUT_IT_IS = re.compile(
    r"(?:but|while|whereas|yet|although|though|however),? (?:the|its|their|my) (?:[a-z]{2,20} ){1,4}"
    rf"(?:is|are|was|would be|equals) (?:of course |really |actually |clearly )?(?P<expected>{LITERAL})"
    r"(?!\s?(?:in|on|with|under|for|if|when|from|as)\b)",
    FLAGS,
)
_PLACES = {"first": 0, "second": 1, "third": 2, "fourth": 3, "fifth": 4, "last": -1}
_ROW_OF_LITERALS = re.compile(rf"{_LITERALS.pattern}(?:,? {_LITERALS.pattern}){{1,9}}", FLAGS)
_TICKS = re.compile(r"`([^`\n]{1,200})`")


def find_expected_elsewhere(checks: Sequence[Check], texts: Sequence[str]) -> list[Check]:
    """The expected check for the one bug of these checks.

    Empty if there is one already, or if it would be a guess.
    """
    bugs = [check for check in checks if check.role is Role.BUG]
    if len(bugs) != 1 or any(check.role is Role.EXPECTED for check in checks):
        return []
    (bug,) = bugs
    if bug.kind in {CheckKind.CRASH, CheckKind.HANG}:
        return _error(bug, texts)
    if bug.kind is CheckKind.EXCEPTION:
        return _error(bug, texts) or _value_instead_of_error(texts)
    if bug.kind is not CheckKind.OUTPUT:
        return []
    expected = (
        (
            _one_value(bug.lines[0], texts)
            or _lone_value(texts)
            or _only_right_value(bug.lines[0], texts)
            or _value_after_but(bug.lines[0], texts)
            or _value_behind(bug.lines[0], texts)
        )
        if len(bug.lines) == 1
        else _one_line(bug.lines, texts)
        or _of_a_row(bug.lines, texts)
        or _all_lines(bug.lines, texts)
        or _same_words(bug.lines, texts)
        or _each_line(bug.lines, texts)
        or _twin(bug.lines, texts)
        or _value_beside(bug.lines, texts)
        or _lone_value(texts)
    )
    return (
        []
        if expected is None or (expected.number or "\n".join(expected.lines)) == "\n".join(bug.lines)
        else [expected]
    )


def _value_behind(line: str, texts: Sequence[str]) -> Check | None:
    """The value in the words right behind the claimed one: `gives nan where 0 would be correct`."""
    line = line.strip()
    for text in texts:
        for sentence in sentences_in(text)[:_MOST_SENTENCES]:
            before, value, after = sentence[:_MOST_LINE].partition(f" {line} ")
            if value and before and (right := opposed_value(after)):
                return literal_check(right, sentence, Role.EXPECTED)
    return None


def _error(bug: Check, texts: Sequence[str]) -> list[Check]:
    for text in texts:
        for sentence in sentences_in(text)[:_MOST_SENTENCES]:
            expected = expected_error(sentence[:_MOST_LINE])
            if expected is not None and expected.exception_type != bug.exception_type:
                return [expected.model_copy(update={"text": cut(expected.text)})]
    return []


def _value_instead_of_error(texts: Sequence[str]) -> list[Check]:
    """The output that is expected where an error is raised, as in `It should print 3`."""
    expected = _lone_value(texts)
    return [] if expected is None else [expected]


def _lone_value(texts: Sequence[str]) -> Check | None:
    texts = [_NO_SUCH_VALUE.sub(" ", text) for text in texts]
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


def _only_right_value(line: str, texts: Sequence[str]) -> Check | None:
    """The one value that sentences of the report call right, of the kind that the printed line shows."""
    values: dict[str, str] = {}
    for text in texts:
        for sentence in sentences_in(_NO_SUCH_VALUE.sub(" ", text))[:_MOST_SENTENCES]:
            value = lone_expected_value(sentence[:_MOST_LINE])
            if value is not None:
                values[strip_quotes(value)] = cut(sentence)
    printed = _LITERALS.findall(line)
    if len(values) != 1 or not printed:
        return None
    ((value, sentence),) = values.items()
    is_alike = _LITERALS.fullmatch(value) and {is_number(value)} == {is_number(each) for each in printed[-1:]}
    return literal_check(value, sentence, Role.EXPECTED) if is_alike and value not in printed else None


def _value_after_but(line: str, texts: Sequence[str]) -> Check | None:
    """Read ``but the median is `[512.5]``, the paragraph below the block that shows another value."""
    printed = _LITERALS.findall(line)
    for text in texts:
        match = _BUT_IT_IS.match(text[:_MOST_LINE])
        values = _LITERALS.findall(match["expected"]) if match else []
        if match and values and values != printed and len(values) == len(printed):
            return literal_check(match["expected"], cut(match[0]), Role.EXPECTED)
    return None


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


def _one_value(line: str, texts: Sequence[str]) -> Check | None:
    """Read `The third has to be False`: the printed line of literals, with this one replaced."""
    if not _ROW_OF_LITERALS.fullmatch(line):
        return None
    values = line.replace(",", "").split()
    mended = _one_line(values, texts)
    return mended and output_check([(", " if "," in line else " ").join(mended.lines)], role=Role.EXPECTED)


def _same_words(lines: Sequence[str], texts: Sequence[str]) -> Check | None:
    """Read `Expected: `script -4``: the printed lines, with the one of the same words replaced."""
    for text in texts:
        for line in lines_in(text)[:_MOST_SENTENCES]:
            match = _EXPECTED_LINE.match(line)
            values = _TICKS.findall(line[match.end() :]) if match else []
            forms = [_LITERALS.sub(" ", each).split() for each in lines]
            form = _LITERALS.sub(" ", values[0]).split() if len(values) == 1 else []
            if form and forms.count(form) == 1:
                return output_check(
                    [values[0] if each == form else own for each, own in zip(forms, lines, strict=True)],
                    role=Role.EXPECTED,
                )
    return None


def _each_line(lines: Sequence[str], texts: Sequence[str]) -> Check | None:
    """Read `Both should be 42`: every printed line, with its one value replaced."""
    sentences = [each for text in texts for each in sentences_in(text)[:_MOST_SENTENCES]]
    match = next((match for each in sentences if (match := _OF_EACH_LINE.match(each))), None)
    values = [_LITERALS.findall(line) or _TEXT_LINE.findall(line) for line in lines]
    if match is None or any(len(each) != 1 for each in values):
        return None
    expected = strip_quotes(match["expected"])
    return output_check(
        [line.replace(value, expected) for line, (value,) in zip(lines, values, strict=True)],
        role=Role.EXPECTED,
    )


def _value_beside(lines: Sequence[str], texts: Sequence[str]) -> Check | None:
    """The expected value of a sentence that also names a printed line, as `nan, but it should be 2`."""
    for text in texts:
        for sentence in sentences_in(text)[:_MOST_SENTENCES]:
            mentions = find_mentions(sentence[:_MOST_LINE])
            right = [each.value for each in mentions if each.expected]
            printed = [each for each in mentions if not each.expected and strip_quotes(each.value) in lines]
            if len(right) == 1 and printed:
                return literal_check(right[0], cut(sentence), Role.EXPECTED)
    return None


def _twin(lines: Sequence[str], texts: Sequence[str]) -> Check | None:
    """Read `(`0` is right)` above two lines that should be equal: both should be the line with this value."""
    values = {
        strip_quotes(match["before"] or match["after"])
        for text in texts
        for match in _IS_RIGHT.finditer(text[:_MOST_LINE])
    }
    if len(lines) != 2:
        return None
    places = {
        (match["place"].lower() == "first") == (match["right"] is not None)
        for text in texts
        for match in _RIGHT_LINE.finditer(text[:_MOST_LINE])
    }
    if len(places) == 1 and _LITERAL_OF_A_LINE.sub(" ", lines[0]) == _LITERAL_OF_A_LINE.sub(" ", lines[1]):
        right_line = lines[0] if places.pop() else lines[1]
        return output_check([right_line, right_line], role=Role.EXPECTED)
    if len(values) != 1:
        return None
    (value,) = values
    right = [line for line in lines if value in _LITERALS.findall(line)]
    same_form = len({_LITERALS.sub(" ", line) for line in lines}) == 1
    return output_check([right[0], right[0]], role=Role.EXPECTED) if len(right) == 1 and same_form else None


def _of_a_row(lines: Sequence[str], texts: Sequence[str]) -> Check | None:
    """Read `out.iloc[5,0] should be 0.551`: the printed table, with the last number of row 5 replaced."""
    for text in texts:
        for sentence in sentences_in(text)[:_MOST_SENTENCES]:
            match = _OF_A_ROW.search(sentence[:_MOST_LINE])
            if match is None:
                continue
            row = match["index"] or match["row"]
            places = [at for at, line in enumerate(lines) if len(line.split()) > 1 and line.split()[0] == row]
            if len(places) == 1 and (numbers := list(_LITERALS.finditer(lines[places[0]]))):
                line, last = lines[places[0]], numbers[-1]
                mended = f"{line[: last.start()]}{match['expected']}{line[last.end() :]}"
                return output_check(
                    [*lines[: places[0]], mended, *lines[places[0] + 1 :]], role=Role.EXPECTED
                )
    return None


def _all_lines(lines: Sequence[str], texts: Sequence[str]) -> Check | None:
    """Read `Expected: `1.0` and `True``: as many values as there are printed lines."""
    for text in texts:
        for line in lines_in(text)[:_MOST_SENTENCES]:
            match = _WANTS_ALL.search(line)
            expected_lines = _TICKS.findall(_END_OF_SENTENCE.split(line[match.start() :])[0]) if match else []
            if len(expected_lines) == len(lines):
                return output_check(expected_lines, role=Role.EXPECTED)
    return None
