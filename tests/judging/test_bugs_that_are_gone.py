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
LEAK = """# the cache eats memory

```python
from cache import load, used
for step in range(0, 20, 5):
    load(step)
    print("step", step, "uses", used(), "MiB")
```

prints

```
step 0 uses 100 MiB
step 5 uses 180 MiB
step 10 uses 260 MiB
step 15 uses 340 MiB
```
"""
ALIVE = """# a node is never freed

```python
import weakref
node = make()
ref = weakref.ref(node)
print(ref)
del node
print(ref)
```

This prints

```
<weakref at 0x7fab12345678; to 'Node' at 0x7fab87654321>
<weakref at 0x7fab12345678; to 'Node' at 0x7fab87654321>
```
"""
TABLE = """# two ways to sum differ

```python
import pandas as pd
print(pd.DataFrame({"loop": a, "vector": b, "same": a == b}))
```

I get

```
   loop  vector   same
x   1.0     1.0   True
y   2.5     3.5  False
z   4.0     9.0  False
```
"""
NAN_AT_RANDOM = """# nan rows of the fast path

```python
import torch
layer = torch.nn.Linear(2, 2)
print(fast(layer))
print(slow(layer))
```

```
tensor([[0.1234, 0.5678], [nan, nan]])
tensor([[0.1234, 0.5678], [0.1234, 0.5678]])
```
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


def sizes(*values: int) -> str:
    return "".join(f"step {5 * at} uses {value} MiB\n" for at, value in enumerate(values))


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ((90, 140, 140, 141), Verdict.NOT_REPRODUCED),
        ((90, 140, 190, 240), Verdict.DIFFERENT),
        ((100, 180, 180, 260), Verdict.DIFFERENT),
        ((90, 140, 240, 140), Verdict.DIFFERENT),
    ],
)
def test_memory_that_grew_and_is_flat_now(values: tuple[int, ...], expected: Verdict) -> None:
    assert verdict(LEAK, sizes(*values)) is expected


def test_a_reference_that_lived_and_is_dead_now() -> None:
    alive = "<weakref at 0x7f0000000001; to 'Node' at 0x7f0000000002>\n"
    dead = "<weakref at 0x7f0000000001; dead>\n"
    assert verdict(ALIVE, alive + dead) is Verdict.NOT_REPRODUCED
    assert verdict(ALIVE, alive + alive) is Verdict.REPRODUCED
    assert verdict(ALIVE, dead + dead) is Verdict.DIFFERENT


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ("x 1.0 1.0 True\ny 2.5 2.5 True\nz 4.0 4.0 True\n", Verdict.NOT_REPRODUCED),
        ("x 1.0 1.0 True\ny 2.5 2.5 True\nz 4.0 8.0 False\n", Verdict.DIFFERENT),
        ("x 1.0 1.0 True\ny 7.5 7.5 True\nz 4.0 4.0 True\n", Verdict.DIFFERENT),
        ("x 1.0 1.0 True\ny 2.5 2.5 True\n", Verdict.DIFFERENT),
    ],
)
def test_a_table_whose_sides_agree_now(rows: str, expected: Verdict) -> None:
    assert verdict(TABLE, f"   loop  vector   same\n{rows}") is expected


def test_nan_that_became_what_the_other_side_draws() -> None:
    right, other = "[0.9876, 0.4321]", "[0.1111, 0.2222]"
    assert verdict(NAN_AT_RANDOM, f"tensor([{right}, {right}])\n" * 2) is Verdict.NOT_REPRODUCED
    wrong = f"tensor([{right}, {other}])\ntensor([{right}, {right}])\n"
    assert verdict(NAN_AT_RANDOM, wrong) is Verdict.DIFFERENT
    still = f"tensor([{right}, [nan, nan]])\ntensor([{right}, {right}])\n"
    assert verdict(NAN_AT_RANDOM, still) is Verdict.REPRODUCED


def test_nan_that_became_the_row_that_is_called_right() -> None:
    text = """# empty rows give nan

```python
import numpy as np
print(np.vstack([np.random.rand(2), np.zeros(2)]))
```

Output:

```
[[0.1234 0.4321]
 [   nan    nan]]
```

The second row should be `[0.0, 0.5]`.
"""
    assert verdict(text, "[[0.9876 0.2222]\n [0.     0.5   ]]\n") is Verdict.NOT_REPRODUCED
    assert verdict(text, "[[0.9876 0.2222]\n [0.     0.7   ]]\n") is not Verdict.NOT_REPRODUCED
    assert verdict(text, "[[   nan 0.2222]\n [0.     0.5   ]]\n") is not Verdict.NOT_REPRODUCED


def test_a_list_that_is_built_as_it_is_called_right() -> None:
    text = (
        "# one split too many\n\n```python\nprint('a b,c'.split(','))\n```\n\n"
        "It prints `['a', 'b', 'c']`, it should print `['a b', 'c']`.\n"
    )
    assert verdict(text, "['a', 'b', 'c']\n") is Verdict.REPRODUCED
    assert verdict(text, "['a b', 'c']\n") is Verdict.NOT_REPRODUCED
    assert verdict(text, "['a', 'b c']\n") is Verdict.DIFFERENT


@pytest.mark.parametrize("shown", ["False", "np.False_"])
def test_a_constant_of_numpy_is_the_constant(shown: str) -> None:
    text = f"# not equal\n\n```pycon\n>>> import numpy as np\n>>> np.ones(1)[0] < 2\n{shown}\n```\n"
    assert verdict(text, "False\n") is Verdict.REPRODUCED
    assert verdict(text, "np.False_\n") is Verdict.REPRODUCED
    assert verdict(text, "np.True_\n") is Verdict.NOT_REPRODUCED


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


TYPED = """# round has no effect

```python
>>> a = 13.949999999999999
>>> a
13.949999999999999
>>> round(a, 2)
13.949999999999999
```

It should be `13.95`.
"""


@pytest.mark.parametrize(
    ("output", "expected"),
    [
        ("13.95\n13.95\n", Verdict.NOT_REPRODUCED),
        ("13.949999999999999\n13.95\n", Verdict.NOT_REPRODUCED),
        ("13.95\n13.96\n", Verdict.DIFFERENT),
        ("13.949999999999999\n13.949999999999999\n", Verdict.REPRODUCED),
    ],
)
def test_all_lines_that_changed_show_the_right_value(output: str, expected: Verdict) -> None:
    assert verdict(TYPED, output) is expected


def test_a_date_with_a_time_of_day_is_no_duration() -> None:
    text = (
        "# one day too many\n\n```python\nimport datetime\nprint(datetime.datetime(2024, 3, 1))\n```\n\n"
        "Output:\n\n```\n2024-03-02 00:00:00\n```\n\nExpected output:\n\n```\n2024-03-01 00:00:00\n```\n"
    )
    assert verdict(text, "2024-03-01 00:00:00\n") is Verdict.NOT_REPRODUCED
    assert verdict(text, "2024-03-02 00:00:00\n") is Verdict.REPRODUCED


OUTLIER = """# The inverse of a small matrix is not symmetric

```python
import numpy as np
a = np.array([[2.0, 1.0], [1.0, 3.0]])
b = np.linalg.inv(a)
(b == b.T).all()         # False
(a == a.T).all()         # True, of course
```

numpy 1.24
"""
FAR_AWAY = """# tempfile leaves a handle open {where}

All is well on our Linux boxes.

```python
import tempfile
print(tempfile.TemporaryFile().read())
```

```
Traceback (most recent call last):
  File "old.py", line 2, in <module>
    print(tempfile.TemporaryFile().read())
PermissionError: [Errno 13] Permission denied
```
"""


def test_truth_values_of_numpy_are_those_of_python() -> None:
    assert verdict(OUTLIER, "np.False_\nnp.True_\n") is Verdict.REPRODUCED
    assert verdict(OUTLIER, "np.True_\nnp.True_\n") is Verdict.NOT_REPRODUCED


@pytest.mark.parametrize("where", ["(Windows)", "(Windows 11)", "(Windows only)", "(macOS)"])
def test_the_system_at_the_end_of_a_title_is_the_place(where: str) -> None:
    assert verdict(FAR_AWAY.format(where=where), "b''\n") is Verdict.CANNOT_SHOW


@pytest.mark.parametrize("where", ["(Linux)", "(windows of data)", "again"])
def test_other_words_at_the_end_of_a_title_are_no_other_place(where: str) -> None:
    assert verdict(FAR_AWAY.format(where=where), "b''\n") is Verdict.NOT_REPRODUCED
