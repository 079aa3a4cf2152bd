"""Values that words beside a script call right, in kinds of wordings and layouts that were once not read."""

from __future__ import annotations

import pytest
from gone_reports import Case, cases_of, verdict_of

CASES = [
    case
    for kind in ("strings_below", "calculated_by_hand", "older_release_gave")
    for case in cases_of(f"{kind}.txt")
]


@pytest.mark.parametrize("case", CASES, ids=[name for name, *_ in CASES])
def test_the_verdict_follows_from_what_is_called_right(case: Case) -> None:
    _, *evidence, verdict = case
    assert verdict_of(*evidence) == verdict
