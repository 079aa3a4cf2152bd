"""Tells when a bug is gone, from the output of one attempt. Each oracle speaks only where it can't be fooled.

An oracle is asked about a claimed output that is not there. Its name stands in the finding.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

from app.intake.claim.claims import Check, CheckKind, Role
from app.judging.output.printed_differences import difference_in
from app.judging.output.printed_lines import Token, form_of, place_of_form, tokens_of
from app.judging.output.printed_numbers import Number, matches, numbers_in
from app.judging.output.value_position import has_label, shown_constants

EXPECTED_VALUE = "expected_value"
ANSWER_FLIPPED = "answer_flipped"
NO_DIFFERENCES = "no_differences"
REFERENCE_VALUE = "reference_value"
OWN_CHECK = "own_check"
NUMBERS_DIFFER = "numbers_differ"
MENDED_OUTPUT = "mended_output"
CALLED_RIGHT = "called_right"
TWIN_VALUE = "twin_value"
VALUE_OF_GPU = "value_of_gpu"
RIGHT_ERROR = "right_error"
KEEPS_BOUNDS = "keeps_bounds"
CLEAN_REFUSAL = "clean_refusal"
ORDINARY_NUMBERS = "ordinary_numbers"
HAS_TRAIT = "has_trait"

_CONSTANT = re.compile(r"(?<![\w.])(?:np\.)?(?P<value>True|False)_?(?!\w)")
_OPPOSITE = {"True": "False", "False": "True"}
# A script asks with one of these whether its result is the right one.
_RIGHTNESS = re.compile(
    r"\b(?:correct|right|equal|equals|same|match(?:es)?|allclose|close|ok|okay|valid|identical|agrees?|pass(?:ed|es)?"
    r"|richtig|korrekt|gleich|stimmt|correcte?|égal|igual)\b"
)
_MOST_LINES = 400
_MOST_CHARACTERS = 2_000
_MOST_WORDS = 2
_CLOSE = 1e-6


def gone(check: Check, stdout: str, right: Sequence[str] = ()) -> str | None:
    """The name of the oracle that says that the claimed output is gone; None if none speaks.

    `right` are the texts that the report calls right.
    """
    if check.role is not Role.BUG or check.kind not in {CheckKind.OUTPUT, CheckKind.VALUE}:
        return None
    lines = [line for line in stdout.splitlines() if line.strip()][:_MOST_LINES]
    if not lines or check.kind is not CheckKind.OUTPUT or not check.lines:
        return None
    if _has_flipped(check, lines) or _block_has_flipped(check, lines) or _all_are_right(check, lines):
        return ANSWER_FLIPPED
    if _counts_nothing(check, lines):
        return NO_DIFFERENCES
    if _no_differences(check, lines):
        return NO_DIFFERENCES
    is_mended = not calls_nan_right(right) and _shows_reference(check, lines)
    return REFERENCE_VALUE if is_mended else None


def calls_nan_right(right: Sequence[str]) -> bool:
    """Whether nan or inf is called right: that it is gone is then no sign that the bug is gone."""
    return any(not math.isfinite(number.value) for text in right for number in numbers_in(text))


def stands_alone(expected: Check, lines: Sequence[str]) -> bool:
    """Whether every line that may hold the expected value holds it.

    A script that prints a wrong value and then its own reference is not mended, although the right value is
    there. Lines with other words or another count of numbers hold other things.
    """
    texts = expected.lines if expected.kind is CheckKind.OUTPUT else (expected.number or "",)
    claims = [tokens for text in texts if (tokens := tokens_of(text))]
    if expected.label:
        lines = [line for line in lines if has_label(line, expected.label)] or lines
    rows = [tokens_of(line) for line in lines]
    for claim in claims:
        alike = [row for row in rows if form_of(row) == form_of(claim)]
        equal = [row for row in alike if _equal(claim, row)]
        others = [
            row for row in alike if row not in equal and not any(_equal(other, row) for other in claims)
        ]
        if equal and others:
            return False
    return True


def shows_replaced_line(check: Check, expected: Check, stdout: str) -> bool:
    """Whether the output is the claimed lines in order, but for those that show the expected value now."""
    lines = [tokens_of(line) for line in stdout.splitlines() if line.strip()][:_MOST_LINES]
    claimed = [tokens_of(line) for line in check.lines if line.strip()]
    right = tokens_of(expected.number or " ".join(expected.lines))
    if not claimed or len(lines) != len(claimed) or not right:
        return False
    if len(claimed) == 1:
        # A number alone is judged as a value.
        return len(claimed[0]) > 1 and _is_one_number_replaced(claimed, lines, right)
    changed = [
        seen
        for one, seen in zip(claimed, lines, strict=True)
        if form_of(one) != form_of(seen) or not _equal(one, seen)
    ]
    if changed and all(form_of(each) == form_of(right) for each in changed):
        return all(_equal(right, each) for each in changed)
    if len(changed) != 1:
        return False
    # In a row of a table, `should be 0.551` is about the one number that changed.
    return _is_one_number_replaced(claimed, lines, right)


def _is_one_number_replaced(
    claimed: Sequence[Sequence[Token]], lines: Sequence[Sequence[Token]], right: Sequence[Token]
) -> bool:
    pairs = [
        (one, other)
        for row, seen in zip(claimed, lines, strict=True)
        if form_of(row) == form_of(seen)
        for one, other in zip(row, seen, strict=True)
        if isinstance(one, Number) and isinstance(other, Number) and not matches(one, other)
    ]
    if len(pairs) != 1 or len(right) != 1 or not all(map(_has_same_form, claimed, lines)):
        return False
    (_, now), number = pairs[0], right[0]
    return isinstance(number, Number) and matches(number, now)


def _has_same_form(one: Sequence[Token], other: Sequence[Token]) -> bool:
    return form_of(one) == form_of(other)


def _has_flipped(check: Check, lines: Sequence[str]) -> bool:
    """Whether the claimed answers `True` and `False` are the opposite now, each beside the same words."""
    claimed = [line for line in check.lines if line.strip()]
    if not claimed or not all(len(shown_constants(line)) == 1 for line in claimed):
        return False
    unused = list(lines)
    for line in claimed:
        opposite = _CONSTANT.sub(lambda match: _OPPOSITE[match["value"]], line)
        at = next((at for at, other in enumerate(unused) if _words(other) == _words(opposite)), None)
        if at is None:
            return False
        del unused[at]
    same = {tuple(_words(line)) for line in claimed}
    return not any(tuple(_words(line)) in same for line in unused)


def _block_has_flipped(check: Check, lines: Sequence[str]) -> bool:
    """Whether the answers of a block that were False are True now, and its values are those that it claims.

    The block must be the only one with these words. A number may have become the one of another claimed
    line, which the answer compares it with. That other answers were and are True changes nothing.
    """
    claimed = [line for line in check.lines if line.strip()]
    forms = [_answer_form(line) for line in claimed]
    places = [
        at
        for at in range(len(lines) - len(claimed) + 1)
        if [_answer_form(line) for line in lines[at : at + len(claimed)]] == forms
    ]
    if len(places) != 1 or not any(_CONSTANT.search(line) for line in claimed):
        return False
    now = lines[places[0] : places[0] + len(claimed)]
    before = [shown_constants(line) for line in claimed]
    answers = [word for line in now for word in shown_constants(line)]
    known = [token for line in claimed for token in tokens_of(line) if isinstance(token, Number)]
    return (
        any("False" in words for words in before)
        and set(answers) == {"True"}
        and all(
            any(matches(each, number) for each in known)
            for line in now
            for number in tokens_of(line)
            if isinstance(number, Number)
        )
    )


def _all_are_right(check: Check, lines: Sequence[str]) -> bool:
    """Whether answers to `is correct?` that were False are all True now, in as many lines of the same words.

    Other answers of these lines may change: they are about the wrong value.
    """
    claimed = [line for line in check.lines if line.strip()]
    before = [_answers(line) for line in claimed]
    labels = {label for answers in before for label, value in answers if value == "False"}
    labels = {label for label in labels if _RIGHTNESS.search(label)}
    if len(labels) != 1 or len(claimed) < 2:
        return False
    (label,) = labels
    now = [line for line in lines if any(name == label for name, _ in _answers(line))]
    forms = [_answer_form(line) for line in claimed]
    return [_answer_form(line) for line in now] == forms and all(
        value == "True" for line in now for name, value in _answers(line) if name == label
    )


def _answers(line: str) -> list[tuple[str, str]]:
    """The answers True and False of a line, each with the words before it."""
    answers: list[tuple[str, str]] = []
    after = 0
    for match in _CONSTANT.finditer(line[:_MOST_CHARACTERS]):
        words = [token for token in tokens_of(line[after : match.start()]) if isinstance(token, str)]
        answers.append((" ".join(words[-_MOST_WORDS:]).casefold(), match["value"]))
        after = match.end()
    return answers


def _answer_form(line: str) -> tuple[str | None, ...]:
    return form_of(tokens_of(_CONSTANT.sub(" ANSWER ", line)))


def _no_differences(check: Check, lines: Sequence[str]) -> bool:
    """Whether the script counts or measures no difference where the report shows some."""
    claimed = [(line, value) for line in check.lines if (value := difference_in(line)) is not None]
    if not claimed or len(claimed) != len(check.lines) or not any(value > _CLOSE for _, value in claimed):
        return False
    seen = [(line, value) for line in lines if (value := difference_in(line)) is not None]
    return bool(seen) and len(seen) >= len(claimed) and all(value == 0 for _, value in seen)


def _counts_nothing(check: Check, lines: Sequence[str]) -> bool:
    """Whether answers that were mixed are all `True` now, and the count of differences below them is zero."""
    answers = [line for line in check.lines if len(shown_constants(line)) == 1]
    counts = [line for line in check.lines if difference_in(line) is not None]
    if not answers or not counts or len(answers) + len(counts) != len(check.lines):
        return False
    rest = check.model_copy(update={"lines": tuple(counts)})
    seen = [line for line in lines if len(shown_constants(line)) == 1]
    return (
        len(seen) == len(answers)
        and {shown_constants(line)[0] for line in seen} == {"True"}
        and _no_differences(rest, lines)
    )


def _shows_reference(check: Check, lines: Sequence[str]) -> bool:
    """Whether all that changed is nan and inf, which became values that the report itself shows as reference.

    The claimed lines must be one block of the output, with the same words and as many numbers.
    """
    forms = [form_of(tokens_of(line)) for line in check.lines]
    if len(forms) == 2 and forms[0] == forms[1]:
        # Where two sides differ, either may be the wrong one.
        return False
    claimed = [token for line in check.lines for token in tokens_of(line)]
    seen = [token for line in lines for token in tokens_of(line)]
    at = place_of_form(claimed, seen)
    if at is None:
        return False
    references = [token for token in claimed if isinstance(token, Number) and math.isfinite(token.value)]
    changed = False
    for one, other in zip(claimed, seen[at : at + len(claimed)], strict=True):
        if not isinstance(one, Number) or not isinstance(other, Number) or matches(one, other):
            continue
        if math.isfinite(one.value) or not any(matches(value, other) for value in references):
            return False
        changed = True
    return changed


def _equal(claimed: Sequence[Token], seen: Sequence[Token]) -> bool:
    return len(claimed) == len(seen) and all(
        matches(one, other) if isinstance(one, Number) and isinstance(other, Number) else one == other
        for one, other in zip(claimed, seen, strict=True)
    )


def _words(line: str) -> list[str]:
    return [
        token if isinstance(token, str) else token.text
        for token in tokens_of(line.replace("np.", "").replace("_", ""))
    ]
