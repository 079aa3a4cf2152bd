"""Tracebacks whose end is missing, errors that words name, and classes that can't be made."""

from __future__ import annotations

import pytest
from default_limits import read

from app.intake.claim.claims import Check, CheckKind, Role
from app.intake.reading import Reading

SCRIPT = "import pandas as pd\n\ns = pd.Series([1, 2])\nprint(s.rolling(-1).sum())"
CUT = (
    "Traceback (most recent call last):\n"
    '  File "a.py", line 4, in <module>\n    print(s.rolling(-1).sum())\n          ~~~~~~~~~^^^^\n'
    '  File "/usr/lib/python3/site-packages/pandas/core/window.py", line 12, in rolling\n    self._valida'
)


def reading_of(title: str, *pieces: str, script: str = SCRIPT) -> Reading:
    body = "\n\n".join((f"```python\n{script}\n```", *pieces))
    return read(f"# {title}\n\n{body}\n", form="report")


def bugs_of(reading: Reading) -> list[Check]:
    return [check for claim in (reading.claim, *reading.claim.further) for check in claim.having(Role.BUG)]


def fence(text: str) -> str:
    return f"```\n{text}\n```"


@pytest.mark.parametrize(
    "title",
    [
        *("rolling(-1) raises `ValueError`", "`ValueError` for a negative window"),
        *("BUG: rolling ends with a ValueError when the window is -1", "ValueError bei negativem Fenster"),
    ],
)
def test_a_traceback_without_its_end_is_no_output(title: str) -> None:
    bugs = bugs_of(reading_of(title, "This is what I see:", fence(CUT)))
    assert [(bug.kind, bug.exception_type, bug.lines) for bug in bugs] == [
        (CheckKind.EXCEPTION, "ValueError", ())
    ]


def test_without_a_name_nothing_is_claimed() -> None:
    assert not bugs_of(reading_of("A negative window", "I see:", fence(CUT)))


def test_a_comment_with_such_a_traceback_is_no_output() -> None:
    commented = "\n".join(f"# {line}" for line in CUT.split("\n"))
    assert not bugs_of(reading_of("A negative window", script=f"{SCRIPT}\n\n\n{commented}"))


def test_ipython_names_the_type_above_the_traceback() -> None:
    text = (
        "-" * 75
        + "\nKeyError                     Traceback (most recent call last)\n"
        + "Cell In[2], line 4\n      1 import"
    )
    (bug,) = bugs_of(reading_of("A negative window", "I see:", fence(text)))
    assert (bug.kind, bug.exception_type, bug.message) == (CheckKind.EXCEPTION, "KeyError", "")


@pytest.mark.parametrize("verb", ["fails with", "raises", "ends in", "dies with"])
def test_an_error_in_words_comes_before_the_output_of_other_code(verb: str) -> None:
    other = SCRIPT.replace("-1", "2")
    reading = reading_of(
        "A negative window",
        f"Above {verb} `pandas.errors.WindowError: -1 is no window`.",
        "With a positive one all is well:",
        fence(other),
        "prints",
        fence("0    NaN\n1    3.0\ndtype: float64"),
    )
    assert [(bug.kind, bug.exception_type) for bug in bugs_of(reading)[:1]] == [
        (CheckKind.EXCEPTION, "WindowError")
    ]


@pytest.mark.parametrize(
    "definition",
    [
        "class Kind(type, Enum):\n    A = object",
        "class Kind(str, int):\n    pass",
        "@unique\nclass Kind(Enum):\n    A = 1\n    B = 1",
        "class Kind(NamedTuple, dict):\n    a: int",
    ],
)
def test_a_class_that_can_not_be_made_needs_no_call(definition: str) -> None:
    script = f"from enum import Enum, unique\nfrom typing import NamedTuple\n\n{definition}"
    error = fence('Traceback (most recent call last):\n  File "a.py", line 6\nTypeError: no such class')
    assert not reading_of("The class can't be made", "It gives", error, script=script).ask
    # Without an error, somebody has to say what the class is used for.
    asks = reading_of("The class is slow", "I don't like it.", script=script.replace("@unique\n", "")).ask
    assert [ask.code for ask in asks] == ["nothing_calls_it"]


@pytest.mark.parametrize("words", ["evaluates to False", "yields False", "is False", "shows False"])
def test_comments_say_what_a_print_shows(words: str) -> None:
    calls = ("np.all(np.ones(3) == 1)", "np.any(np.zeros(3))")
    script = "import numpy as np\n\n" + "\n".join(f"print({call})  # {words}" for call in calls)
    (bug,) = bugs_of(reading_of("all() is wrong", script=script))
    assert bug.lines == ("False", "False")
