"""Where a value stands in what was printed: alone on its line, behind its name, or somewhere in a longer line, where it may be chance."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

from app.intake.claim.vocabulary import DESIRED, RIGHT, any_of
from app.judging.output.numbers import Number, numbers_in, same_value
from app.judging.output.printed_lines import tokens_of

# A number of more digits is no chance wherever it stands.
_CHANCE_DIGITS = 3
# What a line ends with behind one of these is what it shows: `2 + 3 = 5`, `f(3) -> 5`, `sum of both: 5`.
_SHOWS = re.compile(r"(?:[-=]>|→|:|(?<![=<>!])=(?!=))[ \t]*(?=[^\n:=]*$)")
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
_CONSTANT = re.compile(r"(?<![\w.])(?:True|False|None)(?!\w)")
_LONGEST = 20_000


def numbers_standing(line: str, label: str | None = None) -> list[Number]:
    """The numbers that a line shows: behind the label if it has it, else its only one, the one that it ends with, and what is no chance."""
    line = line[:_LONGEST]
    numbers = numbers_of(line)
    if label and (named := _behind(line, label)) is not None:
        numbers = [number for number in numbers if number.start >= named]
        if numbers and not re.search(r"[\[({]", line[named : numbers[0].start]):
            return numbers[:1]
    if len(numbers) < 2 or all(same_value(number.value, numbers[0].value) for number in numbers):
        return numbers
    found = [number for number in numbers if not 0 < number.digits <= _CHANCE_DIGITS]
    shows = _SHOWS.search(line)
    last = [number for number in numbers if shows and number.start >= shows.end()]
    told = (
        [number for number in numbers if _GOT.search(line, 0, number.start)] if _SHOULD.search(line) else []
    )
    return [
        *found,
        *(number for some in (last, told) if len(some) == 1 for number in some if number not in found),
    ]


def numbers_of(line: str) -> list[Number]:
    """The numbers of a line, without a nan or an inf that is a word of a sentence."""
    return [number for number in numbers_in(line[:_LONGEST]) if not _is_word(line, number)]


def has_label(line: str, label: str) -> bool:
    """Whether the line holds the label as a word."""
    return _behind(line[:_LONGEST], label) is not None


def constants_standing(line: str) -> list[str]:
    """`True`, `False` and `None` where a line shows them and does not only speak of them."""
    line = line[:_LONGEST]
    return [found[0] for found in _CONSTANT.finditer(line) if not _NOT.search(line, 0, found.start())]


def stands(claimed: str, lines: Sequence[str]) -> bool | None:
    """Whether one of the lines shows this constant, or this nan or inf; None where it is something else, or where lines tell both ways."""
    if _CONSTANT.fullmatch(claimed):
        shown = [constants_standing(line) for line in lines]
        return (
            claimed in [word for words in shown for word in words]
            if all(len(set(words)) < 2 for words in shown)
            else None
        )
    number = next(iter(numbers_in(claimed)), None)
    if number is None or number.text != claimed or math.isfinite(number.value):
        return None
    return any(same_value(number.value, other.value) for line in lines for other in numbers_standing(line))


def _behind(line: str, label: str) -> int | None:
    """Where the label ends in the line."""
    found = re.search(rf"(?<!\w){re.escape(label)}(?!\w)", line, re.IGNORECASE)
    return None if found is None else found.end()


def _is_word(line: str, number: Number) -> bool:
    """Whether a nan or an inf is a word of a sentence, or the name of a value."""
    if math.isfinite(number.value) or number.text.lstrip("+-")[:1].isdigit():
        return False
    if _NOT.search(line, max(0, number.start - 40), number.start):
        return True
    return _IN_BRACKETS.match(line, number.end) is None and _GOES_ON.match(line, number.end) is not None


# Whatever is printed is one of these.
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
    """The lines that hold the label; where none does, those that name nothing else."""
    mine = [line for line in lines if label and has_label(line, label)]
    if mine or not label or label.casefold() in _ANY_NAME:
        return mine or list(lines)
    return [line for line in lines if not any(isinstance(token, str) for token in tokens_of(line))]
