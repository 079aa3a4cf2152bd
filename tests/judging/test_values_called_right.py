"""A bug is gone where the changed value is called right in the report, or equals its twin."""

from __future__ import annotations

import pytest

from app.intake.claim.claims import Check, CheckKind, Role
from app.intake.read import read
from app.intake.remarks.called_right import values_called_right
from app.judging.gone.changed_values import is_like_its_twin, shows_value_called_right
from app.judging.judgement import Verdict
from app.judging.verdict.job import judge_job
from app.limits import NO_READ_LIMITS
from tests.judging.judging_builders import CPU, result


def printed(*lines: str) -> Check:
    return Check(text="\n".join(lines), kind=CheckKind.OUTPUT, role=Role.BUG, lines=lines)


@pytest.mark.parametrize(
    ("sentence", "values"),
    [
        ("It should print `0.9567`.", {"0.9567"}),
        ("It prints 17.5 instead of 18.25.", {"18.25"}),
        ("It should be 18.25 instead of 17.5.", {"18.25"}),
        ("MATLAB gives 0.9566779 for this table.", {"0.9566779"}),
        ("The exact value is 3.125, but I get 3.5.", {"3.125"}),
        ("Wanted: [0, 2, 4]", {"[0, 2, 4]"}),
        ("I get 17.5, which is wrong.", set()),
        ("The result 17.5 should not be there.", set()),
        ("In 2.1 it prints 18.25.", set()),
        ("numpy gives 17.5 here.", set()),
        ("0.999737 comes from Mathematica, whereas numpy gives -1.87e8.", {"0.999737"}),
        ("According to Maple 3.25 is the limit.", {"3.25"}),
        ("np 17.5 comes from numpy.", set()),
        ("In this list `2021-03-01` is missing.", {"2021-03-01"}),
        ("Dans cette liste il manque `2021-03-01`.", {"2021-03-01"}),
        ("In der Liste fehlt `2021-03-01`.", {"2021-03-01"}),
    ],
)
def test_clauses_call_values_right(sentence: str, values: set[str]) -> None:
    assert set(values_called_right([sentence], [], [], "import numpy as np\nprint(1)")) == values


def test_a_comment_of_the_script_calls_a_value_right() -> None:
    script = "print(f(2))  # should be 4.25\nprint(f(3))  # 9.5, wrong\n"
    assert values_called_right([], [], [], script) == ("4.25",)


@pytest.mark.parametrize(
    ("claimed", "right", "stdout", "gone"),
    [
        (["total 17.5"], ["18.25"], "total 18.25\n", True),
        (["[0, 1, 4]"], ["[0, 2, 4]"], "[0, 2, 4]\n", True),
        # The other lines have to be as claimed.
        (["first 1.5", "total 17.5"], ["18.25"], "first 1.5\ntotal 18.25\n", True),
        (["first 1.5", "total 17.5"], ["18.25"], "first 2.5\ntotal 18.25\n", False),
        # Another value came, or the right one is at another place.
        (["total 17.5"], ["18.25"], "total 19.75\n", False),
        (["total 17.5"], ["18.25"], "total 17.5\nreference 18.25\n", False),
        # A short number stands in a sentence for many reasons.
        (["total 17.5"], ["1"], "total 1\n", False),
        # The missing line is there, and the last one has no place any more.
        (["day 1", "day 2", "day 4", "day 5"], ["day 3"], "day 1\nday 2\nday 3\nday 4\n", True),
        (["day 1", "day 2", "day 4", "day 5"], ["day 3"], "day 1\nday 2\nday 4\nday 6\n", False),
        (["day 1", "day 2", "day 4", "day 5"], ["day 3"], "day 2\nday 3\nday 4\nday 5\n", False),
        (["day 1", "day 2", "day 4", "day 5"], ["day 3"], "day 1\nday 2\nday 4\nday 5\nday 3\n", False),
        # What is called right and wrong says nothing.
        (["total 17.5"], ["17.5"], "total 17.5\n", False),
    ],
)
def test_what_changed_is_called_right(
    claimed: list[str], right: list[str], stdout: str, *, gone: bool
) -> None:
    assert shows_value_called_right(printed(*claimed), right, stdout) is gone


@pytest.mark.parametrize(
    ("claimed", "right", "stdout", "gone"),
    [
        (["eager 4.5 5.5", "eager -563.25 5.5"], [], "eager 4.5 5.5\neager 4.5 5.5\n", True),
        (["tensor(nan)", "tensor(0.6931)"], [], "tensor(0.6931)\ntensor(0.6931)\n", True),
        (["torch.Size([2, 8])", "failed"], [], "torch.Size([2, 8])\ntorch.Size([2, 8])\n", True),
        # Both are wrong now: the report calls the other one right.
        (["x 4.5", "x 5.5"], ["x 5.5"], "x 4.5\nx 4.5\n", False),
        # They still differ, both changed, or nothing did.
        (["x 4.5", "x 5.5"], [], "x 4.5\nx 6.5\n", False),
        (["x 4.5", "x 5.5"], [], "x 6.5\nx 6.5\n", False),
        (["x 4.5", "x 5.5"], [], "x 4.5\nx 5.5\n", False),
        (["x 4.5", "x 5.5"], [], "x nan\nx nan\n", False),
        # Lines of other words are no twins.
        (["mean 4.5", "sum 9.5"], [], "mean 4.5\nsum 4.5\n", False),
    ],
)
def test_twins_are_equal_now(claimed: list[str], right: list[str], stdout: str, *, gone: bool) -> None:
    assert is_like_its_twin(printed(*claimed), right, stdout) is gone


GUARDED = """# b

```python
import torch
assert torch.__version__ == "1.0"
print(torch.tensor(1.5) * 2)
```

prints `4.`
"""
TRACEBACK = (
    'Traceback (most recent call last):\n  File "/home/u/script.py", line 2, in <module>\n'
    '    assert torch.__version__ == "1.0"\nAssertionError\n'
)


def judged(
    text: str, *, stdout: str = "", stderr: str = "", raised: tuple[str, str] | None = None
) -> Verdict | None:
    reading = read(text, form="report", limits=NO_READ_LIMITS)
    attempts = [result(stdout, raised=raised, stderr=stderr, attempt=f"a{number}") for number in range(3)]
    return judge_job(reading.claim, reading.scripts[0], CPU, attempts).verdict


def test_a_script_that_asks_for_its_version_shows_nothing_elsewhere() -> None:
    failure = ("AssertionError", "")
    assert judged(GUARDED, raised=failure, stderr=TRACEBACK) is Verdict.CANNOT_SHOW
    other = TRACEBACK.replace("torch.__version__", "torch.ones(1)")
    assert judged(GUARDED, raised=failure, stderr=other) is Verdict.DIFFERENT


REPORT = """# the total is wrong

```python
import numpy as np
print("total", np.float64(17.5))
```

It prints

```
total 17.5
```

MATLAB gives 18.25.
"""


@pytest.mark.parametrize(
    ("stdout", "verdict"),
    [
        ("total 17.5\n", Verdict.REPRODUCED),
        ("total 18.25\n", Verdict.NOT_REPRODUCED),
        ("total 19.5\n", Verdict.DIFFERENT),
    ],
)
def test_a_value_that_another_tool_gives_shows_that_the_bug_is_gone(stdout: str, verdict: Verdict) -> None:
    assert judged(REPORT, stdout=stdout) is verdict
