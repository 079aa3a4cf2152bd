"""Rates and how sure they are, whenever the attempts end."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.judging.judgement import RateInterval
from app.judging.verdict.rates import rate_interval, rate_upper_bound

RATES = (0.02, 0.1, 0.3, 0.5, 0.8, 0.97)
# So many attempts are looked at one by one. A plan has at most 250.
HORIZON = 100


@cache
def interval(met: int, of: int) -> RateInterval:
    found = rate_interval(met, of)
    assert found is not None
    return found


@cache
def fixed_number_interval(met: int, of: int) -> tuple[float, float]:
    """Clopper's and Pearson's, for comparison: right only for a number fixed beforehand."""

    def tail(rate: float, least: int) -> float:
        return math.fsum(math.comb(of, k) * rate**k * (1 - rate) ** (of - k) for k in range(least, of + 1))

    steps = [step / 1000 for step in range(1001)]
    low = 0.0 if met == 0 else next(rate for rate in steps if tail(rate, met) >= 0.025)
    high = 1.0 if met == of else next(rate for rate in steps if 1 - tail(rate, met + 1) < 0.025)
    return low, high


def probability_of_a_miss(rate: float, misses: Callable[[int, int], bool], *, looks: int) -> float:
    """The exact probability that one of the first `looks` intervals misses the rate, by adding up all ways.

    This is the worst case: whoever stops at the very first miss.
    """
    ways, missed = {0: 1.0}, 0.0
    for of in range(1, looks + 1):
        after: dict[int, float] = {}
        for met, weight in ways.items():
            after[met + 1] = after.get(met + 1, 0.0) + weight * rate
            after[met] = after.get(met, 0.0) + weight * (1 - rate)
        missed += math.fsum(weight for met, weight in after.items() if misses(met, of))
        ways = {met: weight for met, weight in after.items() if not misses(met, of)}
    assert missed + math.fsum(ways.values()) == pytest.approx(1)
    return missed


@pytest.mark.parametrize("rate", RATES)
def test_an_interval_holds_the_rate_whenever_one_stops(rate: float) -> None:
    def misses(met: int, of: int) -> bool:
        found = interval(met, of)
        return not found.low <= rate <= found.high

    assert probability_of_a_miss(rate, misses, looks=HORIZON) <= 0.05


@pytest.mark.parametrize("rate", RATES)
def test_a_bound_after_silence_alone_holds_whenever_one_stops(rate: float) -> None:
    def misses(met: int, of: int) -> bool:
        return met == 0 and (rate_upper_bound(of) or 1.0) < rate

    assert probability_of_a_miss(rate, misses, looks=HORIZON) <= 0.05


def test_an_interval_for_a_fixed_number_would_not() -> None:
    def misses(met: int, of: int) -> bool:
        low, high = fixed_number_interval(met, of)
        return not low <= 0.3 <= high

    assert probability_of_a_miss(0.3, misses, looks=20) > 0.06


# Known answers: the likelihood is 1/20 of the mixture's, integrated by hand where it is short.
@pytest.mark.parametrize(
    ("met", "of", "low", "high"),
    [
        (1, 1, 0.025, 1.0),
        (3, 3, (0.375 / 20) ** (1 / 3), 1.0),
        (0, 5, 0.0, 1 - ((0.25 + 0.5 / 6) / 20) ** (1 / 5)),
        (0, 59, 0.0, 1 - ((0.25 + 0.5 / 60) / 20) ** (1 / 59)),
        (1, 2, 0.5 - math.sqrt(0.25 - 1 / 240), 0.5 + math.sqrt(0.25 - 1 / 240)),
    ],
)
def test_known_intervals(met: int, of: int, low: float, high: float) -> None:
    found = interval(met, of)
    assert (found.low, found.high) == (pytest.approx(low, abs=2e-4), pytest.approx(high, abs=2e-4))


def test_known_bounds() -> None:
    assert (rate_upper_bound(5), rate_upper_bound(59)) == (0.4507, 0.0495)


@given(of=st.integers(1, 4000), data=st.data())
def test_an_interval_holds_the_share_and_mirrors(of: int, data: st.DataObject) -> None:
    met = data.draw(st.integers(0, of))
    one, other = interval(met, of), interval(of - met, of)
    assert one.low - 1e-4 <= met / of <= one.high + 1e-4
    assert (one.low, one.high) == (
        pytest.approx(1 - other.high, abs=2e-4),
        pytest.approx(1 - other.low, abs=2e-4),
    )


def test_no_attempts_no_interval() -> None:
    assert rate_interval(0, 0) is None
    assert rate_upper_bound(0) is None
