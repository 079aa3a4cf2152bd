"""Reports whose bug is still there, in other clothes. None of them may be cleared.

Each report is read from its text and judged by outputs that a mended and an unmended library would give.
"""

from __future__ import annotations

from typing import Any

import pytest
from judging_builders import COMMENT_AND_ERROR, CPU, result, several

from app.intake.read import read
from app.judging.judgement import JudgedCell, Verdict
from app.judging.verdict.attempts_needed import next_attempts
from app.judging.verdict.frequency import LEAST_FOR_SOMETIMES
from app.judging.verdict.job import judge_job
from app.judging.verdict.passage import points_to_pass
from app.judging.verdict.run import judge_run
from app.limits import NO_READ_LIMITS
from app.targets.planning.plan import RepeatPlan
from worker.contract import AttemptKind, Outcome, PassedPoint, Result

WRAPS = """# the sum wraps around

```python
import numpy as np
print(sum(np.arange(100, dtype=np.uint8)))
print(np.arange(100).sum())
```

It prints 86, expected 4950.
"""
NAN = """# log1p gives nan

```python
import torch
print(torch.log1p(torch.tensor(1e30)))
```

Output:

```
tensor(nan)
```
"""
CRASHES = """# indexing crashes

```python
import torch
print(torch.zeros(3)[torch.tensor(5)])
```

```
IndexError: index 5 is out of bounds for dimension 0 with size 3
```

It should print `tensor(0.)`.
"""
TWINS = """# compiled code gives another result

```python
import torch

def double(v):
    return (v + v).to(torch.int16)

v = torch.tensor(128, dtype=torch.uint8)
print(double(v))
print(torch.compile(double)(v))
```

It prints (`0` is right):

```
tensor(0, dtype=torch.int16)
tensor(256, dtype=torch.int16)
```
"""
EXPECTS_THE_ERROR = """# squeeze raises IndexError

```python
import pytest
import torch

with pytest.raises(IndexError):
    torch.zeros(2, 3).squeeze(5)
print("passed")
```

IndexError is raised by `squeeze(5)`, but it should return the tensor.
"""
ASSERTS_THE_NAN = """# log of zero times zero gives nan

```python
import torch

x = torch.zeros(1)
y = x * torch.log(x)
assert torch.isnan(y)
```

`y` is nan, expected 0.
"""
SWALLOWED = """# int() fails for this text

```python
import torch

text = "12"
try:
    x = torch.tensor(int(text))
except ValueError:
    pass
```

```
Traceback (most recent call last):
  File "a.py", line 5, in <module>
    x = torch.tensor(int(text))
ValueError: invalid literal for int() with base 10: '12'
```
"""
NAN_OF_DRAWS = """# log goes wrong in one of ten runs

```python
import torch
print(torch.log(torch.randn(1) + 1.2816).isnan().any())
```

It prints `tensor(True)`, expected `tensor(False)`.
"""
UNCOMPILED = """# Output mismatch between torch.compile and eager mode

```python
import torch
torch._dynamo.config.suppress_errors = True

def double(v):
    return v + v

v = torch.tensor(128, dtype=torch.uint8)
assert torch.equal(double(v), torch.compile(double)(v))
```
"""


def verdict(report: str, stdout: str = "", **seen: Any) -> Verdict:
    reading = read(report, limits=NO_READ_LIMITS, form="report")
    results: list[Result] = several(3, stdout, **seen)
    return judge_job(reading.claim, reading.scripts[0], CPU, results).verdict


@pytest.mark.parametrize(
    ("report", "stdout", "seen"),
    [
        pytest.param(WRAPS, "87\n4950\n", {}, id="a wrong 87 with its own reference below"),
        pytest.param(NAN, "tensor(1.0000e+30)\n", {}, id="nan became 1e30"),
        pytest.param(CRASHES, "tensor(7.1e-38)\n", {}, id="an exception became garbage"),
        pytest.param(TWINS, "tensor(256, dtype=torch.int16)\n" * 2, {}, id="twins that are both wrong"),
        pytest.param(TWINS, "tensor(7, dtype=torch.int16)\n" * 2, {}, id="twins with a third value"),
        pytest.param(UNCOMPILED, "", {}, id="code that never compiled"),
        pytest.param(COMMENT_AND_ERROR, "tensor(5.)\n", {}, id="a bug that is met in one reading only"),
        pytest.param(CRASHES, "", {"signal": "SIGSEGV"}, id="an exception became a crash"),
        pytest.param(CRASHES, "", {"outcome": Outcome.TIMED_OUT}, id="an exception became a hang"),
        pytest.param(EXPECTS_THE_ERROR, "passed\n", {}, id="pytest.raises"),
        pytest.param(ASSERTS_THE_NAN, "", {}, id="an assertion of the bug itself"),
        pytest.param(NAN_OF_DRAWS, "tensor(False)\n", {}, id="nan in a tenth of the draws"),
    ],
)
def test_a_bug_in_other_clothes_is_not_cleared(report: str, stdout: str, seen: dict[str, Any]) -> None:
    assert verdict(report, stdout, **seen) is not Verdict.NOT_REPRODUCED


def test_a_swallowed_exception_is_not_cleared() -> None:
    reading = read(SWALLOWED, limits=NO_READ_LIMITS, form="report")
    script = reading.scripts[0]
    points = points_to_pass(reading.claim, script, CPU)
    assert [point.span[0] for point in points] == [5]

    def verdict_with(state: str) -> Verdict:
        seen = [PassedPoint.model_validate({"line": 5, "state": state})]
        check = result(kind=AttemptKind.PASSAGE, attempt="z", passage=seen)
        return judge_job(reading.claim, script, CPU, [*several(3), check], plan=RepeatPlan(3)).verdict

    assert verdict_with("raised") is Verdict.DIFFERENT
    assert verdict_with("not_reached") is Verdict.CANNOT_SHOW
    assert verdict_with("passed") is Verdict.NOT_REPRODUCED


def test_nan_in_a_tenth_of_the_draws_is_looked_for_in_59_of_them() -> None:
    reading = read(NAN_OF_DRAWS, limits=NO_READ_LIMITS, form="report")
    script, few = reading.scripts[0], several(20, "tensor(False)\n")
    assert next_attempts(reading.claim, script, CPU, few, RepeatPlan(5)) == LEAST_FOR_SOMETIMES - 20
    met = result("tensor(True)\n", attempt="z")
    assert judge_job(reading.claim, script, CPU, [*few, met]).verdict is Verdict.FLAKY


def test_a_bug_that_is_met_in_one_reading_on_one_target_is_not_cleared_by_the_others() -> None:
    reading = read(COMMENT_AND_ERROR, limits=NO_READ_LIMITS, form="report")
    cells = [
        JudgedCell(
            job_id=f"j{number}",
            script=reading.scripts[0].digest,
            target=target,
            judgement=judge_job(reading.claim, reading.scripts[0], target, several(3, stdout)),
        )
        for number, (target, stdout) in enumerate(
            [
                (CPU, "tensor(6.)\n"),
                (CPU.model_copy(update={"toolchain": "torch-2.12-cpu"}), "tensor(5.)\n"),
            ]
        )
    ]
    assert judge_run(reading, cells).verdict is not Verdict.NOT_REPRODUCED


@pytest.mark.parametrize(
    ("report", "stdout"),
    [
        pytest.param(WRAPS, "4950\n4950\n", id="the stated value is there"),
        pytest.param(CRASHES, "tensor(0.)\n", id="the failure is gone, and the stated value is there"),
        pytest.param(
            TWINS, "tensor(0, dtype=torch.int16)\n" * 2, id="twins equal the value said to be right"
        ),
    ],
)
def test_a_mended_bug_is_cleared(report: str, stdout: str) -> None:
    assert verdict(report, stdout) is Verdict.NOT_REPRODUCED
