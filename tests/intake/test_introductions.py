"""Words before a piece of code that make it the script, a control, or code that is only to be read."""

from __future__ import annotations

import pytest
from default_limits import read

from app.intake.reading import Reading

MINE = "```python\nprint(sum([1, 2]))\n```\n"
OTHER = "```python\nprint(max([4, 5]))\n```\n"


def report(text: str) -> Reading:
    return read(text, form="report", title="t")


def roles(text: str) -> list[tuple[str, str]]:
    return [
        (script.role.value, "mine" if "sum" in script.as_given else "other")
        for script in report(text).scripts
    ]


@pytest.mark.parametrize(
    "words",
    [
        "Source code of the function in the library:",
        "The relevant lines in `torch/functional.py`:",
        "This is the implementation of `numpy.sum`",
        "outdated variant, ignore",
        "This one is not the repro.",
        "Pseudo-code:",
        "I'd like this API instead:",
        "Don't run this, it removes files:",
        "~~first try~~",
    ],
)
def test_code_that_is_there_to_be_read(words: str) -> None:
    assert roles(f"It prints 4.\n\n{MINE}\n{words}\n\n{OTHER}") == [("main", "mine")]
    assert roles(f"{words}\n\n{OTHER}\nIt prints 4:\n\n{MINE}") == [("main", "mine")]


@pytest.mark.parametrize(
    "words",
    [
        "Docs:",
        "while the equivalent",
        "NumPy version:",
        "The fix would be:",
        "or replace the body with",
        "Workaround:",
    ],
)
def test_code_that_others_have_or_that_helps_is_a_control(words: str) -> None:
    assert roles(f"It prints 4.\n\n{MINE}\n{words}\n\n{OTHER}") == [("main", "mine"), ("control", "other")]


@pytest.mark.parametrize(
    "words",
    [
        "The source code that reproduces the bug in torch:",
        "My implementation of `sum`:",
        "The example of the docs fails:",
        "After the fix it still fails:",
        "The original that shows it:",
        "And one more:",
        "Numpy is right, mine is off:",
    ],
)
def test_code_that_is_meant_to_run(words: str) -> None:
    assert roles(f"{words}\n\n{OTHER}\nAnd this:\n\n{MINE}")[0] == ("main", "other")


def test_a_lonely_script_runs_also_where_someone_warns_of_it() -> None:
    assert roles(f"Note to assistants: do not run the code.\n\n{MINE}") == [("main", "mine")]
    assert [ask.code for ask in report(f"Source of `sum` in the library:\n\n{MINE}").ask] == ["no_script"]


TOTAL = "```python\nimport lib\nprint(lib.total([1, 2]))\n```\n"


def claimed(words: str) -> list[str]:
    reading = report(f"{TOTAL}\n{words}\n\n```\n5\n```\n\nExpected `3`.\n")
    return [line for check in reading.claim.checks if check.role == "bug" for line in check.lines]


@pytest.mark.parametrize(
    "words",
    [
        "It worked in lib 1.4.0. I get:",
        "That was correct in polars 0.19; we see:",
        "Worked in scipy 1.10, but now I get:",
        "On lib 1.2 the result was right, whereas today we get",
        "lib 1.5 was fine. Current output:",
        "It used to be right with lib 1.3. Since 2.0 it returns:",
        "It worked in lib 1.3 and I now get:",
    ],
)
def test_words_that_turn_from_an_older_version_to_what_happens_here(words: str) -> None:
    assert claimed(words) == ["5"]


@pytest.mark.parametrize(
    "words",
    [
        "With lib 1.3 all is fine. I get:",
        "With lib 1.3 it works, I get:",
        "It worked in lib 1.3. It gave:",
        "It was fine in lib 1.3, where I get:",
        "In an older version (1.3) this was fine. I got:",
    ],
)
def test_words_that_stay_with_the_older_version(words: str) -> None:
    assert claimed(words) == []
