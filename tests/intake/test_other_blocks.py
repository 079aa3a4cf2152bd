"""Failures inside of a `with` block that the script does not have: they belong to no claim about it."""

from __future__ import annotations

import pytest
from default_limits import read

from app.intake.claim.claims import CheckKind, Role
from app.intake.exhibit import Stance
from app.intake.exhibits.conditions import condition_of

SCRIPT = "import numpy as np\nprint(np.log(np.float64(0)))  # -inf\n"
FAILS = "FloatingPointError: divide by zero encountered in log"


@pytest.mark.parametrize(
    "words",
    [
        "Within `with np.errstate(all='raise'):` I am told",
        'In a `with np.errstate(divide="raise")` block the same line dies:',
        "Wrapped in `np.errstate(divide='raise')`, the call raises",
        "The same log under `numpy.errstate(divide='raise')` raises:",
        "Inside an errstate(divide='raise') block one gets",
        "Innerhalb von `with np.errstate(all='raise'):` kommt",
        "Dans un bloc `with np.errstate(all='raise')` on a",  # codespell:ignore
        "With `localcontext()` around it there is",
    ],
)
def test_another_block_is_a_condition(words: str) -> None:
    reading = read(f"# log\n\n```python\n{SCRIPT}```\n\n{words}\n\n```\n{FAILS}\n```\n", form="report")
    assert [check.lines for check in reading.claim.having(Role.BUG)] == [("-inf",)]
    readings = (reading.claim, *reading.claim.further)
    errors = [check for each in readings for check in each.checks if check.kind is CheckKind.EXCEPTION]
    assert all(check.where.mode for check in errors)
    assert reading.exhibits[-1].stance is Stance.ELSEWHERE


@pytest.mark.parametrize(
    ("words", "script"),
    [
        ("Inside `with np.errstate(over='raise'):` I get", "with numpy.errstate(over='raise'):\n    f()"),
        ("Under `torch.no_grad()` the call raises", "@torch.no_grad()\ndef f(): pass\nf()"),
        ("In `torch.autocast('cpu')` this ends in", "with torch.amp.autocast('cpu', dtype=t):\n    f()"),
        # A function that fails inside is no block.
        ("Inside `_check_finite` it fails with", "f()"),
        ("In `np.linalg.solve(a, b)` there is", "np.linalg.inv(a)"),
        ("In the `forward` method I see", "f()"),
        ("Within seconds it ends in", "f()"),
        ("With the latest version I get", "f()"),
    ],
)
def test_no_other_block(words: str, script: str) -> None:
    assert condition_of(words, script) == ""
