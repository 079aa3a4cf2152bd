"""The position of values in output: alone on a line, after a label, or inside a longer line."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

from app.intake.words.vocabulary import DESIRED, RIGHT, any_of
from app.judging.output.printed_lines import tokens_of
from app.judging.output.printed_numbers import Number, numbers_in, same_value

# A number with more digits than this does not match by chance.
_CHANCE_DIGITS = 3
# A line shows the value after one of these: `2 + 3 = 5`, `f(3) -> 5`, `sum of both: 5`.
_SHOWS = re.compile(r"(?:[-=]>|→|:|(?<![=<>!])=(?!=))[ \t]*+")
# `got 3 expected 4`, `actual=3 wanted=4`.
_GOT = re.compile(
    r"\b(?:got|gets?|prints?|gives?|actual|is|was|computed|returned|found|seen|mine|ours)[ \t:=]{1,3}$",
    re.IGNORECASE,
)
_SHOULD = re.compile(
    rf"\b{any_of(DESIRED, RIGHT, 'want', 'should', 'ref(?:erence)?', 'instead')}\b", re.IGNORECASE
)
_NOT = re.compile(r"(?:\b(?:no|not|without|any|zero|non)|n['’]t)[\s-]+$", re.IGNORECASE)
# `nan: True` is a name; `nan detected at step 3` is a sentence; in `loss nan acc 0.5` another name follows.
_GOES_ON = re.compile(
    r"[ \t]*[:=]|[ \t]+(?:True|False|None)\b|[ \t]+[A-Za-z]\w*(?![ \t]*[:=(]|[ \t]+[-+]?[\d.]|\w)"
)
_IN_BRACKETS = re.compile(r"^[^()\[\]{}]*[)\]}]")
# Since numpy 2, a prompt shows `np.True_`.
_CONSTANT = re.compile(
    r"(?<![\w.])(?:(?:np|numpy)\.(?=\w{4,5}_))?(?P<value>True|False|None)(?:(?<!None)_)?(?!\w)"
)
_LONGEST = 20_000


def _last_separator(line: str) -> re.Match[str] | None:
    """The separator before the last value: no `:`, `=` or line end follows it.

    It is looked for where these end. A lookahead at every separator would take quadratic time.
    """
    text = line.removesuffix("\n")
    begin = max(text.rfind(sign) for sign in "\n:=")
    return _SHOWS.search(text, max(0, begin))


def shown_numbers(line: str, label: str | None = None) -> list[Number]:
    """The numbers that a line shows as values.

    These are the number after the label; else the only number, or the numbers that are long, at the end after
    `=` or `:`, or after a word such as `got`.
    """
    line = line[:_LONGEST]
    numbers = numbers_of(line)
    if label and (label_end := _end_of_label(line, label)) is not None:
        numbers = [number for number in numbers if number.start >= label_end]
        if numbers and not re.search(r"[\[({]", line[label_end : numbers[0].start]):
            return numbers[:1]
    if len(numbers) < 2 or all(same_value(number.value, numbers[0].value) for number in numbers):
        return numbers
    long = [number for number in numbers if not 0 < number.digits <= _CHANCE_DIGITS]
    shows = _last_separator(line)
    last = [number for number in numbers if shows and number.start >= shows.end()]
    actual = (
        [number for number in numbers if _GOT.search(line, 0, number.start)] if _SHOULD.search(line) else []
    )
    return [
        *long,
        *(number for group in (last, actual) if len(group) == 1 for number in group if number not in long),
    ]


def numbers_of(line: str) -> list[Number]:
    """The numbers of a line, without `nan` and `inf` that are words of a sentence."""
    return [number for number in numbers_in(line[:_LONGEST]) if not _is_word(line, number)]


def has_label(line: str, label: str) -> bool:
    """Whether the line holds the label as a word."""
    return _end_of_label(line[:_LONGEST], label) is not None


def shown_constants(line: str) -> list[str]:
    """The `True`, `False` and `None` of a line, without those after a negation such as `not`."""
    line = line[:_LONGEST]
    return [match["value"] for match in _CONSTANT.finditer(line) if not _NOT.search(line, 0, match.start())]


def shows_constant(claimed: str, lines: Sequence[str]) -> bool | None:
    """Whether a line shows this `True`, `False`, `None`, nan or inf.

    None if `claimed` is something else, or if one line shows different constants.
    """
    if constant := _CONSTANT.fullmatch(claimed):
        constants = [shown_constants(line) for line in lines]
        return (
            constant["value"] in [word for words in constants for word in words]
            if all(len(set(words)) < 2 for words in constants)
            else None
        )
    number = next(iter(numbers_in(claimed)), None)
    if number is None or number.text != claimed or math.isfinite(number.value):
        return None
    return any(same_value(number.value, other.value) for line in lines for other in shown_numbers(line))


def _end_of_label(line: str, label: str) -> int | None:
    """The position after the label in the line; None if the line does not have it."""
    match = re.search(rf"(?<!\w){re.escape(label)}(?!\w)", line, re.IGNORECASE)
    return None if match is None else match.end()


def _is_word(line: str, number: Number) -> bool:
    """Whether a `nan` or `inf` is a word of a sentence or the name of a value."""
    if math.isfinite(number.value) or number.text.lstrip("+-")[:1].isdigit():
        return False
    if _NOT.search(line, max(0, number.start - 40), number.start):
        return True
    return _IN_BRACKETS.match(line, number.end) is None and _GOES_ON.match(line, number.end) is not None


# Labels that fit every printed value.
_ANY_NAME = {
    "result",
    "results",
    "output",
    "outputs",
    "value",
    "values",
    "answer",
    "number",
    "it",
    "this",
    "that",
    "response",
    "print",
}


def lines_with(label: str | None, lines: Sequence[str]) -> list[str]:
    """The lines with the label.

    If none has it, the lines without words, or all lines for a label that fits anything.
    """
    labelled = [line for line in lines if label and has_label(line, label)]
    if labelled or not label or label.casefold() in _ANY_NAME:
        return labelled or list(lines)
    return [line for line in lines if not any(isinstance(token, str) for token in tokens_of(line))]
