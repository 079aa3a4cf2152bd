"""Bounds for the true rate of a failure, from independent cold attempts; whether several rates may be one.

A job goes on or ends by what its attempts showed. An interval for a number fixed beforehand, such as
Clopper's and Pearson's, would then miss the rate more often than it says. These bounds form a confidence
sequence: with the stated confidence *none* of the intervals after 1, 2, 3 … attempts misses the rate, so it
does not matter which of them is the last.

Two functions of a statistics library would do the test, but no such library is a dependency of the service.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from app.judging.judgement import RateInterval

LEVEL = 0.95
# The prior of the mixture: "never" and "always" weigh as much as all rates between them.
_END, _BETWEEN = 0.25, 0.5
# Steps of the bisection. The error after them is smaller than a shown digit.
_STEPS = 40
_PLACES = 4
# The exact test counts all tables with the same sums. With more sums than these, the approximation is used.
MOST_SUMS = 8_000


def rate_upper_bound(cold: int) -> float | None:
    """The one-sided 95 % upper bound of a rate if none of `cold` attempts met it: 45 % for 5, 5 % for 59.

    It holds whenever one stops, too: the first `cold` attempts can fail to show it in one way only.
    """
    return None if cold < 1 else round(1 - (1 - LEVEL) ** (1 / cold), _PLACES)


def attempts_to_exclude(rate: float) -> int:
    """The least number of equal attempts that miss another behaviour at this rate in 5 % of all cases."""
    return math.ceil(math.log(1 - LEVEL) / math.log1p(-rate))


def rate_interval(met: int, of: int) -> RateInterval | None:
    """The two-sided 95 % interval of a rate. None without attempts.

    It holds the rates under which the attempts are at least 1/20 as likely as under the mixture of all rates.
    The ratio of the two is a martingale under the true rate, so it ever exceeds 20 with a probability of at
    most 1/20 (Ville).
    """
    if of < 1:
        return None
    least = math.log(1 - LEVEL) + _log_mixture(met, of)
    seen = met / of
    low = 0.0 if met == 0 else _edge(lambda rate: _log_likelihood(met, of, rate) >= least, 0.0, seen)
    high = 1.0 if met == of else _edge(lambda rate: _log_likelihood(met, of, rate) >= least, 1.0, seen)
    return RateInterval(low=round(low, _PLACES), high=round(high, _PLACES))


def _edge(holds: Callable[[float], bool], outside: float, inside: float) -> float:
    """The last point from `inside` towards `outside` that holds."""
    for _ in range(_STEPS):
        middle = (outside + inside) / 2
        if holds(middle):
            inside = middle
        else:
            outside = middle
    return inside


def _log_likelihood(met: int, of: int, rate: float) -> float:
    """The logarithm of the probability of one order of results, for a rate between 0 and 1."""
    yes = met * math.log(rate) if met else 0.0
    return yes + ((of - met) * math.log1p(-rate) if met < of else 0.0)


def _log_mixture(met: int, of: int) -> float:
    """The same for a rate drawn from the prior."""
    if met in {0, of}:
        return math.log(_END + _BETWEEN / (of + 1))
    # In logarithms, since the number of combinations of some thousand attempts is no float.
    return math.log(_BETWEEN) + math.lgamma(met + 1) + math.lgamma(of - met + 1) - math.lgamma(of + 2)


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
