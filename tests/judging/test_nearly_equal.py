"""Two random numbers that should be equal: that they differ in the last digits is the evidence."""

from __future__ import annotations

import pytest
from judging_builders import CPU, claim, prints, result, script

from app.judging.gone.nearly_equal import judge_nearly_equal
from app.judging.judgement import CheckResult, Verdict
from app.judging.verdict.job import judge_job

LINE = "0.31807059049606323 0.3180706202983856"
SCRIPT = "import numpy as np\nx = np.random.rand()\nprint(x, x * 3 / 3)\n"
MET, OTHER = CheckResult.MET, CheckResult.OTHER


@pytest.mark.parametrize(
    ("claimed", "stdout", "found"),
    [
        ((LINE,), "-0.17808912694454193 -0.1780891865491867\n", MET),
        ((LINE,), "-0.17808912694454193 -0.17808912694454193\n", OTHER),
        ((LINE,), "shape 2\n0.12345678 0.12345679\n", MET),
        (("a 0.12345678", "b 0.12345679"), "a 0.7654321\nb 0.7654322\n", MET),
        # They are two quantities now, or were so in the report.
        ((LINE,), "0.17808912694454193 0.98808912694454193\n", None),
        (("0.318070 0.418070",), "0.5 0.6\n", None),
        (("0.31 0.31",), "0.5 0.5\n", None),
        (("0.3180706 0.3180705 0.3180706",), "0.5 0.5 0.5\n", None),
        ((LINE,), "", None),
    ],
)
def test_only_their_distance_counts(claimed: tuple[str, ...], stdout: str, found: CheckResult | None) -> None:
    assert judge_nearly_equal(claimed, stdout) is found


def test_attempts_that_differ_are_flaky_or_reproduced() -> None:
    differ, equal = "0.4412345678 0.4412345679\n", "0.77123456 0.77123456\n"

    def verdict(*outputs: str) -> Verdict:
        attempts = [result(text, attempt=f"a{at}") for at, text in enumerate(outputs)]
        return judge_job(claim(prints(LINE)), script(SCRIPT, unseeded=True), CPU, attempts).verdict

    assert verdict(differ, differ, differ) is Verdict.REPRODUCED
    assert verdict(differ, equal, differ) is Verdict.FLAKY
    assert verdict(equal, equal, equal) is Verdict.DIFFERENT
