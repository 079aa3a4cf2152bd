"""An expected zero may be a tiny number, if what is wrong there is far from zero."""

from __future__ import annotations

import pytest
from judging_builders import CPU, claim, prints, result, script

from app.intake.claim.claims import Role
from app.judging.judgement import Verdict
from app.judging.verdict.job import judge_job

NO, DIFFERENT, SEEN = Verdict.NOT_REPRODUCED, Verdict.DIFFERENT, Verdict.REPRODUCED


@pytest.mark.parametrize(
    ("wrong", "right", "stdout", "verdict"),
    [
        ("0.0 1.0", "1.0 0.0", "1.0 2.6919934559229012e-62", NO),
        ("p: 0.97", "p: 0.0", "n = 3\np: 3.1e-17", NO),
        ("0.0 1.0", "1.0 0.0", "0.0 1.0", SEEN),
        # Another line of this form is not right, or no zero is in question.
        ("0.0 1.0", "1.0 0.0", "1.0 2.7e-62\n0.5 0.5", DIFFERENT),
        ("total 6", "total 5", "total 5\ntotal 7", DIFFERENT),
        # It is not zero, or the other number is wrong.
        ("0.0 1.0", "1.0 0.0", "1.0 2.7e-05", DIFFERENT),
        ("0.0 1.0", "1.0 0.0", "0.5 2.7e-62", DIFFERENT),
        # A tiny number is the bug itself.
        ("x: 2.7e-17", "x: 0.0", "x: 5.1e-17", DIFFERENT),
        ("0.0 1.0", "1.0 0.0", "1.0 2.7e-62 5", DIFFERENT),
    ],
)
def test_only_a_tiny_number_is_zero(wrong: str, right: str, stdout: str, verdict: Verdict) -> None:
    told = claim(prints(wrong), prints(right, role=Role.EXPECTED))
    attempts = [result(f"{stdout}\n", attempt=f"a{at}") for at in range(3)]
    assert judge_job(told, script("import a\na.show()\n"), CPU, attempts).verdict is verdict
