"""Bounds that a report sets for a value, and sentences that set none."""

from __future__ import annotations

import pytest
from default_limits import read

from app.intake.claim.claims import Bounds, CheckKind
from app.intake.claim.right_bounds import right_bounds


@pytest.mark.parametrize(
    ("sentence", "bounds"),
    [
        ("It should output a value between 0 and 1.", Bounds(least=0, most=1)),
        ("The p-value must lie in [0, 1].", Bounds(least=0, most=1)),
        ("The result should not be 0.", Bounds(unequal=0)),
        ("A log_prob should never be above zero, so it must be <= 0.", Bounds(most=0)),
        ("The variance can't be negative.", Bounds(least=0)),
        ("The distance must be positive.", Bounds(above=0)),
        ("The determinant should be non-zero.", Bounds(unequal=0)),
        ("It must not exceed 1.0.", Bounds(most=1)),
        ("It should be > 1.", Bounds(above=1)),
        ("It should be at least 2.5.", Bounds(least=2.5)),
        ("It returns a negative variance, which is impossible.", Bounds(least=0)),
        ("It gives probabilities greater than 1, which makes no sense.", Bounds(most=1)),
    ],
)
def test_sentences_set_bounds(sentence: str, bounds: Bounds) -> None:
    assert right_bounds("title", [sentence]) == (bounds,)


@pytest.mark.parametrize(
    "sentence",
    [
        "It should be 3.",
        "It returns 3.",
        "The sum should be between 0 and 1.",
        "It should take less than 3 seconds.",
        "The version must be > 1.2.",
        "If n is negative, it returns 3.",
        "It returns a negative number for odd inputs.",
        # These are numbers, too, but no bounds: each has to be read, and to be sent as JSON.
        "It should be > 0x10.",
        "It must not be nan.",
        "It should be less than inf.",
        "It should be greater than 3j.",
        "It should be between 0x1 and 0x2.",
        "It should be > 1e999.",
    ],
)
def test_other_sentences_set_none(sentence: str) -> None:
    assert right_bounds("title", [sentence]) == ()


@pytest.mark.parametrize(
    ("title", "bounds"),
    [
        ("circvar outputs a value greater than 1", Bounds(most=1)),
        ("anderson_ksamp p-values>1", Bounds(most=1)),
        ("loglaplace returns negative moments", Bounds(least=0)),
        ("pdf() returns probabilities >= 1", Bounds(below=1)),
    ],
)
def test_a_title_says_what_is_wrong(title: str, bounds: Bounds) -> None:
    assert right_bounds(title, []) == (bounds,)


def test_a_report_without_any_output_claims_that_a_bound_is_broken() -> None:
    reading = read(
        "# circvar outputs a value greater than 1\n\n```python\nfrom s import circvar\ncircvar([1])\n```\n"
    )
    assert [check.kind for check in reading.claim.checks] == [CheckKind.OUT_OF_BOUNDS]
    # The value is displayed, or nothing could be seen.
    assert "displayhook(circvar([1]))" in reading.scripts[0].script


def test_lines_with_a_label_show_as_many_values_as_the_script_has_expressions() -> None:
    reading = read(
        "# linspace: torch and numpy do not agree\n\n```python\nimport numpy as np\nf(1, dtype=int)\n"
        "np.f(1, dtype=int)\n```\nWhat torch hands back: tensor([1, 4])\n"
        "What numpy hands back: array([1, 5])\n"
    )
    assert reading.claim.checks[0].lines == ("tensor([1, 4])", "array([1, 5])")
    assert reading.scripts[0].script.count("displayhook") == 2
