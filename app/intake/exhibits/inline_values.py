"""Reads sentences such as `It prints `X`, wrong`: values between backticks in prose."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from app.intake.claim.claim_text import exception_claim, output_check
from app.intake.claim.claims import Check, Role
from app.intake.claim.expected_values import is_order
from app.intake.claim.phrases import expected_check
from app.intake.claim.stated_place import stated_device, stated_place, with_place
from app.intake.claim.value_mentions import seen_and_expected
from app.intake.code.printed_texts import is_print_of, printed_texts
from app.intake.exhibits.conditions import condition_of
from app.intake.exhibits.right_values import other_ways, without_blanks
from app.intake.exhibits.shown_evidence import plain_numbers
from app.intake.exhibits.shown_outputs import is_expectation
from app.intake.remarks.called_right import values_of_eager
from app.intake.snippets.parts import Part, PartKind
from app.intake.snippets.roles import says_it_works
from app.intake.words.praise import is_only_praise, speaks_of_another_place
from app.intake.words.vocabulary import MODALS, any_of, is_number, is_printed_line, is_prose, strip_quotes

_VERBS = (
    r"\b(?:prints?|printed|outputs?|gives?|gave|returns?|returned|results? in"
    r"|results?(?= ?:)|shows?|yields?|got|get|hands? back|looks? like|comes? (?:out|back)(?: as)?"
    r"|(?<!right )(?<!correct )(?<!expected )(?<!true )(?:result|output|answer) is)"
)
_INLINE = re.compile(
    rf"{_VERBS}[ \t]*+:?[ \t]*+`([^`\n]{{1,400}})`[ \t]*+[,;:(-]*+[ \t]*+"
    r"([^.`\n]{0,40})",
    re.IGNORECASE,
)
_PRINTS_WORD = re.compile(r"(?:prints?|printed|outputs?|shows?|results?)\b", re.IGNORECASE)
SENTENCES = re.compile(r"(?<=[.!?])\s(?=[A-Z`])")
_SHOULD = re.compile(rf"\b{any_of(MODALS)} $", re.IGNORECASE)
_SHOULD_BEFORE = re.compile(
    rf"\b{any_of(MODALS, 'would')}(?: \w{{1,12}})? $"
    r"|\b(?:before|previously|formerly|earlier|used to|in the past|back then)\b[^.\n]{0,30}$",
    re.IGNORECASE,
)
# `Expected output: `3``.
_EXPECTED_BEFORE = re.compile(
    r"\b(?:expected|desired|wanted|correct|right|proper|true|reference)[\s*_]{1,4}$", re.IGNORECASE
)
_AS_IT_SHOULD = re.compile(
    r"^(?:which is |as |this is )?(?:it should|expected|correct|right|fine|ok)\b", re.IGNORECASE
)
# The value stands on the next line.
_ENDS_IN_VERB = re.compile(rf"{_VERBS}[ \t:：]{{0,4}}$", re.IGNORECASE)
_CODE = re.compile(r"`([^`\n]{3,300})`")
_ALONE = re.compile(r"[ \t]*`(?P<value>[^`\n]{1,300})`[.!。]?[ \t]*")
_MOST_LINE = 400
# `… but I expected `Y`` stands in the words that follow the value.
_MOST_AFTER = 200


_WORDS = re.compile(r"[^\W\d_]{3,40}")
# `compiled [10.0, 5.0]`, `after sort: 1 2`.
_LABEL = re.compile(r"\s{0,40}[^\W\d_][\w -]{1,40}?\s{0,4}[:=]?\s{1,8}(?=[\[({]{0,4}[-+]?\d)")
_MOST_LINES = 100


def inline_checks(parts: Sequence[Part], main: str, outputs: Sequence[Part] = ()) -> list[Check]:
    """Checks of sentences such as `prints `X`, wrong`. Empty unless exactly one value is the wrong one.

    `outputs` may show the line of which a sentence names one number.
    """
    wrong: dict[str, None] = {}
    right: dict[str, None] = {}
    before = after = ""
    control = False
    printed = printed_texts([main])
    for part in parts:
        if part.kind == PartKind.CODE:
            control = says_it_works(part.before)
        if part.kind != PartKind.PROSE or control or is_expectation(part):
            continue
        if _names_expected_value(part.text):
            # Sentences that name both values are read by another rule.
            return []
        for match in _values_of_this_script(part.text, main):
            both = seen_and_expected(_line_at(part.text, match.start()))
            if both and strip_quotes(both[1]) == match[1].strip():
                # The sentence holds more than its first value, so another rule reads it.
                return []
            if _AS_IT_SHOULD.match(match[2].strip()) or _praises_elsewhere(part.text, match):
                right[match[1].strip()] = None
            elif is_printed_line(match[1].strip()) or _is_printed_word(match, main):
                wrong[match[1].strip()] = None
                after = part.text[match.end(1) + 1 : match.end(1) + _MOST_AFTER].partition("\n")[0]
                before = (
                    part.text[max(0, match.start() - _MOST_AFTER) : match.start(1)]
                    .rpartition("\n")[2]
                    .rpartition(". ")[2]
                )
        wrong.update(dict.fromkeys(_printed_lines_alone(part.text, printed, main)))
    if len(wrong) != 1:
        return []
    error_checks = exception_claim(next(iter(wrong)))
    expected = expected_check(after.strip(" .,;:"), behind=True) if not right and not error_checks else None
    instead = [output_check((line,), role=Role.EXPECTED) for line in right] or (
        [expected] if expected else []
    )
    is_uncompiled = bool(values_of_eager([f"{before}{next(iter(wrong))}`{after}"]))
    lines = (
        () if error_checks or instead or is_uncompiled else _lines_with(next(iter(wrong)), before, outputs)
    )
    checks = [*(error_checks or [output_check(lines or tuple(wrong))]), *instead]
    # In `On the GPU it prints `X``, the device stands before the value.
    return with_place(with_place(checks, stated_device(before)), stated_place(before, about_it=True))


def _lines_with(value: str, before: str, outputs: Sequence[Part]) -> tuple[str, ...]:
    """The printed lines that show a number among others, under a label that stands before it in a sentence.

    `The compiled module gives `10`` is about `compiled [10.0, 5.0]`.
    """
    if not (is_number(value) and plain_numbers(value)) or not outputs:
        return ()
    words = {word.casefold() for word in _WORDS.findall(before)}
    lines: dict[str, None] = {}
    for part in outputs:
        for line in () if part.expected or part.elsewhere else part.text.split("\n")[:_MOST_LINES]:
            label = _LABEL.match(line[:_MOST_LINE])
            numbers = plain_numbers(line[label.end() :][:_MOST_LINE]) if label else []
            is_about = label is not None and words & {word.casefold() for word in _WORDS.findall(label[0])}
            if is_about and len(numbers) > 1 and set(plain_numbers(value)) <= set(numbers):
                lines[line.strip()] = None
    return tuple(lines)


def _printed_lines_alone(text: str, printed: Sequence[str], main: str) -> Iterator[str]:
    """Lines that are nothing but a line between backticks with words that the script prints."""
    above = ""
    for line in text.split("\n"):
        match = _ALONE.fullmatch(line[:_MOST_LINE])
        if (
            match
            and (
                is_print_of(match["value"], printed)
                or (_ENDS_IN_VERB.search(above) and _may_be_printed(match["value"]))
            )
            and not _SHOULD_BEFORE.search(above.rstrip(" :：") + " ")
            and not condition_of(above, main)
            and not _is_of_other_code(above, main)
        ):
            yield match["value"].strip()
        above = line[:_MOST_LINE] or above


def _may_be_printed(text: str) -> bool:
    return is_printed_line(text) or (text.startswith(("[", "(", "{")) and not is_prose(text))


def _is_of_other_code(above: str, main: str) -> bool:
    """True if the line names code that the script does not have: `But `a.sum()` gives`."""
    codes = [without_blanks(match[1]) for match in _CODE.finditer(above) if "(" in match[1]]
    return bool(codes) and not any(code in without_blanks(main) for code in codes)


def without_other_code(lines: Sequence[str], main: str) -> list[str]:
    """The lines without those that name other code and end in `gives`, and without what these give."""
    rest: list[str] = []
    above = ""
    for line in lines:
        is_of_other = (
            "`" in line
            and _ENDS_IN_VERB.search(line[-_MOST_LINE:]) is not None
            and _is_of_other_code(line[:_MOST_LINE], main)
        )
        if not is_of_other and not (above and _ALONE.fullmatch(line[:_MOST_LINE])):
            rest.append(line)
        above = line if is_of_other else ""
    return rest


def _names_expected_value(text: str) -> bool:
    """True if the text says that a value should be printed, as in `It should print `0.0``."""
    return "`" in text and any(
        _SHOULD.search(text, max(0, match.start() - _MOST_LINE), match.start())
        for match in _INLINE.finditer(text)
    )


def _values_of_this_script(text: str, main: str) -> Iterator[re.Match[str]]:
    """The values that sentences say are printed, without those of other code or another setting."""
    if "`" not in text:
        return
    ways = {start for start, _ in other_ways(text, main)}
    for match in _INLINE.finditer(text):
        should = _SHOULD_BEFORE.search(text, max(0, match.start() - _MOST_LINE), match.start())
        if (
            match.start(1) not in ways
            and not should
            and not _EXPECTED_BEFORE.search(text, max(0, match.start() - _MOST_LINE), match.start())
            and not is_order(text, match.start())
            and not condition_of(_sentence_at(text, match.start()), main)
        ):
            yield match


def _praises_elsewhere(text: str, match: re.Match[str]) -> bool:
    """True if the sentence of a value only says that it is right in another version or on another machine."""
    sentence = _sentence_at(text, match.start())
    return speaks_of_another_place(sentence) and is_only_praise(sentence)


def _is_printed_word(match: re.Match[str], main: str) -> bool:
    """True for words behind `prints` or `Output:`, unless they are a piece of the script's code."""
    value = match[1].strip()
    named = re.search(rf"(?<![\w'\"]){re.escape(value)}(?![\w'\"])", main)
    is_word = not is_number(value) and not is_prose(value)
    return _PRINTS_WORD.match(match[0]) is not None and named is None and is_word


def _sentence_at(text: str, place: int) -> str:
    """The sentence around a position, on its line."""
    start = text.rfind("\n", 0, place) + 1
    line = text[start : start + 2 * _MOST_LINE].partition("\n")[0]
    at = start
    for sentence in SENTENCES.split(line):
        at += len(sentence)
        if place < at:
            return sentence
        at += 1
    return line


def _line_at(text: str, place: int) -> str:
    start = text.rfind("\n", 0, place) + 1
    return text[start : start + _MOST_LINE].partition("\n")[0]
