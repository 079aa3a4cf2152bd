"""Sentences that quote what the script prints, by the words of its own prints."""

from __future__ import annotations

import pytest
from default_limits import read

from app.intake.claim.claims import Role
from app.intake.reading import Reading

COUNTS = 'print(f"{bad} of {n} cells differ, at most by {worst:.3f}")'
LISTED = 'print("left over after the merge:", rest, "from", n)'
FORMATTED = 'print("checked %d rows, lost %s" % (n, lost))'


def report(code: str, *words: str, title: str = "Cells are off") -> Reading:
    script = f"import lib\nbad, n, worst, rest, lost = lib.check()\n{code}"
    text = "\n\n".join([f"# {title}", f"```python\n{script}\n```", *words])
    return read(f"{text}\n", form="report")


def checks(reading: Reading) -> list[tuple[Role, tuple[str, ...]]]:
    return [(check.role, check.lines) for check in reading.claim.checks]


@pytest.mark.parametrize(
    ("code", "words", "line"),
    [
        (COUNTS, "Here: 7 of 40 cells differ, at most by 0.250", "7 of 40 cells differ, at most by 0.250"),
        (
            COUNTS,
            'It says "7 of 40 cells differ, at most by 0.250".',
            "7 of 40 cells differ, at most by 0.250",
        ),
        (COUNTS, "- 7 of 40 cells differ, at most by nan", "7 of 40 cells differ, at most by nan"),
        (COUNTS, "=> *7 of 40 cells differ, at most by 0.250*", "7 of 40 cells differ, at most by 0.250"),
        (
            COUNTS,
            "Bei mir kommt 7 of 40 cells differ, at most by 0.250.",
            "7 of 40 cells differ, at most by 0.250",
        ),
        (
            LISTED,
            "My result: left over after the merge: [3, 4] from 9",
            "left over after the merge: [3, 4] from 9",
        ),
        (FORMATTED, "This ends in checked 80 rows, lost [1, 2]!", "checked 80 rows, lost [1, 2]"),
    ],
)
def test_a_sentence_quotes_a_print(code: str, words: str, line: str) -> None:
    assert checks(report(code, words)) == [(Role.BUG, (line,))]


def test_lines_of_one_paragraph_are_one_output() -> None:
    words = "I see\n7 of 40 cells differ, at most by 1.000\nchecked 3 rows, lost 1"
    lines = ("7 of 40 cells differ, at most by 1.000", "checked 3 rows, lost 1")
    assert checks(report(f"{COUNTS}\n{FORMATTED}", words)) == [(Role.BUG, lines)]


def test_the_words_before_it_say_what_is_right() -> None:
    reading = report(
        COUNTS,
        "On my machine: 7 of 40 cells differ, at most by 0.250",
        "It should say: 0 of 40 cells differ, at most by 0.000",
    )
    assert checks(reading) == [
        (Role.BUG, ("7 of 40 cells differ, at most by 0.250",)),
        (Role.EXPECTED, ("0 of 40 cells differ, at most by 0.000",)),
    ]


@pytest.mark.parametrize(
    "words",
    [
        "I expect 0 of 40 cells differ, at most by 0.000",
        "With version 1.2 it was fine: 0 of 40 cells differ, at most by 0.000",
        "On my other laptop it works: 0 of 40 cells differ, at most by 0.000",
    ],
)
def test_what_is_right_or_of_another_place_is_no_bug(words: str) -> None:
    assert Role.BUG not in {role for role, lines in checks(report(COUNTS, words)) if lines}


@pytest.mark.parametrize(
    "words",
    [
        "Many of 40 cells differ.",
        "The number of cells differ, at most by a little.",
        "I made 40 of 40 cells differ, at most by 0.250 in the input, then called it.",
    ],
)
def test_words_about_something_else_are_no_output(words: str) -> None:
    assert not any(lines for _, lines in checks(report(COUNTS, words)))
