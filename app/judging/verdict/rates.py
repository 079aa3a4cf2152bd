"""Bounds for the true rate of a failure, from independent cold attempts."""

from __future__ import annotations

import math
from collections.abc import Callable

from app.judging.judgement import RateInterval

LEVEL = 0.95
# Steps of the bisection. The error after them is smaller than a shown digit.
_STEPS = 40
_PLACES = 4


def rate_upper_bound(cold: int) -> float | None:
    """The one-sided 95 % upper bound of a rate if none of `cold` attempts met it: 45 % for 5, 5 % for 59."""
    return None if cold < 1 else round(1 - (1 - LEVEL) ** (1 / cold), _PLACES)


def rate_interval(met: int, of: int) -> RateInterval | None:
    """The two-sided 95 % Clopper-Pearson interval of a rate. None without attempts."""
    if of < 1:
        return None
    tail = (1 - LEVEL) / 2
    low = 0.0 if met == 0 else _root(lambda rate: _at_least(met, of, rate), tail)
    high = 1.0 if met == of else 1 - _root(lambda rate: _at_least(of - met, of, rate), tail)
    return RateInterval(low=round(low, _PLACES), high=round(high, _PLACES))


def _root(rising: Callable[[float], float], value: float) -> float:
    """The point in [0, 1] where a function that rises from 0 to 1 takes the value."""
    low, high = 0.0, 1.0
    for _ in range(_STEPS):
        middle = (low + high) / 2
        if rising(middle) < value:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def _at_least(met: int, of: int, rate: float) -> float:
    """The probability of `met` or more in `of` independent attempts."""
    # In logarithms, since the number of combinations of some thousand attempts is no float.
    yes, no = math.log(rate), math.log1p(-rate)
    return math.fsum(
        math.exp(math.lgamma(of + 1) - math.lgamma(k + 1) - math.lgamma(of - k + 1) + k * yes + (of - k) * no)
        for k in range(met, of + 1)
    )
