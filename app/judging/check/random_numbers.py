"""Judges printed lines of a script that draws random numbers without a seed.

Words, counts, shapes and the places of nan and inf are evidence. Finite random numbers are not.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

from app.intake.claim.claims import Check, CheckKind
from app.intake.reading import Script
from app.judging.gone.nearly_equal import judge_nearly_equal
from app.judging.gone.repeated_numbers import still_repeats
from app.judging.judgement import CheckResult
from app.judging.output.printed_differences import difference_in
from app.judging.output.printed_lines import found_lines, tokens_of
from app.judging.output.printed_numbers import Number

# A number with a fraction. Whole numbers are counts and shapes.
_FRACTION = re.compile(
    r"(?<![\w.])[+-]?(?:\d+\.\d*|\.\d+)(?:[eE][+-]?\d+)?(?![\w.])|(?<![\w.])[+-]?\d+[eE]-?\d+(?!\w)"
)
_MASK = " RANDOM "
_CONSTANTS = {"True", "False", "None"}
_MOST_CHARACTERS = 1 << 20
_MOST_LINES = 400


def is_random(check: Check, script: Script) -> bool:
    """Whether the numbers of the claim are drawn at random, by the claim itself or else by the script."""
    return script.unseeded if check.random is None else check.random


def judge_random(check: Check, script: Script, stdout: str) -> CheckResult | None:
    """The result of a claimed output that was not found as it stands. None if no random number is claimed.

    UNREACHED: the claim shows nothing but random numbers.
    """
    if not is_random(check, script) or check.kind not in {CheckKind.OUTPUT, CheckKind.VALUE}:
        return None
    lines = check.lines if check.kind is CheckKind.OUTPUT else (check.number or "",)
    if _still_differs(lines, stdout[:_MOST_CHARACTERS].splitlines()[:_MOST_LINES]):
        return CheckResult.MET
    if (nearly := judge_nearly_equal(lines, stdout)) is not None:
        return nearly
    if not any(_FRACTION.search(line) for line in lines):
        return None
    masked = [_FRACTION.sub(_MASK, line) for line in lines]
    if not _is_evidence(masked):
        return CheckResult.UNREACHED
    text = _FRACTION.sub(_MASK, stdout[:_MOST_CHARACTERS])
    return CheckResult.MET if found_lines(masked, text) and still_repeats(lines, stdout) else None


def _still_differs(claimed: Sequence[str], lines: Sequence[str]) -> bool:
    """Whether the script counts differences again, in the same words. Their number is random."""
    counts = {
        tuple(token for token in tokens_of(line) if isinstance(token, str)): difference_in(line)
        for line in lines
    }
    return bool(claimed) and all(
        (difference_in(line) or 0) > 0
        and (counts.get(tuple(token for token in tokens_of(line) if isinstance(token, str))) or 0) > 0
        for line in claimed
    )


def _is_evidence(lines: Sequence[str]) -> bool:
    """Whether something besides words and random numbers is claimed: nan, inf, a whole number, a constant."""
    return any(
        (isinstance(token, Number) and (token.whole or not math.isfinite(token.value))) or token in _CONSTANTS
        for line in lines
        for token in tokens_of(line)
    )
