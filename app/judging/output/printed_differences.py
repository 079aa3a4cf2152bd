"""Counts and sizes of differences that a script itself prints, such as `9 differences of 18`."""

from __future__ import annotations

import math
import re

from app.judging.output.printed_lines import tokens_of
from app.judging.output.printed_numbers import Number

# A count or a size of differences that the script itself prints.
_DIFFERENCE = re.compile(
    r"不一致|差异|差異|不同|Unterschiede?|Abweichung(?:en)?|différences?|diferencias?|отличи\w{1,3}|несовпад\w{1,5}"
    r"|\b(?:(?:num(?:ber)?|count|total)?(?: of |_of_|_)?(?:differ(?:ences?|ing)?|mismatch(?:es"
    r"|ed)?|unequal|wrong"
    r"|incorrect|bad|errors?)(?: elements?| values?| entries)?|(?:max(?:imum)?|mean|abs(?:olute)?"
    r"|rel(?:ative)?"
    r"|largest|greatest|total)[ _.-](?:(?:abs(?:olute)?"
    r"|rel(?:ative)?)[ _.-])?(?:diff(?:erence)?s?|err(?:or)?s?"
    r"|deviation|gap))\b",
    re.IGNORECASE,
)
_OF_A_TOTAL = re.compile(
    r"\d (?:(?:out )?of|/) \d+ (?:\w+ ){0,2}(?:differ|mismatch|wrong|unequal|incorrect)", re.IGNORECASE
)
# A size above this is no rounding of numbers of usual size.
_LARGE = 1e-2


def difference_in(line: str) -> float | None:
    """The count or size of differences that a line prints; None if it prints none."""
    words = _DIFFERENCE.search(line)
    if words is None:
        return None
    numbers = [token for token in tokens_of(line) if isinstance(token, Number) and math.isfinite(token.value)]
    after = [number for number in numbers if number.start >= words.end()]
    before = [number for number in numbers if number.end <= words.start()]
    if _OF_A_TOTAL.search(line) and before:
        # In `48 of 50 differ` the total is no count of differences.
        return abs(before[0].value)
    near = (
        after[:1]
        if after and ":" in line[words.end() : words.end() + 3] + "=" * ("=" in line)
        else before[-1:]
    )
    chosen = near or after[:1] or before[-1:]
    return abs(chosen[0].value) if chosen else None


def finds_differences(stdout: str) -> bool | None:
    """Whether the script finds differences: a count above zero, or a large size. None if it does not say it.

    A small size may be rounding, so it says nothing.
    """
    values = [value for line in stdout.splitlines() if (value := difference_in(line)) is not None]
    if not values:
        return None
    if any(value >= 1 or value > _LARGE for value in values):
        return True
    return False if all(value == 0 for value in values) else None
