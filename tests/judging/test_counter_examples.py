"""Reports whose bug is still there, in other clothes. None of them may be cleared.

Each report is read from its text and judged by outputs that a mended and an unmended library would give.
"""

from __future__ import annotations

from typing import Any

import pytest
from judging_builders import COMMENT_AND_ERROR, CPU, several

from app.intake.read import read
from app.judging.judgement import Verdict
from app.judging.verdict.job import judge_job
from app.limits import NO_READ_LIMITS
from worker.contract import Result

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
    ],
)
def test_a_bug_in_other_clothes_is_not_cleared(report: str, stdout: str, seen: dict[str, Any]) -> None:
    assert verdict(report, stdout, **seen) is not Verdict.NOT_REPRODUCED


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
