"""Complaints of all elements of a printed value: nothing but zeros, or nan."""

from __future__ import annotations

import math

import pytest
from judging_builders import result

from app.intake.claim.claims import Check, CheckKind, Trait
from app.judging.check.printed_traits import judge_printed_traits
from app.judging.gone.traits import HAS
from app.judging.judgement import CheckResult
from app.judging.output.whole_values import elements_of


@pytest.mark.parametrize(
    ("value", "elements"),
    [
        ("[0 0 0]", [0, 0, 0]),
        ("tensor([0., 1.], dtype=torch.float64)", [0, 1]),
        ("0    0.0\n1    1.5\ndtype: float64", [0, 1.5]),
        ("     a    b\n0  1.0  2.0\n1  3.0  4.0", [1, 2, 3, 4]),
        ("0.5", [0.5]),
        ("['a', 'b']", []),
        ("None", []),
    ],
)
def test_the_elements_of_a_value(value: str, elements: list[float]) -> None:
    assert elements_of(value) == elements


def test_nan_is_an_element() -> None:
    assert all(map(math.isnan, elements_of("0   NaN\n1   NaN\ndtype: float64")))


@pytest.mark.parametrize(
    ("trait", "value", "has"),
    [
        (Trait.NOT_ZEROS, "[0. 0.]", False),
        (Trait.NOT_ZEROS, "[0. 0.1]", True),
        (Trait.NOT_ZEROS, "[nan 0.]", None),
        (Trait.NOT_ZEROS, "zeros", None),
        (Trait.NOT_NAN, "[nan nan]", False),
        (Trait.NOT_NAN, "0    NaN\n1    1.5\n2    2.5\ndtype: float64", True),
        (Trait.NOT_NAN, "[nan nan nan 1.]", None),
        (Trait.NOT_NAN, "[inf inf]", None),
    ],
)
def test_a_value_is_more_than_zeros_or_nan(trait: Trait, value: str, *, has: bool | None) -> None:
    assert HAS[trait](value) is has


@pytest.mark.parametrize(
    ("stdout", "answer"),
    [
        ("[1 2]\n[1 2]\n", CheckResult.MET),
        ("[1 2]\n[2 1]\n", CheckResult.ABSENT),
        ("  a  \na\n", CheckResult.OTHER),
    ],
)
def test_a_value_that_differs_in_blanks_is_not_unchanged(stdout: str, answer: CheckResult) -> None:
    check = Check(text="unchanged", kind=CheckKind.LACKS, trait=Trait.DISTINCT, among=(1, 2), prints=2)
    assert judge_printed_traits(check, result(stdout=stdout)) is answer
