"""Rates and how sure they are."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.judging.verdict.rates import rate_interval, rate_upper_bound


# Known answers: scipy.stats.binomtest(k, n).proportion_ci(0.95, "exact").
@pytest.mark.parametrize(
    ("met", "of", "low", "high"),
    [
        (0, 5, 0.0, 0.5218),
        (5, 5, 0.4782, 1.0),
        (3, 10, 0.0667, 0.6525),
        (7, 20, 0.1539, 0.5922),
        (1, 250, 0.0001, 0.0221),
        (1, 1, 0.025, 1.0),
        (17, 4000, 0.0025, 0.0068),
    ],
)
def test_known_intervals(met: int, of: int, low: float, high: float) -> None:
    found = rate_interval(met, of)
    assert found is not None
    assert (found.low, found.high) == (pytest.approx(low, abs=2e-4), pytest.approx(high, abs=2e-4))


@given(of=st.integers(1, 250), data=st.data())
def test_an_interval_holds_the_rate_and_mirrors(of: int, data: st.DataObject) -> None:
    met = data.draw(st.integers(0, of))
    one, other = rate_interval(met, of), rate_interval(of - met, of)
    assert one is not None
    assert other is not None
    assert one.low - 1e-4 <= met / of <= one.high + 1e-4
    assert (one.low, one.high) == (
        pytest.approx(1 - other.high, abs=2e-4),
        pytest.approx(1 - other.low, abs=2e-4),
    )


def test_no_attempts_no_interval() -> None:
    assert rate_interval(0, 0) is None
    assert rate_upper_bound(0) is None
