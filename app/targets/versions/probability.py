"""Probabilities for bisections: information, sums of logarithms, and narrowest ranges."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from operator import mul


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
