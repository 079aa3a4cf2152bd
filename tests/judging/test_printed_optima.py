"""Results of optimisers, printed by another version in another order and with other last digits."""

from __future__ import annotations

import pytest
from judging_builders import prints

from app.judging.check.printed_optima import shows_same_optima

CLAIMED = prints(
    "fun: 6.999999998311",
    "status: 0",
    "x: array([1.99999999e+00, 3.14159265e-12])",
    "fun: 2.500000000412",
    "status: 0",
    "x: array([5.00000001e-01, 1.00000000e+00])",
)
SHOWN = "status: 0\n   x: [ {a} 0.000e+00]\n fun: 7.0\nstatus: 0\n  x: [ 5.000e-01 1.000e+00]\n fun: {fun}\n"


@pytest.mark.parametrize(
    ("a", "fun", "same"),
    [("2.000e+00", "2.5", True), ("2.000e+00", "7.0", False), ("2.100e+00", "2.5", False)],
)
def test_optima_are_compared_by_label(a: str, fun: str, *, same: bool) -> None:
    assert shows_same_optima(CLAIMED, SHOWN.format(a=a, fun=fun)) is same


def test_last_digits_of_one_result_may_be_the_claim() -> None:
    one = prints("fun: 6.999999998311", "x: array([1.99999999e+00])")
    assert not shows_same_optima(one, "fun: 7.0\nx: [ 2.000e+00]\n")
