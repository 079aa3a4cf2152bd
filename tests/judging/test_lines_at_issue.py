"""Only the lines in which a claimed output and the expected one differ decide."""

from __future__ import annotations

import pytest
from judging_builders import CPU, prints, several

from app.intake.claim.claims import Role
from app.intake.read import read
from app.judging.gone.lines_at_issue import judge_lines_at_issue
from app.judging.gone.oracles import gone
from app.judging.judgement import CheckResult, Verdict
from app.judging.verdict.job import judge_job
from app.limits import NO_READ_LIMITS

MET, ABSENT = CheckResult.MET, CheckResult.ABSENT
SLOPE = """# La pente vaut 4e9 au lieu de nan

```python
import numpy as np
x = np.zeros(2)
print(f"entrée: {x}")
print(f"valeur: {x / 1}")
print(f"pente: {np.gradient(x)}")
```

### Sortie obtenue

```
entrée: [0. 0.]
valeur: [nan nan]
pente: [4.0e+09 4.0e+09]
```

### Expected output

According to the documentation, the slope at this point is `nan`:

```
entrée: [0. 0.]
valeur: [nan nan]
pente: [nan nan]
```
"""
SOLVER = """# The minimum that comes out is no minimum

```python
from scipy.optimize import minimize
print(minimize(lambda p: p[0] ** 2, [3.0, 4.0]))
```

prints

```
 message: done
     fun: 4.5
  status: 0
       x: array([ 12.,  -7.5])
```

The correct solution should be

```
       x: array([-1.25, 3.75])
```
"""


def verdict(text: str, stdout: str) -> Verdict:
    reading = read(text, form="report", limits=NO_READ_LIMITS)
    return judge_job(reading.claim, reading.scripts[0], CPU, several(3, stdout)).verdict


@pytest.mark.parametrize(
    ("stdout", "expected"),
    [
        # Another line is not as shown, and both sides of the report agree on it.
        ("entrée: [0. 0.]\nvaleur: [0. 0.]\npente: [4.e+09 4.e+09]\n", Verdict.REPRODUCED),
        ("entrée: [0. 0.]\nvaleur: [nan nan]\npente: [nan nan]\n", Verdict.NOT_REPRODUCED),
        ("entrée: [0. 0.]\nvaleur: [0. 0.]\npente: [nan nan]\n", Verdict.NOT_REPRODUCED),
        # That nan is gone where it is right is no sign of a mended bug.
        ("entrée: [0. 0.]\nvaleur: [0. 0.]\npente: [0. 0.]\n", Verdict.DIFFERENT),
        ("entrée: [0. 0.]\nvaleur: [0. 0.]\npente: [4.0e+09 nan]\n", Verdict.DIFFERENT),
    ],
)
def test_a_line_that_both_sides_share_is_not_at_issue(stdout: str, expected: Verdict) -> None:
    assert verdict(SLOPE, stdout) is expected


@pytest.mark.parametrize(
    ("stdout", "expected"),
    [
        (
            "  message: Success\n      fun: 9.0\n        x: [ 1.200e+01 -7.500e+00]\n      nit: 0\n",
            "reproduced",
        ),
        ("  message: Success\n      fun: 9.0\n        x: [-1.250e+00  3.750e+00]\n", "not_reproduced"),
        ("  message: Success\n      fun: 9.0\n        x: [ 1.200e+01 -8.500e+00]\n", "different"),
        # It stands there twice: nobody knows which one is meant.
        ("  x: [ 1.200e+01 -7.500e+00]\n  message: Success\n  x: [ 5.0 5.0 ]\n", "different"),
    ],
)
def test_a_solver_with_other_words_has_the_claimed_solution(stdout: str, expected: str) -> None:
    assert verdict(SOLVER, stdout) == expected


BUG = ("n: 3", "mean: 4.5", "wrong: True")
RIGHT = ("n: 3", "mean: 2.25", "wrong: False")


@pytest.mark.parametrize(
    ("printed", "found"),
    [
        ("n: 4\nmean: 4.5\nwrong: True", MET),
        ("n: 4\nmean: 4.50\nwrong: True\nbuild: 77", MET),
        ("n: 4\nmean: 2.25\nwrong: False", ABSENT),
        # One of two is as claimed, one is missing, or nan came into a line that was finite.
        ("n: 3\nmean: 4.5\nwrong: False", None),
        ("n: 3\nmean: 4.5", None),
        ("n: nan\nmean: 2.25\nwrong: False", None),
        # The script prints its own reference under the same label.
        ("n: 3\nmean: 4.5\nwrong: True\nmean: 2.25", None),
        ("n: 3\nmean: 7.5\nwrong: True", None),
        ("", None),
    ],
)
def test_all_lines_at_issue_have_to_agree(printed: str, found: CheckResult | None) -> None:
    expected = prints(*RIGHT, role=Role.EXPECTED)
    (result,) = several(1, printed)
    assert judge_lines_at_issue(prints(*BUG), [expected], result) is found


def test_values_of_several_lines_belong_to_their_label() -> None:
    bug = prints("ok: 1", "matrix: [[1. 2.]", "[3. 4.]]")
    right = prints("ok: 1", "matrix: [[1. 2.]", "[3. 5.]]", role=Role.EXPECTED)
    (as_claimed,) = several(1, "ok: 2\nmatrix: [[1. 2.]\n [3. 4.]]\n")
    (mended,) = several(1, "ok: 2\nmatrix: [[1. 2.]\n [3. 5.]]\n")
    assert judge_lines_at_issue(bug, [right], as_claimed) is MET
    assert judge_lines_at_issue(bug, [right], mended) is ABSENT


def test_what_can_not_be_told_apart_decides_nothing() -> None:
    bug, right = prints("n: 3", "mean: 1.0004"), prints("mean: 1.0003", role=Role.EXPECTED)
    (rounded,) = several(1, "n: 4\nmean: 1.000\n")
    assert judge_lines_at_issue(bug, [right], rounded) is None
    assert judge_lines_at_issue(bug, [], rounded) is None


def test_lines_without_labels_are_not_put_side_by_side() -> None:
    bug, right = prints("4.5 7", "2.5 9"), prints("1.5 7", "2.5 9", role=Role.EXPECTED)
    (other,) = several(1, "4.5 7\n8.5 9\n")
    assert judge_lines_at_issue(bug, [right], other) is None


def test_nan_that_is_called_right_is_no_bug_that_is_gone() -> None:
    bug = prints("in: 0.", "out: nan", "slope: 7.5")
    assert gone(bug, "in: 0.\nout: 0.\nslope: 7.5\n") == "reference_value"
    assert gone(bug, "in: 0.\nout: 0.\nslope: 7.5\n", ["nan"]) is None
