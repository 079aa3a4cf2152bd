"""Two random numbers that should be equal, and that differ in their last digits, as a report shows."""

from __future__ import annotations

from collections.abc import Sequence

from app.judging.judgement import CheckResult
from app.judging.output.printed_lines import Token, form_of, tokens_of
from app.judging.output.printed_numbers import Number

# Numbers that agree in fewer digits may be two quantities.
_NEAR = 1e-4
_LEAST_DIGITS = 6
# The distance depends on the numbers that are drawn.
_MOST_TIMES = 1_000
_MOST_LINES = 400
_MOST_CHARACTERS = 1 << 20


def judge_nearly_equal(claimed: Sequence[str], stdout: str) -> CheckResult | None:
    """MET if the two numbers still differ a little, OTHER if they are equal; None if none are claimed.

    Equal ones are no "no": other random numbers may differ.
    """
    tokens = _tokens(claimed)
    pair = _numbers(tokens)
    distance = _distance(pair)
    if distance is None or not 0 < distance < _NEAR or any(one.digits < _LEAST_DIGITS for one in pair):
        return None
    for at in range(len(lines := stdout[:_MOST_CHARACTERS].splitlines()[:_MOST_LINES])):
        seen = _tokens(lines[at : at + len(claimed)])
        now = _distance(_numbers(seen))
        if form_of(seen) == form_of(tokens) and now is not None and now < distance * _MOST_TIMES:
            return CheckResult.MET if now else CheckResult.OTHER
    return None


def _distance(pair: Sequence[Number]) -> float | None:
    """How far apart two numbers are, as a part of the larger one; None unless there are two."""
    if len(pair) != 2:
        return None
    one, other = (number.value for number in pair)
    return abs(one - other) / (max(abs(one), abs(other)) or 1.0)


def _numbers(tokens: Sequence[Token]) -> list[Number]:
    return [token for token in tokens if isinstance(token, Number)]


def _tokens(lines: Sequence[str]) -> list[Token]:
    return [token for line in lines for token in tokens_of(line)]
