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


def failing_line(code: str) -> int | None:
    """The line of the assertion that is claimed to fail, in a report that says what is printed, too."""
    (bug, *_) = report(code, "It prints `8.5`.").claim.having(Role.BUG)
    return bug.at if bug.exception_type == "AssertionError" else None


@pytest.mark.parametrize(
    "code",
    [
        "print(a)\n# Fail, it is too small.\nassert a == b",
        "print(a)\nassert a > 0  # fine\nassert a == b  # fails: 8.5",
        "print(a)\n# this one does not hold\nassert a == b",
        "print(a)\n# 8.5\n# FAILS!\nassert a == b",
        "print(a)\nnp.testing.assert_equal(a, b)  # raises AssertionError",
        "print(a)\nassert a == b  # and this fails too!",
    ],
)
def test_an_assertion_that_a_comment_calls_failing_is_the_claim(code: str) -> None:
    assert failing_line(code) == (HEAD + code).count("\n") + 1


@pytest.mark.parametrize(
    "code",
    [
        "print(a)\n# Fail if it is too small\nassert a == b",
        "print(a)\nassert a == b  # must not fail",
        "print(a)\n# failed before 1.20\nassert a == b",
        "print(a)\n# fails, but only on Windows\nassert a == b",
        "print(a)\n# never fails\nassert a == b",
        "print(a)\ntry:\n    assert a == b  # fails\nexcept AssertionError:\n    pass",
        "print(a)\nassert a == 8.5  # wrong, should be 9.0",
    ],
)
def test_other_words_beside_an_assertion_are_no_claim_about_it(code: str) -> None:
    assert failing_line(code) is None


def test_a_comment_that_judges_the_printed_one_above_is_no_output() -> None:
    assert words_of(report("print('a', a)\n# ... 8.5\n# Fails, too small")) == ["a 8.5"]
    assert words_of(report("print(a, b)\n# [8.5]\n# [9.0]\n# Wrong, they differ")) == ["[8.5]", "[9.0]"]
    assert words_of(report("print(a)\nprint('wrong, 1')\n# 8.5\n# wrong, 1")) == ["8.5", "wrong, 1"]
