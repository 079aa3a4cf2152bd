"""Rows of numbers in sentences, whatever words stand behind them."""

from __future__ import annotations

import pytest
from default_limits import read

from app.intake.claim.claims import Role
from app.intake.reading import Reading

PRINT = "import numpy as np\nprint(*np.divmod(np.arange(2), 3))"


def report(words: str) -> Reading:
    return read(f"# It is not right\n\n```python\n{PRINT}\n```\n\n{words}\n", form="report")


def lines_of(reading: Reading, role: Role) -> list[str]:
    checks = reading.claim.having(role)
    return [line for check in checks for line in (*check.lines, check.number or "") if line]


@pytest.mark.parametrize(
    "words",
    [
        "I get 4 -1 2 from it.",
        "I get 4 -1 2 out of this line.",
        "This prints 4 -1 2 in the console.",
        "I got 4 -1 2 as the result.",
        "We see 4 -1 2 at the end.",
        "It gives 4 -1 2 with this input.",
        "The script prints 4 -1 2 to the terminal",
        "It says 4 -1 2 under Linux.",
    ],
)
def test_a_row_with_words_behind_it(words: str) -> None:
    assert lines_of(report(words), Role.BUG) == ["4 -1 2"]


@pytest.mark.parametrize(
    "words",
    [
        "Prints 4 2 -1 here; -1 2 4 would be sorted.",
        "It prints 4 2 -1, -1 2 4 would be right.",
        "It prints 4 2 -1 where -1 2 4 was expected.",
        "I get 4 2 -1 from this. -1 2 4 would be ascending.",
        "I get 4 2 -1 from that, and -1 2 4 is what a sort has to give.",
        "It prints 4 2 -1. Sorted it would be -1 2 4.",
        "It prints 4 2 -1, I'd want -1 2 4 in its place.",
    ],
)
def test_the_right_row(words: str) -> None:
    reading = report(words)
    assert lines_of(reading, Role.BUG) == ["4 2 -1"]
    assert lines_of(reading, Role.EXPECTED) == ["-1 2 4"]


@pytest.mark.parametrize(
    "words",
    [
        "I get 3 rows from this.",
        "I get 2 3rd party warnings.",
        "I see 4 of 5 tests fail here.",
        "I get 1 or 2 lines.",
    ],
)
def test_no_row(words: str) -> None:
    assert lines_of(report(words), Role.BUG) == []


@pytest.mark.parametrize(
    "words",
    [
        "It prints 4 2 -1; -1 2 4 would be wrong, too.",
        "It prints 4 2 -1; -1 2 4 would be printed by the old version if it was broken as well.",
    ],
)
def test_a_row_that_nobody_calls_right(words: str) -> None:
    reading = report(words)
    assert "-1 2 4" not in {*lines_of(reading, Role.EXPECTED), *reading.claim.right_values}
