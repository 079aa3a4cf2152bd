"""Random numbers that a report shows several times: that they are equal is the evidence, not their values."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from app.intake.claim.claims import Check, CheckKind, Role
from app.judging.output.printed_lines import Token, form_of, place_of_form, tokens_of
from app.judging.output.printed_numbers import Number

# Fractions with fewer digits, and shorter whole numbers, are equal by chance.
_LEAST_OF_FRACTION, _LEAST_OF_WHOLE = 3, 4
# So many numbers are no accident.
_LEAST_NUMBERS = 3
_MOST_LINES = 400
_MOST_CHARACTERS = 1 << 20


def still_repeats(lines: Sequence[str], stdout: str) -> bool:
    """Whether numbers that are equal in the claim are equal in the output; True if none are."""
    claimed, seen = _tokens(lines), _tokens(stdout[:_MOST_CHARACTERS].splitlines())
    if not _repeats(claimed, len(lines)):
        return True
    at = place_of_form(claimed, seen)
    if at is None:
        return max(Counter(_fine(seen)).values(), default=0) > 1
    first: dict[str, str] = {}
    return all(
        isinstance(other, Number) and first.setdefault(one.text, other.text) == other.text
        for one, other in zip(claimed, seen[at:], strict=False)
        if isinstance(one, Number) and _is_fine(one)
    )


def are_distinct_now(check: Check, stdout: str) -> bool:
    """Whether the output has the claimed form, and its numbers, which were equal in the claim, all differ."""
    if check.role is not Role.BUG or check.kind is not CheckKind.OUTPUT:
        return False
    claimed, seen = _tokens(check.lines), _tokens(stdout[:_MOST_CHARACTERS].splitlines())
    if not _repeats(claimed, len(check.lines)) or form_of(claimed) != form_of(seen):
        return False
    now = [
        other.text
        for one, other in zip(claimed, seen, strict=True)
        if isinstance(one, Number) and _is_fine(one) and isinstance(other, Number)
    ]
    others = [
        (one.text, other.text)
        for one, other in zip(claimed, seen, strict=True)
        if isinstance(one, Number) and not _is_fine(one) and isinstance(other, Number)
    ]
    return len(set(now)) == len(now) and all(one == other for one, other in others)


def _repeats(tokens: Sequence[Token], lines: int) -> bool:
    """Whether each of the claimed numbers stands there at least twice, on several lines."""
    counts = Counter(_fine(tokens))
    return lines > 1 and counts.total() >= _LEAST_NUMBERS and min(counts.values()) > 1


def _fine(tokens: Sequence[Token]) -> list[str]:
    return [token.text for token in tokens if isinstance(token, Number) and _is_fine(token)]


def _is_fine(number: Number) -> bool:
    if number.whole:
        return number.digits >= _LEAST_OF_WHOLE
    # `1.0000` is a constant.
    return number.digits >= _LEAST_OF_FRACTION and number.value % 1 != 0


def _tokens(lines: Sequence[str]) -> list[Token]:
    return [token for line in lines[:_MOST_LINES] for token in tokens_of(line)]
