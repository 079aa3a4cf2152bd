"""Kinds that cost verdicts on reports of many writers: terse ones, long ones, and those of weak English."""

from __future__ import annotations

import pytest
from default_limits import read

from app.intake.claim.claims import Check, Role
from app.intake.reading import Reading


def report(code: str, below: str, *, title: str = "It is wrong") -> Reading:
    return read(f"# {title}\n\n```python\n{code}\n```\n\n{below}\n", form="report")


def bug_of(reading: Reading) -> Check:
    (bug,) = reading.claim.having(Role.BUG)
    return bug


def lines_of(reading: Reading, role: Role = Role.BUG) -> list[str]:
    return [line for check in reading.claim.having(role) for line in check.lines or (check.number or "",)]


HALVES = "import numpy as np\nprint(np.float16(300) * np.float16(300))"
WARNED = (
    "```\nhalf.py:2: RuntimeWarning: overflow encountered in scalar multiply\n"
    "  print(np.float16(300) * np.float16(300))\n65500.0\n```"
)


@pytest.mark.parametrize(
    "words",
    [
        "I do not mind the warning. The number should be inf.",
        "The RuntimeWarning is justified; 65500.0 isn't, it should be inf.",
        "(Never mind the warning.) I expect inf.",
        "That it warns is right of course. But the value has to be inf.",
        "The warning itself is not the problem, the value is: inf is correct.",
        "I can live with the warning, but inf is what I expect.",
        "Warning aside, it should print inf.",
    ],
)
@pytest.mark.parametrize("title", ["float16 saturates, with a warning", "float16 is wrong"])
def test_a_warning_that_is_called_fine_is_no_claim(words: str, title: str) -> None:
    claim = report(HALVES, f"{WARNED}\n\n{words}", title=title).claim
    bugs = [bug for each in (claim, *claim.further) for bug in each.having(Role.BUG)]
    assert [bug.lines for bug in bugs] == [("65500.0",)]
    assert not any(check.exception_type for check in claim.checks)


@pytest.mark.parametrize(
    "words",
    [
        "The warning is not fine.",
        "I do not mind the warning, but it comes twice for each call.",
        "The value is right, why is there a warning?",
        "Is the warning OK?",
        "The warning can be ignored, it is only annoying.",
        "I don't think that the warning is right here.",
        "The UserWarning is fine, this one should not come.",
        "Ignoring the warning does not help, it is not wanted.",
    ],
)
def test_a_warning_that_is_not_called_fine_stays(words: str) -> None:
    reading = report(HALVES, f"{WARNED}\n\n{words}", title="float16 gives a RuntimeWarning")
    assert bug_of(reading).exception_type == "RuntimeWarning"


def test_only_the_named_warning_is_fine() -> None:
    shown = "```\nt.py:1: FutureWarning: it will go\nt.py:2: UserWarning: it is lossy\n```"
    reading = report(HALVES, f"{shown}\n\nThe FutureWarning is OK.", title="It gives a warning")
    assert bug_of(reading).exception_type == "UserWarning"
