"""Bugs that are said to be in the free-threaded build of Python only."""

from __future__ import annotations

import pytest
from default_limits import read

from app.intake.claim.claims import Role, Where
from app.intake.sentences.builds_of_python import FREE_THREADED

CODE = (
    "```python\nimport threading\nseen = []\nt = threading.Thread(target=seen.append, args=(1,))\n"
    "t.start()\nt.join()\nprint(len(seen))\n```\n"
)


def place(words: str, title: str = "an item is lost") -> Where:
    reading = read(f"# {title}\n\n{words}\n\n{CODE}\nOutput:\n\n```\n0\n```\n", form="report")
    return reading.claim.having(Role.BUG)[0].where


@pytest.mark.parametrize(
    ("words", "version"),
    [
        ("It happens with python3.13t. With the usual 3.13 I never saw it.", "python 3.13"),
        ("On 3.14t I get a list that is too short.", "python 3.14"),
        ("This fails without the GIL (Python 3.13), and is fine with it.", "python 3.13"),
        ("Only the no-GIL build of 3.14 loses it; 3.12 and 3.14 proper are right.", "python 3.14"),
        ("I run it with PYTHON_GIL=0 and get 0.", None),
        ("Das passiert nur ohne GIL, mit 3.14t.", "python 3.14"),
        ("The wheel is cp314t, where items get lost.", "python 3.14"),
    ],
)
def test_the_free_threaded_build(words: str, version: str | None) -> None:
    assert place(words) == Where(version=version, mode=FREE_THREADED)


def test_the_title_names_it() -> None:
    assert place("See below.", title="[3.14t] lost item").mode == FREE_THREADED


@pytest.mark.parametrize(
    "words",
    [
        "It happens with 3.13 and also with 3.13t.",
        "With 3.14t it works, with 3.14 it fails.",
        "I get 0. On the free-threaded build it doesn't happen.",
        "It fails, with or without the GIL.",
        "I guess that it is a race. The GIL should prevent it.",
        "Python 3.14t is not needed to see it.",
    ],
)
def test_no_word_of_that_build_alone(words: str) -> None:
    assert place(words).mode is None
