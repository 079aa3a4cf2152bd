"""A session goes on after an error that the report is not about, and so does its script."""

from __future__ import annotations

import pytest
from default_limits import read

from app.intake.claim.claims import CheckKind, Role
from app.intake.reading import Reading

_GOES_ON = 'with __import__("contextlib").suppress(Exception): '
_HEAD = 'Traceback (most recent call last):\n  File "<stdin>", line 1, in <module>\n'


def _read(title: str, session: str, words: str) -> Reading:
    return read(f"# {title}\n\n```\n{session}```\n\n{words}\n", form="report")


def test_an_error_in_passing_is_no_claim_and_ends_nothing() -> None:
    session = (
        ">>> from datetime import timedelta\n>>> timedelta(days=1) * None\n"
        f"{_HEAD}TypeError: unsupported operand type(s)\n"
        ">>> divmod(timedelta(hours=25), timedelta(hours=8))\n(4, datetime.timedelta(seconds=3600))\n"
    )
    reading = _read("divmod of timedelta is off", session, "It should be `(3, timedelta(seconds=3600))`.")
    assert f"{_GOES_ON}timedelta(days=1) * None" in reading.scripts[0].script
    (bug,) = reading.claim.having(Role.BUG)
    assert bug.lines == ("(4, datetime.timedelta(seconds=3600))",)
    assert "expected_failure" in {repair.code for repair in reading.scripts[0].repairs}


def test_of_two_errors_the_one_that_the_words_excuse_is_in_passing() -> None:
    session = (
        ">>> import statistics\n>>> statistics.median([])\n"
        "Traceback (most recent call last):\n  ...\nstatistics.StatisticsError: no median for empty data\n"
        ">>> statistics.mode([1, 1, 2, 2])\n"
        "Traceback (most recent call last):\n  ...\nstatistics.StatisticsError: no unique mode\n"
    )
    reading = _read("mode gives up", session, "The first error is fine, of course. `mode` should return 1.")
    assert f"{_GOES_ON}statistics.median([])" in reading.scripts[0].script
    (bug,) = reading.claim.having(Role.BUG)
    assert bug.kind is CheckKind.EXCEPTION
    assert bug.message == "no unique mode"


def test_a_statement_that_never_began_goes() -> None:
    session = (
        ">>> from sympy import *\n>>> x = symbols('x')\n>>> integrate(1/y, y)\n"
        f"{_HEAD}NameError: name 'y' is not defined\n>>> integrate(1/x, x)\nlog(x)\n"
    )
    reading = _read("integrate(1/x) forgets Abs", session, "It should be `log(Abs(x))`.")
    assert "1/y" not in reading.scripts[0].script
    assert not reading.ask
    assert reading.claim.having(Role.BUG)[0].lines == ("log(x)",)


def test_a_cell_of_ipython_goes_on_too() -> None:
    session = (
        "In [1]: import pandas as pd\n\nIn [2]: pd.Series(['a', 1.5]).sum()\n"
        f"{'-' * 75}\nTypeError                                 Traceback (most recent call last)\n...\n"
        "TypeError: can only concatenate str\n\nIn [3]: pd.Series([None]).sum()\nOut[3]: 0\n"
    )
    reading = _read("Sum of nothing is 0", session, "I think Out[3] should be NaN, not zero.")
    assert f"{_GOES_ON}pd.Series(['a', 1.5]).sum()" in reading.scripts[0].script
    assert reading.claim.having(Role.BUG)[0].lines == ("0",)


@pytest.mark.parametrize(
    ("title", "words"),
    [
        ("mean of integers fails", "I expect `tensor(1.2500)`."),
        ("mean of integers", "`mean` should accept integers, as it does floats."),
        ("mean of integers", "Expected `tensor(1.5000)`, as for floats."),
        ("mean of integers", "Why is there a RuntimeError? I expect 2."),
        ("mean of integers", "I expect `tensor(2)` for the first."),
        ("mean of integers", "`torch.tensor([1, 2]).mean()` should be `tensor(2)`."),
    ],
)
def test_an_error_that_the_report_is_about_stays(title: str, words: str) -> None:
    session = (
        ">>> import torch\n>>> torch.tensor([1, 2]).mean()\n"
        f"{_HEAD}RuntimeError: mean(): could not infer output dtype.\n"
        ">>> torch.tensor([1., 2.]).mean()\ntensor(1.5000)\n"
    )
    reading = _read(title, session, words)
    assert "suppress" not in reading.scripts[0].script
    assert reading.claim.having(Role.BUG)[0].exception_type == "RuntimeError"


def test_an_error_of_a_name_that_the_words_speak_of_stays() -> None:
    session = (
        ">>> import math\n>>> math.cbrt(27)\n"
        f"{_HEAD}AttributeError: module 'math' has no attribute 'cbrt'\n>>> 27 ** (1/3)\n3.0000000000000004\n"
    )
    reading = _read("cube root", session, "I'd like math.cbrt, which should give 3.0.")
    assert "suppress" not in reading.scripts[0].script
    assert reading.claim.having(Role.BUG)[0].exception_type == "AttributeError"
