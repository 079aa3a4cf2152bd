"""The interval of a rate whose number of trials is fixed beforehand, as that of a set of reports is.

Attempts of a job end by what they showed. Their intervals (`app.judging.verdict.rates`) are wider.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

_LEVEL = 0.95
_STEPS = 40


class Interval(NamedTuple):
    """A two-sided 95 % interval."""

    low: float
    high: float


def fixed_interval(met: int, of: int) -> Interval | None:
    """The Clopper-Pearson interval of a rate. None without trials."""
    if of < 1:
        return None
    tail = (1 - _LEVEL) / 2
    low = 0.0 if met == 0 else _root(lambda rate: _at_least(met, of, rate), tail)
    high = 1.0 if met == of else 1 - _root(lambda rate: _at_least(of - met, of, rate), tail)
    return Interval(low, high)


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
    """The probability of `met` or more in `of` independent trials."""
    yes, no = math.log(rate), math.log1p(-rate)
    return math.fsum(
        math.exp(math.lgamma(of + 1) - math.lgamma(k + 1) - math.lgamma(of - k + 1) + k * yes + (of - k) * no)
        for k in range(met, of + 1)
    )
