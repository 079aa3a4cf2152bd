"""An expected zero that is a tiny number now: `1.0 2.7e-62` where `1.0 0.0` is right."""

from __future__ import annotations

from app.intake.claim.claims import Check, CheckKind
from app.judging.output.printed_lines import Token, form_of, same_token, tokens_of
from app.judging.output.printed_numbers import Number

# Smaller numbers than the first are taken for zero where the claimed one is larger than the second.
_TINY, _LARGE = 1e-12, 1e-3
_MOST_LINES = 400
_MOST_CHARACTERS = 1 << 20


def equals_but_for_zeros(bug: Check, expected: Check, stdout: str) -> bool:
    """Whether the output is the expected one, but for tiny numbers where zero is right and the bug is not."""
    if bug.kind is not CheckKind.OUTPUT or expected.kind is not CheckKind.OUTPUT:
        return False
    wrong, right = tokens_of(" ".join(bug.lines)), tokens_of(" ".join(expected.lines))
    if form_of(wrong) != form_of(right):
        return False
    lines = stdout[:_MOST_CHARACTERS].splitlines()[:_MOST_LINES]
    count = len(expected.lines)
    places = (tokens_of(" ".join(lines[at : at + count])) for at in range(len(lines) - count + 1))
    # All that may hold the value have to hold it.
    alike = [seen for seen in places if form_of(seen) == form_of(right)]
    return bool(alike) and all(_is_right(wrong, right, seen) for seen in alike)


def _is_right(wrong: list[Token], right: list[Token], seen: list[Token]) -> bool:
    zeros = [_is_zero(*tokens) for tokens in zip(wrong, right, seen, strict=True)]
    return any(zeros) and all(
        is_zero or same_token(two, three) for is_zero, two, three in zip(zeros, right, seen, strict=True)
    )


def _is_zero(wrong: Token, right: Token, seen: Token) -> bool:
    if not (isinstance(wrong, Number) and isinstance(right, Number) and isinstance(seen, Number)):
        return False
    return right.value == 0 and abs(seen.value) < _TINY and abs(wrong.value) > _LARGE
