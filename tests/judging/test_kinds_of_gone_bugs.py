"""Kinds of bugs that are gone, each beside the same bug as it was and beside something else that is wrong."""

from __future__ import annotations

import pytest
from gone_reports import Case, cases_of, verdict_of

KINDS = (
    *("nan", "nan_unseen", "wishes", "wishes_unseen"),
    *("contrasts", "contrasts_unseen", "own_output_is_right", "own_output_unseen"),
    *("measured_times", "measured_unseen"),
    *("complaints", "complaints_unseen"),
    *("twins", "twins_unseen", "sameness", "sameness_unseen", "units_of_times"),
    *("own_checks", "ways"),
)
CASES = [case for kind in KINDS for case in cases_of(f"{kind}.txt")]


@pytest.mark.parametrize("case", CASES, ids=[name for name, *_ in CASES])
def test_a_bug_is_gone_only_where_something_says_that_the_new_value_is_right(case: Case) -> None:
    _, *evidence, verdict = case
    assert verdict_of(*evidence) == verdict
