"""Probabilities for bisections: priors, likelihoods, information, sums of logarithms, narrowest ranges."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from operator import mul

# The probability that a point without the behaviour shows it, for example by a fault of ours.
SPURIOUS = 1e-4
# The possible rates at points with the behaviour. The true rate is estimated during the bisection.
ALWAYS = 1.0 - SPURIOUS
RATES = (*((step + 0.5) / 50 for step in range(50)), ALWAYS)
# The prior of "every time": where chance may decide what an attempt shows, and where nothing speaks for that.
_ALWAYS_BY_CHANCE, _ALWAYS_WITHOUT_CHANCE = 0.5, 0.95


def _log_priors(always: float) -> tuple[float, ...]:
    return tuple(math.log(always if rate == ALWAYS else (1 - always) / (len(RATES) - 1)) for rate in RATES)


_LOG_PRIORS = {True: _log_priors(_ALWAYS_BY_CHANCE), False: _log_priors(_ALWAYS_WITHOUT_CHANCE)}
_LOG_YES, _LOG_NO = tuple(map(math.log, RATES)), tuple(math.log1p(-rate) for rate in RATES)
LOG_SPURIOUS, LOG_SILENT = math.log(SPURIOUS), math.log1p(-SPURIOUS)


def log_likelihoods(yes: int, no: int, *, by_chance: bool) -> list[float]:
    """The log-likelihoods of these counts at each rate, including the prior of the rate."""
    return [
        prior + yes * log_yes + no * log_no
        for prior, log_yes, log_no in zip(_LOG_PRIORS[by_chance], _LOG_YES, _LOG_NO, strict=True)
    ]


def log_change_priors(points: int) -> list[float]:
    """The logarithms of the priors of all patterns: each change as likely as another, then none of them."""
    changes = 2 * (points - 1)
    return [math.log(0.5 / changes)] * changes + [math.log(0.25)] * 2


def information(cases: Sequence[Sequence[float]], chances: Sequence[float]) -> float:
    """The expected information in bits of one attempt.

    `chances` are those of a sighting under each pattern.
    """
    bits = 0.0
    entropies = list(map(entropy, chances))
    for case in cases:
        total = math.fsum(case)
        if total > 0:
            bits += total * entropy(min(1.0, math.fsum(map(mul, case, chances)) / total)) - math.fsum(
                map(mul, case, entropies)
            )
    return bits


def entropy(probability: float) -> float:
    """The entropy in bits of an event with this probability."""
    return -sum(part * math.log2(part) for part in (probability, 1 - probability) if part > 0)


def log_sum(logs: Iterable[float]) -> float:
    """The logarithm of the sum of values that are given by their logarithms."""
    values = list(logs)
    top = max(values)
    return top + math.log(math.fsum(math.exp(value - top) for value in values))


def narrowest(weights: Sequence[float], enough: float) -> tuple[int, int]:
    """The shortest range (start, end) whose weights add up to enough; else the whole range.

    `end` is excluded.
    """
    best = (0, len(weights))
    low, total = 0, 0.0
    for high, weight in enumerate(weights):
        total += weight
        while total - weights[low] >= enough:
            total -= weights[low]
            low += 1
        if total >= enough and high + 1 - low < best[1] - best[0]:
            best = (low, high + 1)
    return best


def most_even(points: Sequence[int], patterns: Sequence[tuple[float, range]], most: int) -> list[int]:
    """All points; if there are more than `most`, those that split the probability most evenly.

    `patterns` are probabilities, each with the points that show something under it.
    """
    if len(points) <= most:
        return list(points)
    mass = {point: math.fsum(weight for weight, span in patterns if point in span) for point in points}
    return sorted(points, key=lambda point: abs(mass[point] - 0.5))[:most]
