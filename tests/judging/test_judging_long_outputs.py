"""Judging looks at an output several times, and a long one must not take it over its limits."""

from __future__ import annotations

import time

import pytest
from judging.judging_builders import CPU, check, prints, script, several

from app.intake.claim.claims import CheckKind, Claim, Role
from app.judging.verdict.job import judge_job
from app.targets.planning.plan import RepeatPlan

BYTES = 40_000
# Before, one of these took six seconds and more. Three tenths are left of it.
MOST_SECONDS = 2.0


@pytest.mark.parametrize("line", ["1 " * 40, "0.25 1.5 7", "step 3: loss 0.125"])
def test_an_output_full_of_numbers_is_judged_soon(line: str) -> None:
    wrong = check(CheckKind.VALUE, "prints 2.0", number="2.0")
    right = check(CheckKind.VALUE, "expected 1.0", number="1.0", role=Role.EXPECTED)
    attempts = several(3, f"{line}\n" * (BYTES // len(line)))
    begin = time.process_time()
    judge_job(
        Claim(checks=(wrong, right, prints("never")), text=""),
        script(),
        CPU,
        attempts,
        plan=RepeatPlan(at_most=3),
    )
    assert time.process_time() - begin < MOST_SECONDS
