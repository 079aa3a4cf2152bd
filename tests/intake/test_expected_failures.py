"""A script goes on after statements that fail as their comments say, and nowhere else."""

from __future__ import annotations

import pytest
from default_limits import read

from app.intake.reading import Reading

GOES_ON = 'with __import__("contextlib").suppress(Exception): '


def report(*lines: str) -> Reading:
    code = "\n".join(("import numpy as np", *lines))
    return read(f"# concatenate takes anything\n\n```python\n{code}\n```\n\nNo error comes at the end.\n")


@pytest.mark.parametrize(
    "comment",
    [
        "Errors as expected",
        "raises ValueError, as it should",
        "correctly raises",
        "ValueError (expected)",
        "ok: ValueError",
        "error, good",
        "fails, and that is right",
        "refused correctly",
        "wirft ValueError, wie erwartet",
        "lève une erreur, comme prévu",
    ],
)
def test_an_expected_failure_does_not_end_the_script(comment: str) -> None:
    reading = report(f"np.concatenate(1)  # {comment}", "a = np.concatenate([[1], [2]])  # No error")
    script = reading.scripts[0]
    assert script.script.split("\n")[1] == f"{GOES_ON}np.concatenate(1)  # {comment}"
    assert [each.line for each in script.repairs if each.code == "expected_failure"] == [2]


@pytest.mark.parametrize(
    "comment",
    [
        "raises ValueError",
        "should raise as expected",
        "does not raise as expected",
        "fails unexpectedly",
        "no error, as expected",
        "error is not correct",
        "expected ValueError, got TypeError",
        "errors, but that is not right",
        "as expected",
        "Error: expected 2, got 1",
    ],
)
def test_other_comments_change_nothing(comment: str) -> None:
    reading = report(f"np.concatenate(1)  # {comment}", "a = np.concatenate([[1], [2]])")
    assert "suppress" not in reading.scripts[0].script


@pytest.mark.parametrize(
    "lines",
    [
        ["np.concatenate(1)  # fails as expected"],
        ["if np.ones(1).all():  # fails as expected", "    np.concatenate(1)", "print(1)"],
        ["np.concatenate(", "    1)  # fails as expected", "print(1)"],
        ["a = 1; np.concatenate(a)  # fails as expected", "print(1)"],
    ],
)
def test_the_last_statement_and_others_than_plain_calls_stay(lines: list[str]) -> None:
    assert "suppress" not in report(*lines).scripts[0].script
