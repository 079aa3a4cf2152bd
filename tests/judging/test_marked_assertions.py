"""A script whose comment says that one of its assertions fails: the verdict goes by that assertion."""

from __future__ import annotations

from judging_builders import CPU, several

from app.intake.read import read
from app.judging.verdict.job import judge_job
from app.limits import NO_READ_LIMITS

REPORT = """# unique keeps too many

```python
import numpy as np
u = np.unique(np.array([1.0, np.nan, np.nan]))
assert u[0] == 1
print('u', u)
# ... [1. nan nan]
# Fails, two of them
assert len(u) == 2
```
"""
ENDS = (
    'Traceback (most recent call last):\n  File "/home/u/script.py", line {}, in <module>\nAssertionError\n'
)


def verdict_of(stdout: str, line: int | None) -> str:
    reading = read(REPORT, limits=NO_READ_LIMITS, form="report")
    failed = {} if line is None else {"raised": ("AssertionError", ""), "stderr": ENDS.format(line)}
    return str(judge_job(reading.claim, reading.scripts[0], CPU, several(3, stdout, **failed)).verdict)


def test_the_marked_assertion_fails() -> None:
    assert verdict_of("u [1. nan nan]\n", 7) == "reproduced"


def test_it_holds_now() -> None:
    assert verdict_of("u [1. nan]\n", None) == "not_reproduced"


def test_another_assertion_fails() -> None:
    assert verdict_of("", 3) == "different"
