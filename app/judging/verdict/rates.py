"""How often a failure may really happen, from how often it was seen in independent cold attempts."""

from __future__ import annotations

import math
from collections.abc import Callable

from app.judging.judgement import RateInterval

LEVEL = 0.95
# Bisection to less than what is shown; each step halves the error.
_STEPS = 40
_PLACES = 4


def rate_upper_bound(cold: int) -> float | None:
    """With none met in n cold attempts, the rate that 95 % of such series would have shown: 45 % at 5, 5 % at 59. One-sided."""
    return None if cold < 1 else round(1 - (1 - LEVEL) ** (1 / cold), _PLACES)


def rate_interval(met: int, of: int) -> RateInterval | None:
    """The two-sided Clopper-Pearson interval of a rate at 95 %: exact, so never narrower than it says. None without attempts."""
    if of < 1:
        return None
    tail = (1 - LEVEL) / 2
    low = 0.0 if met == 0 else _root(lambda rate: _at_least(met, of, rate), tail)
    high = 1.0 if met == of else 1 - _root(lambda rate: _at_least(of - met, of, rate), tail)
    return RateInterval(low=round(low, _PLACES), high=round(high, _PLACES))


def _root(rising: Callable[[float], float], wanted: float) -> float:
    """Where a function that rises from 0 to 1 over [0, 1] takes a value."""
    low, high = 0.0, 1.0
    for _ in range(_STEPS):
        middle = (low + high) / 2
        if rising(middle) < wanted:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def _at_least(met: int, of: int, rate: float) -> float:
    """The probability of `met` or more in `of` independent attempts."""
    return math.fsum(math.comb(of, k) * rate**k * (1 - rate) ** (of - k) for k in range(met, of + 1))
