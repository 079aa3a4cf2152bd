"""Several rates are one rate only if a test finds no difference."""

from __future__ import annotations

import math
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.judging.verdict.rates import chi_square_tail, homogeneity


def by_hand(counts: list[tuple[int, int]]) -> float:
    """All tables with the same sums, one by one."""
    met = sum(some for some, _ in counts)
    of = [each for _, each in counts]

    def ways(table: tuple[int, ...]) -> int:
        return math.prod(math.comb(each, some) for each, some in zip(of, table, strict=True))

    def distance(table: tuple[int, ...]) -> float:
        return sum((some - each * met / sum(of)) ** 2 / each for each, some in zip(of, table, strict=True))

    tables = [table for table in product(*(range(each + 1) for each in of)) if sum(table) == met]
    seen = distance(tuple(some for some, _ in counts))
    return sum(ways(table) for table in tables if distance(table) >= seen - 1e-9) / sum(map(ways, tables))


COUNTS = st.lists(
    st.integers(1, 6).flatmap(lambda of: st.tuples(st.integers(0, of), st.just(of))), min_size=2, max_size=4
)


@given(COUNTS)
def test_the_exact_test_counts_every_table(counts: list[tuple[int, int]]) -> None:
    test = homogeneity(counts)
    assert test is not None
    assert test.exact
    assert test.p == pytest.approx(by_hand(counts))


def test_known_values() -> None:
    # Fisher's tea; the tables of chi-square.
    assert homogeneity([(3, 4), (1, 4)]).p == pytest.approx(34 / 70)  # type: ignore[union-attr]
    for value, freedom in ((3.841, 1), (5.991, 2), (7.815, 3), (11.070, 5), (18.307, 10)):
        assert chi_square_tail(value, freedom) == pytest.approx(0.05, abs=1e-4)
    assert chi_square_tail(0.0, 3) == 1.0


def test_rates_that_may_be_equal_and_rates_that_differ() -> None:
    same = homogeneity([(8, 20), (4, 20), (9, 20), (6, 20), (4, 20), (6, 20)])
    assert same is not None
    assert same.may_be_equal
    changed = homogeneity([(8, 20), (15, 20), (3, 20)])
    assert changed is not None
    assert not changed.may_be_equal
    # Nobody can tell 0 of 3 from 1 of 3.
    assert homogeneity([(0, 3), (1, 3)]).may_be_equal  # type: ignore[union-attr]
    assert homogeneity([(5, 5), (7, 7)]).p == 1.0  # type: ignore[union-attr]


def test_many_attempts_are_tested_by_the_approximation_and_nothing_is_tested_without_two_counts() -> None:
    large = homogeneity([(300, 1000), (310, 1000), (305, 997), (280, 1001)])
    assert large is not None
    assert (large.exact, large.may_be_equal) == (False, True)
    assert not homogeneity([(300, 1000), (400, 1000), (305, 997), (280, 1001)]).may_be_equal  # type: ignore[union-attr]
    assert homogeneity([(1, 2)]) is None
    assert homogeneity([(0, 0), (1, 2)]) is None


@pytest.mark.parametrize("spread", [0, 4])
def test_the_two_tests_agree_where_both_hold(spread: int) -> None:
    counts = [(20 - spread, 50), (20, 50), (20 + spread, 50)]
    exact = homogeneity(counts)
    assert exact is not None
    rate = 20 / 50
    statistic = sum((some - 50 * rate) ** 2 / (50 * rate * (1 - rate)) for some, _ in counts)
    assert exact.p == pytest.approx(chi_square_tail(statistic, 2), abs=0.06)
