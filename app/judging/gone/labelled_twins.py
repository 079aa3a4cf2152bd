"""Lines that a script itself labels as the wrong and the right value: whether they agree now."""

from __future__ import annotations

import math
import re

from app.intake.claim.claims import Check, CheckKind, Role
from app.judging.output.printed_numbers import Number, numbers_in

_MOST_LINES = 200
_MOST_CHARACTERS = 400
_RIGHT = re.compile(r"\b(?:true|correct|right|expected|reference|exact)\b", re.IGNORECASE)
_WRONG = re.compile(r"\b(?:fails?|wrong|incorrect|bug|buggy|broken)\b", re.IGNORECASE)
# Two results of single precision differ by no more, as a share of the larger one.
_ROUNDING = 4e-6


def labelled_twins_agree(check: Check, stdout: str) -> bool:
    """Whether each number behind `fails` or `wrong` is now the one behind `true` or `correct` above it."""
    claimed = [number for text in (*check.lines, check.number or "") for number in numbers_in(text)]
    is_of_label = any(_WRONG.search(line[:_MOST_CHARACTERS]) for line in check.lines)
    is_nan = any(not math.isfinite(number.value) for number in claimed)
    is_printed = check.kind in {CheckKind.OUTPUT, CheckKind.VALUE}
    if check.role is not Role.BUG or not is_printed or not (is_of_label or is_nan):
        return False
    right: Number | None = None
    pairs: list[tuple[Number, Number]] = []
    for line in stdout.splitlines()[:_MOST_LINES]:
        numbers = numbers_in(line[:_MOST_CHARACTERS])
        label = line[: numbers[-1].start] if numbers else ""
        is_right, is_wrong = _RIGHT.search(label) is not None, _WRONG.search(label) is not None
        if is_right and not is_wrong:
            right = numbers[-1]
        elif is_wrong and not is_right:
            if right is None:
                return False
            pairs.append((right, numbers[-1]))
    return bool(pairs) and all(map(_agree, *zip(*pairs, strict=True)))


def _agree(one: Number, other: Number) -> bool:
    if one.imaginary or other.imaginary or not (math.isfinite(one.value) and math.isfinite(other.value)):
        return False
    return abs(one.value - other.value) <= _ROUNDING * max(abs(one.value), abs(other.value))
