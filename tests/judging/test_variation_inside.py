"""A loop whose values differ inside one attempt is no "no" to a claim that values differ each time."""

from __future__ import annotations

import pytest
from judging_builders import CPU, result, script

from app.intake.claim.claims import Check, CheckKind, Claim
from app.judging.judgement import Verdict
from app.judging.verdict.job import judge_job
from app.targets.planning.plan import RepeatPlan

LOOP = "import lib\nfor _ in range(2):\n    lib.seed(0)\n    print('sum', lib.draw())\n"
PLAIN = "import lib\nlib.seed(0)\nprint('sum', lib.draw())\nprint('sum', lib.draw())\n"
INSIDE = "other numbers each time although the seed is the same"


@pytest.mark.parametrize(
    ("text", "code", "stdout", "verdict"),
    [
        (INSIDE, LOOP, "sum 0.25\nsum 0.75\n", Verdict.CANNOT_SHOW),
        (INSIDE, LOOP, "sum 0.25\nsum 0.25\n", Verdict.NOT_REPRODUCED),
        # Two statements print two things, and words about runs mean whole executions.
        (INSIDE, PLAIN, "sum 0.25\nsum 0.75\n", Verdict.NOT_REPRODUCED),
        ("other numbers each time I run it", LOOP, "sum 0.25\nsum 0.75\n", Verdict.NOT_REPRODUCED),
        (INSIDE, LOOP, "sum 0.25\nmean 0.75\n", Verdict.NOT_REPRODUCED),
    ],
)
def test_values_of_a_loop_may_be_the_ones_that_differ(
    text: str, code: str, stdout: str, verdict: Verdict
) -> None:
    attempts = [result(stdout, attempt=f"a{at}") for at in range(70)]
    claim = Claim(checks=(Check(text=text, kind=CheckKind.VARIES),))
    assert judge_job(claim, script(code), CPU, attempts, plan=RepeatPlan(at_most=70)).verdict is verdict
