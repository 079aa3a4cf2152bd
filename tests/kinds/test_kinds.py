"""Every report of a kind that was once judged wrongly gets a right verdict, from recorded attempts."""

from __future__ import annotations

from collections import Counter
from functools import cache

import pytest
from kind_reports import judged, reading_of, recorded_attempts, right_verdicts

from worker.contract import Result

LEAST_OF_A_KIND = 5
attempts = cache(recorded_attempts)


@pytest.mark.parametrize("name", sorted(right_verdicts()))
def test_a_report_of_a_kind_gets_a_right_verdict(name: str) -> None:
    right = right_verdicts()[name]
    found: dict[str, list[Result]] = attempts()
    assert str(judged(reading_of(name), found).verdict) in right["accept_on_cpu"], right["why"]


def test_every_kind_has_several_reports_with_a_reason() -> None:
    kinds = Counter(right["kind"] for right in right_verdicts().values())
    assert min(kinds.values()) >= LEAST_OF_A_KIND
    assert all(right["why"] for right in right_verdicts().values())
