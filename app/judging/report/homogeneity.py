"""Tests whether several rates may be one rate, from counts of independent attempts.

Two functions of a statistics library would do this, but no such library is a dependency of the service.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from app.judging.verdict.rates import LEVEL

# The exact test counts all tables with the same sums. With more sums than these, the approximation is used.
MOST_SUMS = 8_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Homogeneity:
    """The result of the test. `p` is the probability of such a difference if all rates are equal."""

    p: float
    exact: bool

    @property
    def may_be_equal(self) -> bool:
        """Whether the counts leave it open that all rates are equal."""
        return self.p >= 1 - LEVEL


def homogeneity(counts: Sequence[tuple[int, int]]) -> Homogeneity | None:
    """Pearson's chi-square test of `(matched, of)`: exact if the counts are few, else asymptotic.

    None if fewer than two counts have attempts.
    """
    return _test(tuple(sorted(pair for pair in counts if pair[1] > 0)))


@lru_cache(maxsize=512)
def _test(counts: tuple[tuple[int, int], ...]) -> Homogeneity | None:
    if len(counts) < 2:
        return None
    met, of = sum(some for some, _ in counts), sum(all_ for _, all_ in counts)
    if met in {0, of}:
        return Homogeneity(p=1.0, exact=True)
    exact = _exact(counts, met)
    if exact is not None:
        return Homogeneity(p=exact, exact=True)
    rate = met / of
    statistic = math.fsum((some - all_ * rate) ** 2 / (all_ * rate * (1 - rate)) for some, all_ in counts)
    return Homogeneity(p=chi_square_tail(statistic, len(counts) - 1), exact=False)


def _exact(counts: Sequence[tuple[int, int]], met: int) -> float | None:
    """The share of tables, among those with the same sums, that differ as much. None if there are too many.

    With the sums fixed, chi-square grows with the sum of matched² / of. It is counted in integers.
    """
    scale = math.lcm(*(of for _, of in counts))
    tables: dict[tuple[int, int], int] = {(0, 0): 1}
    for _, of in counts:
        following: dict[tuple[int, int], int] = {}
        ways = [(some, some * some * (scale // of), math.comb(of, some)) for some in range(of + 1)]
        for (so_far, squares), number in tables.items():
            for some, square, factor in ways:
                if so_far + some > met:
                    break
                key = (so_far + some, squares + square)
                following[key] = following.get(key, 0) + number * factor
        if len(following) > MOST_SUMS:
            return None
        tables = following
    seen = sum(some * some * (scale // of) for some, of in counts)
    with_sums = [(squares, number) for (some, squares), number in tables.items() if some == met]
    differing = sum(number for squares, number in with_sums if squares >= seen)
    return differing / sum(number for _, number in with_sums)


def chi_square_tail(value: float, freedom: int) -> float:
    """The probability that chi-square with `freedom` degrees of freedom is at least `value`."""
    half = value / 2
    if half <= 0:
        return 1.0
    if freedom % 2 == 0:
        return math.exp(-half) * math.fsum(half**k / math.factorial(k) for k in range(freedom // 2))
    rest = math.fsum(half ** (k - 0.5) / math.gamma(k + 0.5) for k in range(1, (freedom + 1) // 2))
    return math.erfc(math.sqrt(half)) + math.exp(-half) * rest
