"""Calls and command-line arguments that a report tells in words."""

from __future__ import annotations

import pytest
from default_limits import read

from app.intake.reading import Reading

PAIR = "def f(x, acc=[]):\n    acc.append(x)\n    return acc"


def report(code: str, words: str) -> Reading:
    return read(f"# wrong\n\n```python\n{code}\n```\n\n{words}\n", form="report")


def displayed(call: str) -> str:
    return f'__import__("sys").displayhook({call})'


@pytest.mark.parametrize(
    ("code", "words", "calls"),
    [
        (PAIR, "With `f(1)` and then `f(2)` the second returns `[1, 2]`", ["f(1)", "f(2)"]),
        ("class A:\n    def pop(self):\n        return 3", "`A().pop()` returns 3, not 4", ["A().pop()"]),
        ("def gen():\n    yield 1", "`next(gen())` returns 1, not 2", ["next(gen())"]),
        ("async def go(n):\n    return n", "`go(3)` returns 3", ["__import__('asyncio').run(go(3))"]),
        ("async def go(n):\n    return n", "`await go(3)` returns 3", ["__import__('asyncio').run(go(3))"]),
        (
            'def f(x):\n    """Double it.\n\n    >>> f(2)\n    5\n    """\n    return 2 * x',
            "The doctest fails: it is 4.",
            ["f(2)"],
        ),
    ],
)
def test_calls_told_in_words_are_made(code: str, words: str, calls: list[str]) -> None:
    reading = report(code, words)
    script = reading.scripts[0]
    assert script.script == f"{code}\n\n" + "".join(f"{displayed(each)}\n" for each in calls)
    assert [each.code for each in script.repairs] == ["told_call"]
    assert reading.ask == ()


@pytest.mark.parametrize(
    "words",
    [
        "`f(y)` returns 3",  # Nobody says what `y` is.
        "`f(...)` returns 3",
        "`f()` returns 3",  # It needs a value.
        "`len([1])` is 1",
        "It returns 3.",
    ],
)
def test_a_call_that_lacks_something_is_asked_for(words: str) -> None:
    assert [each.code for each in report(PAIR, words).ask] == ["nothing_calls_it"]


def test_values_that_the_report_names_are_used() -> None:
    script = report(PAIR, "With `y = 3`, `f(y)` returns `[4]`").scripts[0].script
    assert script.endswith(f"\n\ny = 3\n{displayed('f(y)')}\n")


PARSER = (
    "import argparse\np = argparse.ArgumentParser()\np.add_argument('--n', type=int, required=True)\n"
    "print(p.parse_args().n)"
)


def test_the_command_of_a_report_gives_the_arguments() -> None:
    reading = report(PARSER, "`python a.py --n 3` prints 3, but it should print 4")
    assert reading.scripts[0].script.startswith("import sys; sys.argv[1:] = ['--n', '3']; import argparse\n")
    assert [each.code for each in reading.scripts[0].repairs] == ["told_arguments"]
    assert reading.ask == ()


@pytest.mark.parametrize(
    "words",
    [
        "`python a.py --n $COUNT` prints 3",
        "`python a.py --n big.csv` prints 3",
        "it prints 3",
    ],
)
def test_arguments_that_only_the_reporter_has_are_asked_for(words: str) -> None:
    assert [each.code for each in report(PARSER, words).ask] == ["arguments"]
