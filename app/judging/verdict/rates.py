"""Bounds for the true rate of a failure, from independent cold attempts. They hold whenever one stops.

A job goes on or ends by what its attempts showed. An interval for a number fixed beforehand, such as
Clopper's and Pearson's, would then miss the rate more often than it says. These bounds form a confidence
sequence: with the stated confidence *none* of the intervals after 1, 2, 3 … attempts misses the rate, so it
does not matter which of them is the last.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from app.judging.judgement import RateInterval

LEVEL = 0.95
# The prior of the mixture: "never" and "always" weigh as much as all rates between them.
_END, _BETWEEN = 0.25, 0.5
# Steps of the bisection. The error after them is smaller than a shown digit.
_STEPS = 40
_PLACES = 4


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
