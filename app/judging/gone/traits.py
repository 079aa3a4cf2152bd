"""Traits that a report wants a value to have: whether what is printed in the place of the bug has them.

Only what is at the place of the claimed value counts, and only where the claimed value lacked the trait.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from app.intake.claim.claims import Check, CheckKind, Role, Trait
from app.judging.gone.changed_values import claimed_rows, pairs_of_lines
from app.judging.output.printed_lines import Token, form_of, tokens_of
from app.judging.output.printed_numbers import Number, matches, near, numbers_in
from app.judging.output.whole_values import elements_of

_MOST_LINES = 200
# Other prints of one number differ by so many units of the last digit, from this number of digits on.
_UNITS, _LEAST_DIGITS = 2, 6
_DOUBLE = 1e-12
# Numbers that stood beside nan tell its size: so many times larger or smaller.
_WIDTH = 10.0
# Finite numbers of this size are no garbage.
_ORDINARY = (1e-6, 1e6)
_SUM_IS_ONE, _MOST_ROUNDING = 1e-6, 5e-3
_EMPTY = re.compile(
    r"(?:[\w.]{1,40}\()?(?:\[\]|\(\)|\{\}|''|\"\"|set\(\))"
    r"(?:, (?:dtype|size|shape|device|name)=[^\n]{1,80}|\))?"
    r"|Empty DataFrame\b[^\n]{0,200}|Series\(\[\][^\n]{0,80}"
)
_OPEN = "[({'\""


@dataclass(frozen=True, slots=True)
class _Place:
    """The numbers of the claimed value, and those that are printed in its place."""

    before: Sequence[Number]
    now: Sequence[Number]

    @property
    def pairs(self) -> list[tuple[Number, Number]]:
        return list(zip(self.before, self.now, strict=True)) if len(self.before) == len(self.now) else []


def has_trait_now(
    check: Check, traits: Sequence[Trait], right: Sequence[Number], stdout: str, in_place: Sequence[Number]
) -> Trait | None:
    """The trait that the claimed value lacked, and that the one in its place has; None if there is none.

    `right` are numbers that are expected there. `in_place` are the printed numbers at the place of the
    claimed one, if the claim is a single number.
    """
    if check.role is not Role.BUG or not traits:
        return None
    if Trait.NOT_EMPTY in traits and _is_filled(check, stdout):
        return Trait.NOT_EMPTY
    place = _place_of(check, stdout, in_place)
    if place is None:
        return None
    return next(
        (
            trait
            for trait in traits
            if (judge := _JUDGES.get(trait)) is not None
            and judge(place)
            and (not right or (trait is Trait.NO_NAN and _round_to(place, right)))
        ),
        None,
    )


def _place_of(check: Check, stdout: str, in_place: Sequence[Number]) -> _Place | None:
    if check.kind is CheckKind.VALUE:
        claimed = numbers_in(check.number or "")
        return _Place(claimed, in_place) if len(claimed) == len(in_place) == 1 else None
    rows = claimed_rows(check)
    own = [token for row in rows for token in row]
    before = _numbers(own)
    lines = [line for line in stdout.splitlines()[: _MOST_LINES + 1] if line.strip()]
    if not before or len(lines) > _MOST_LINES:
        return None
    pairs = pairs_of_lines(rows, stdout)
    whole = [token for line in lines for token in tokens_of(line)]
    if _words(own) == _words(whole):
        # All that is printed, with any line breaks.
        return _Place(before, _numbers(whole))
    if pairs and all(_words(one) == _words(seen) for one, seen in pairs):
        return _Place(before, _numbers([token for _, seen in pairs for token in seen]))
    if len(before) == len(own) == 1 and not math.isfinite(before[0].value):
        # `it prints nan`: lines above the last one may show an input.
        return _Place(before, _numbers(tokens_of(lines[-1])))
    return None


def _words(tokens: Sequence[Token]) -> list[str]:
    return [token for token in tokens if isinstance(token, str)]


def _numbers(tokens: Sequence[Token]) -> list[Number]:
    return [token for token in tokens if isinstance(token, Number)]


def _round_to(place: _Place, right: Sequence[Number]) -> bool:
    """Whether what came for nan rounds to the one number that is expected: 0.974 to 1.0."""
    changed = [other for one, other in place.pairs if not math.isfinite(one.value)]
    return len(right) == 1 and all(
        not right[0].whole and abs(other.value - right[0].value) <= float(right[0].step) / 2
        for other in changed
    )


def _nan_is_like_its_neighbours(place: _Place) -> bool:
    """Whether all other numbers are there again, and what came for nan is of their size."""
    others = [(one, other) for one, other in place.pairs if math.isfinite(one.value)]
    changed = [other for one, other in place.pairs if not math.isfinite(one.value)]
    if not others or not changed or not all(_is_again(one, other) for one, other in others):
        return False
    values = [one.value for one, _ in others]
    low, high = min(values), max(values)
    low = low * _WIDTH if low < 0 else low / _WIDTH
    high = high * _WIDTH if high > 0 else high / _WIDTH
    return all(math.isfinite(number.value) and low <= number.value <= high for number in changed)


def _is_again(one: Number, other: Number) -> bool:
    """Whether a number is printed again, by another version of numpy perhaps, or with other rounding."""
    if one.imaginary != other.imaginary:
        return False
    if matches(one, other):
        return True
    if one.whole or other.whole or not near(one.value, other.value):
        return _is_whole_again(one, other)
    distance = abs(one.value - other.value)
    step = float(max(one.step, other.step))
    is_long = min(one.digits, other.digits) >= _LEAST_DIGITS
    return (is_long and distance <= _UNITS * step) or distance <= _DOUBLE * abs(one.value)


def _is_whole_again(one: Number, other: Number) -> bool:
    """Whether both are zero, or one prints as `2.` or `2`."""
    return one.value == other.value


def _is_finite_now(place: _Place) -> bool:
    changed = [other for one, other in place.pairs if not math.isfinite(one.value)]
    others = [(one, other) for one, other in place.pairs if math.isfinite(one.value)]
    if not place.pairs and len(place.before) == 1 and not math.isfinite(place.before[0].value):
        # `It prints nan` of an array.
        changed = list(place.now)
    least, most = _ORDINARY
    return (
        bool(changed)
        and all(least <= abs(number.value) <= most for number in changed)
        and all(_is_again(one, other) for one, other in others)
    )


def _are(value: float) -> Callable[[_Place], bool]:
    """Whether all numbers are this one now, and were not."""

    def judge(place: _Place) -> bool:
        single = len(place.before) == 1 and not math.isfinite(place.before[0].value)
        return (
            (bool(place.pairs) or single)
            and bool(place.now)
            and any(number.value != value for number in place.before)
            and all(number.value == value for number in place.now)
        )

    return judge


def _is_sorted_now(place: _Place) -> bool:
    """Whether the same numbers are sorted now, and were not."""
    before, now = ([number.value for number in each] for each in (place.before, place.now))
    if len(before) != len(now) or len(now) < 2 or not all(map(math.isfinite, (*before, *now))):
        return False
    same = all(
        one == other or near(one, other) for one, other in zip(sorted(before), sorted(now), strict=True)
    )
    return same and _ascends(now) and not _ascends(before)


def _ascends(values: Sequence[float]) -> bool:
    return all(one <= other for one, other in pairwise(values))


def _are_equal_now(place: _Place) -> bool:
    """Whether all numbers are the one that most of them were."""
    before, now = ([number.value for number in each] for each in (place.before, place.now))
    if len(before) != len(now) or len(now) < 2 or len(set(now)) != 1 or not math.isfinite(now[0]):
        return False
    return len(set(before)) > 1 and 2 * sum(value == now[0] for value in before) > len(before)


def _sum_is_one_now(place: _Place) -> bool:
    if len(place.before) != len(place.now) or len(place.now) < 2:
        return False
    return _sums_to_one(place.now) and not _sums_to_one(place.before)


def _sums_to_one(numbers: Sequence[Number]) -> bool:
    values = [number.value for number in numbers]
    if not all(0 <= value <= 1 for value in values):
        return False
    rounding = sum(float(number.step) / 2 for number in numbers)
    return abs(sum(values) - 1) <= min(rounding, _MOST_ROUNDING) + _SUM_IS_ONE


def _is_real_now(place: _Place) -> bool:
    """Whether there are the same real parts, in any order, and no imaginary ones any more."""
    real = [number for number in place.before if not number.imaginary]
    now = [number for number in place.now if not number.imaginary]
    imaginary = [number for number in place.now if number.imaginary and number.value]
    if imaginary or len(real) != len(now) or len(real) == len(place.before) or not real:
        return False
    both = zip(*(sorted(each, key=lambda number: number.value) for each in (real, now)), strict=True)
    return all(_is_again(one, other) for one, other in both)


def _is_filled(check: Check, stdout: str) -> bool:
    """Whether an empty list, set, text or table that was all the output has something in it now."""
    claimed = [line.strip() for line in check.lines if line.strip()]
    lines = [line.strip() for line in stdout.splitlines() if line.strip()]
    if check.kind is not CheckKind.OUTPUT or len(claimed) != 1 or len(lines) != 1:
        return False
    one, seen = claimed[0], lines[0]
    is_empty = _EMPTY.fullmatch(one) is not None
    opened = next((sign for sign in one if sign in _OPEN), "")
    head = one.partition(opened)[0] if opened else one
    return (
        is_empty
        and bool(opened)
        and seen.startswith(head + opened)
        and _EMPTY.fullmatch(seen) is None
        and form_of(tokens_of(seen)) != form_of(tokens_of(one))
    )


_JUDGES: Mapping[Trait, Callable[[_Place], bool]] = {
    Trait.NO_NAN: _nan_is_like_its_neighbours,
    Trait.FINITE: _is_finite_now,
    Trait.ZEROS: _are(0.0),
    Trait.ONES: _are(1.0),
    Trait.SORTED: _is_sorted_now,
    Trait.EQUAL: _are_equal_now,
    Trait.SUMS_TO_ONE: _sum_is_one_now,
    Trait.REAL: _is_real_now,
}


def _is_sorted(value: str) -> bool | None:
    """Whether the numbers of a printed value ascend; None without two of them, and with nan."""
    values = [number.value for number in numbers_in(value)]
    return _ascends(values) if len(values) > 1 and all(map(math.isfinite, values)) else None


def _is_real(value: str) -> bool | None:
    numbers = numbers_in(value)
    return not any(number.imaginary and number.value for number in numbers) if numbers else None


def _is_not_empty(value: str) -> bool | None:
    text = " ".join(value.split())
    if _EMPTY.fullmatch(text):
        return False
    return True if re.match(r"(?:[\w.]{1,40}\()?[\[({'\"]", text) else None


def _is_sum_of_one(value: str) -> bool | None:
    numbers = numbers_in(value)
    return _sums_to_one(numbers) if len(numbers) > 1 else None


def _is_more_than_zeros(value: str) -> bool | None:
    elements = elements_of(value)
    if not elements or not all(map(math.isfinite, elements)):
        # Nan in place of zeros is another bug.
        return None
    return any(elements)


def _is_more_than_nan(value: str) -> bool | None:
    elements = elements_of(value)
    finite = sum(map(math.isfinite, elements))
    if elements and not any(not math.isnan(element) for element in elements):
        return False
    # A few numbers among many nan may be the same bug.
    return True if finite and 2 * finite >= len(elements) else None


# Whether a printed value has a trait; None if it can't be told.
HAS: Mapping[Trait, Callable[[str], bool | None]] = {
    Trait.SORTED: _is_sorted,
    Trait.REAL: _is_real,
    Trait.NOT_EMPTY: _is_not_empty,
    Trait.SUMS_TO_ONE: _is_sum_of_one,
    Trait.NOT_ZEROS: _is_more_than_zeros,
    Trait.NOT_NAN: _is_more_than_nan,
}
