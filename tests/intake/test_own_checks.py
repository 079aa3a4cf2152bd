"""A script that prints whether its own check failed says what is claimed, if the report does not."""

from __future__ import annotations

import pytest
from default_limits import read

from app.intake.claim.claims import Role
from app.intake.reading import Reading

HEAD = "import numpy as np\na = np.ones(9).sum()\nb = 9.0\n"


def report(code: str, below: str = "") -> Reading:
    return read(f"# sum() bug\n\n```python\n{HEAD}{code}\n```\n\n{below}\n")


def words_of(reading: Reading, role: Role = Role.BUG) -> list[str]:
    return [line for check in reading.claim.having(role) for line in check.lines]


@pytest.mark.parametrize(
    ("code", "bug", "right"),
    [
        ("if a != b:\n    print(f'fail, {a} {b}')\nelse:\n    print('ok')", ["fail"], ["ok"]),
        ("if not np.allclose(a, b):\n    print('MISMATCH:', a)", ["MISMATCH"], []),
        (
            "while a:\n    if a != b:\n        print('wrong')\n    else:\n        print('same')",
            ["wrong"],
            ["same"],
        ),
        ("if a == b:\n    print('ok')\nelse:\n    print('not equal')", ["not equal"], ["ok"]),
        ("if a != b:\n    print('wrong')\nelse:\n    print('failed')", [], []),
        ("if a:\n    print('failed')", [], []),
        ("if a != b:\n    print('a is', a)", [], []),
        ("if a != b:\n    print('fail 1')\nif a < b:\n    print('fail 2')", [], []),
        ("print('fail')", [], []),
    ],
)
def test_only_words_of_a_failed_comparison_are_the_bug(code: str, bug: list[str], right: list[str]) -> None:
    reading = report(code)
    assert (words_of(reading), words_of(reading, Role.EXPECTED)) == (bug, right)


def test_what_the_report_says_goes_first() -> None:
    code = "if a != b:\n    print('fail')\nprint(a)"
    assert words_of(report(code, "It prints `8.5`, which is wrong.")) == ["8.5"]
