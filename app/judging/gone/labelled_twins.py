"""Lines that a script itself labels as the wrong and the right value: whether they agree now.

Also lines of two libraries in turn: nan became what the other one shows, or two ways to one value agree.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

from app.intake.claim.claims import Check, CheckKind, Role
from app.judging.gone.changed_values import claimed_rows, pairs_of_lines
from app.judging.output.printed_lines import Token, form_of, same_token, same_tokens, tokens_of
from app.judging.output.printed_numbers import Number, matches, numbers_in

_MOST_LINES = 200
_MOST_CHARACTERS = 400
_RIGHT = re.compile(r"\b(?:true|correct|right|expected|reference|exact)\b", re.IGNORECASE)
_WRONG = re.compile(r"\b(?:fails?|wrong|incorrect|bug|buggy|broken)\b", re.IGNORECASE)
# Two results of single precision differ by no more, as a share of the larger one.
_ROUNDING = 4e-6
# Words by which lines of two sides differ.
_SIDES_TEXT = """
torch pytorch numpy np scipy jax jnp pandas tensorflow tf sklearn sympy mpmath math python cupy dask
polars numba tensor array eager compiled cpu gpu cuda reference ref expected half single double got want
float16 float32 float64 bfloat16
"""
_SIDES = frozenset(_SIDES_TEXT.split())
_Pair = tuple[Sequence[Token], Sequence[Token]]
# One number of so few digits may be equal by chance.
_LEAST_NUMBERS, _LEAST_DIGITS = 2, 3
# The plain way to a value, and ways that have to give the same.
_PLAIN_WAYS_TEXT = """
eager plain python interpreted uncompiled numpy np reference ref original naive loop
"""
_PLAIN_WAYS = frozenset(_PLAIN_WAYS_TEXT.split())
_OTHER_WAYS_TEXT = """
compiled compile jit jitted inductor dynamo aot xla numba njit scripted traced graph exported onnx fused
vmap vectorized vectorised batched
"""
_OTHER_WAYS = frozenset(_OTHER_WAYS_TEXT.split())
_WITHOUT = frozenset({"no", "without", "not", "non"})
_WITH = frozenset({"with", "after"})
# A label stands in front of its values.
_MOST_LABEL = 4


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


def nan_became_twin(check: Check, called_right: Sequence[str], stdout: str) -> bool:
    """Whether each line with nan or inf now has the numbers of its twin, so many lines below or above it.

    The twins are as claimed, and so is all else. False if nan is called right.
    """
    pairs = pairs_of_lines(claimed_rows(check), stdout)
    changed = [at for at, (one, seen) in enumerate(pairs) if not same_tokens(one, seen)]
    if not changed or any(math.isnan(number.value) for text in called_right for number in numbers_in(text)):
        return False
    new = [number for at in changed for number in _new_numbers(pairs[at])]
    is_telling = len(new) >= _LEAST_NUMBERS or any(number.digits >= _LEAST_DIGITS for number in new)
    distances = range(-changed[0], len(pairs) - changed[-1])
    return is_telling and any(
        all(at + distance not in changed and _is_twin(pairs[at], pairs[at + distance]) for at in changed)
        for distance in distances
        if distance
    )


def _is_twin(pair: _Pair, twin: _Pair) -> bool:
    """Whether a line differed from its twin in nan and inf only, and has its numbers now."""
    (one, seen), other = pair, twin[1]
    if _words(seen) != _words(one) or _words(one) != _words(other):
        return False
    before, now, right = _numbers(one), _numbers(seen), _numbers(other)
    return (
        len(before) == len(now) == len(right)
        and not any(math.isnan(number.value) for number in now)
        and all(map(_is_same, right, now))
        and all(
            _is_same(number, value) or not math.isfinite(number.value)
            for number, value in zip(before, right, strict=True)
        )
    )


def _is_same(one: Number, other: Number) -> bool:
    return same_token(one, other) or matches(other, one)


def _new_numbers(pair: _Pair) -> list[Number]:
    before, now = map(_numbers, pair)
    return [other for one, other in zip(before, now, strict=False) if not matches(one, other)]


def _words(row: Sequence[Token]) -> list[str]:
    return [token for token in row if isinstance(token, str) and token.casefold() not in _SIDES]


def _numbers(row: Sequence[Token]) -> list[Number]:
    return [token for token in row if isinstance(token, Number)]


def _agree(one: Number, other: Number) -> bool:
    if one.imaginary or other.imaginary or not (math.isfinite(one.value) and math.isfinite(other.value)):
        return False
    return abs(one.value - other.value) <= _ROUNDING * max(abs(one.value), abs(other.value))


def ways_agree(check: Check, called_right: Sequence[str], stdout: str) -> bool:
    """Whether what the script labels as `compiled` is now what it labels as `eager`, as the report shows it.

    `eager` is unchanged, and nothing else is printed. False where the report calls the other value right.
    """
    if check.role is not Role.BUG or check.kind is not CheckKind.OUTPUT:
        return False
    claimed = _two_ways(check.lines)
    seen = _two_ways(stdout.splitlines()[: _MOST_LINES + 1])
    if claimed is None or seen is None:
        return False
    (plain, other), (plain_now, other_now) = claimed, seen
    return (
        form_of(plain) == form_of(other)
        and not same_tokens(plain, other)
        and same_tokens(plain, plain_now)
        and same_tokens(plain, other_now)
        and all(math.isfinite(token.value) for token in plain if isinstance(token, Number))
        and any(isinstance(token, Number) for token in plain)
        and not any(same_tokens(tokens_of(text), other) for text in called_right)
    )


def _two_ways(lines: Sequence[str]) -> tuple[list[Token], list[Token]] | None:
    """The tokens of the plain way and of the other one, without their labels; None if these are not plain."""
    tokens = [token for line in lines for token in tokens_of(line)]
    labels = [(at, way) for at in range(len(tokens)) if (way := _way_of(tokens, at)) is not None]
    if len(labels) != 2 or {way for _, way in labels} != {False, True} or labels[0][0] >= _MOST_LABEL:
        return None
    (first, is_other), (second, _) = labels
    # Words such as `without` belong to the label behind them.
    start = second - 1 if tokens[second - 1] in _WITHOUT | _WITH else second
    head = [token for token in tokens[:first] if token not in _WITHOUT | _WITH]
    parts = ([*head, *tokens[first + 1 : start]], tokens[second + 1 :])
    return (parts[1], parts[0]) if is_other else parts


def _way_of(tokens: Sequence[Token], at: int) -> bool | None:
    """False for the label of the plain way, True for that of another one, None for no label."""
    token = tokens[at]
    words = token.casefold().split("_") if isinstance(token, str) else []
    if not _PLAIN_WAYS.isdisjoint(words):
        return False
    if _OTHER_WAYS.isdisjoint(words):
        return None
    before = tokens[at - 1] if at else ""
    is_denied = (isinstance(before, str) and before.casefold() in _WITHOUT) or not _WITHOUT.isdisjoint(words)
    return not is_denied
