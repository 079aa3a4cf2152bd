"""Values that look like the bug of a report and are not, and signs that a bug is gone."""

from __future__ import annotations

from typing import Any

import pytest

from app.intake.code.hash_order import depends_on_hashes
from app.intake.read import read
from app.judging.judgement import Verdict
from app.judging.verdict.attempts_needed import next_attempts
from app.judging.verdict.job import judge_job
from app.limits import NO_READ_LIMITS
from app.targets.planning.plan import RepeatPlan
from tests.judging.judging_builders import CPU, result

STUCK = """# the score never changes

```python
import torch
for step in range(4):
    print("step", step, "score", torch.rand(1).item())
```

It prints

```
step 0 score 0.4711
step 1 score 0.4711
step 2 score 0.4711
step 3 score 0.4711
```
"""
TWINS = """# workers draw the same numbers

```python
import numpy as np
for worker in range(4):
    print("worker", worker, np.random.randint(100000))
```

```
worker 0 81523
worker 1 81523
worker 2 30417
worker 3 30417
```
"""
MANY_DIGITS = """# rounding has no effect

```python
print(round(2.6749999999999998, 3))
```

```
2.6749999999999998
```
"""
OTHER_WAY = """# the second row is wrong

### Versions

numpy 2.0

```python
import numpy as np
table = np.arange(4).reshape(2, 2)
print("first", table[0].tolist())
print("second", table[1].tolist())
```

This prints

```
first [0, 1]
second [0, 1]
```

With `np.take(table, 1, axis=0)` I do get `[2, 3]`.
"""


def verdict(report: str, *outputs: str, **seen: Any) -> Verdict:
    reading = read(report, limits=NO_READ_LIMITS, form="report")
    assert reading.claim.checks, reading.claim
    texts = outputs * 3 if len(outputs) == 1 else outputs
    results = [result(text, attempt=f"a{number}", **seen) for number, text in enumerate(texts)]
    return judge_job(reading.claim, reading.scripts[0], CPU, results).verdict


def scores(*values: str) -> str:
    return "".join(f"step {step} score {value}\n" for step, value in enumerate(values))


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (("0.4711",) * 4, Verdict.REPRODUCED),
        (("0.9025",) * 4, Verdict.REPRODUCED),
        (("0.9025", "0.1234", "0.5678", "0.3344"), Verdict.NOT_REPRODUCED),
        (("0.9025", "0.9025", "0.5678", "0.3344"), Verdict.DIFFERENT),
    ],
)
def test_random_numbers_that_are_claimed_to_be_equal(values: tuple[str, ...], expected: Verdict) -> None:
    assert verdict(STUCK, scores(*values)) is expected


def test_whole_random_numbers_that_are_claimed_to_be_equal() -> None:
    assert verdict(TWINS, "worker 0 5151\nworker 1 6262\nworker 2 7373\nworker 3 8484\n") is (
        Verdict.NOT_REPRODUCED
    )
    assert verdict(TWINS, "worker 0 5151\nworker 1 5151\nworker 2 7373\nworker 3 8484\n") is Verdict.DIFFERENT


def test_digits_of_a_full_print_are_the_claim() -> None:
    assert verdict(MANY_DIGITS, "2.6749999999999998\n") is Verdict.REPRODUCED
    assert verdict(MANY_DIGITS, "2.675\n") is Verdict.DIFFERENT


def test_what_another_way_does_give_is_right() -> None:
    assert verdict(OTHER_WAY, "first [0, 1]\nsecond [0, 1]\n") is Verdict.REPRODUCED
    assert verdict(OTHER_WAY, "first [0, 1]\nsecond [2, 3]\n") is Verdict.NOT_REPRODUCED


@pytest.mark.parametrize(
    ("script", "depends"),
    [
        ('print(list({"x", "y"}))', True),
        ('names = frozenset(["x", "y"])\nfor name in names:\n    print(name)', True),
        ('print(", ".join(set("hello")))', True),
        ('names = {"x", "y"}\nprint(names.pop())', True),
        ('print(sorted({"x", "y"}))', False),
        ("print(list({3, 1, 2}))", False),
        ('print(list(["x", "y"]))', False),
        ('print("x" in {"x", "y"})', False),
        ("print(list({", False),
    ],
)
def test_scripts_that_depend_on_the_order_of_a_set(script: str, *, depends: bool) -> None:
    assert depends_on_hashes(script) is depends


def test_the_order_of_a_set_needs_more_attempts() -> None:
    text = "# order\n\n```python\nprint(list({\"x\", \"y\"}))\n```\n\n```\n['y', 'x']\n```\n"
    reading = read(text, limits=NO_READ_LIMITS, form="report")
    seen = [result("['y', 'x']\n", attempt=f"a{number}") for number in range(3)]
    assert next_attempts(reading.claim, reading.scripts[0], CPU, seen, RepeatPlan(3)) == 7
