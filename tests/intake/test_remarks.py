"""Remarks of the reporter: on the values of two versions, on printed lines, on messages."""

from __future__ import annotations

import pytest
from default_limits import read

from app.intake.claim.claims import Check, CheckKind, Role
from app.intake.remarks.output_remarks import read_remarks, without_remark

SCRIPT = "```python\nimport numpy as np\nprint(np.median([3]))\n```\n\n"


def _values(text: str) -> list[tuple[Role, str]]:
    claim = read(f"# median\n\n{SCRIPT}{text}\n", form="report").claim
    return [(check.role, _value(check)) for check in claim.checks]


def _value(check: Check) -> str:
    return check.number or " ".join(check.lines)


@pytest.mark.parametrize(
    "text",
    [
        "It returns `41` with numpy 1.24 and `40` from numpy 1.25 on. I'd expect `41` everywhere.",
        "Prints 41 on 1.24 but 40 on 1.25; I expected 41",
        "With 1.25.0 I get 40, with 1.24.1 I get 41. It should be 41.",
        "Es kommt `41` mit Version 1.24 und `40` seit Version 1.25. Ich erwarte `41`.",
        "We see 41 in 1.24 and 40 since 1.25, correct is 41.",
    ],
)
def test_the_value_of_the_other_version_is_the_bug(text: str) -> None:
    assert _values(text) == [(Role.BUG, "40"), (Role.EXPECTED, "41")]


def test_a_value_that_is_not_right_is_the_bug() -> None:
    text = "It returns 41 with 1.24 and 40 with 1.25. It should not be 41, I expect 40."
    assert _values(text) == [(Role.BUG, "41"), (Role.EXPECTED, "40")]


@pytest.mark.parametrize(
    "text",
    [
        "Before 1.25 this printed `41`, now it prints `40`.",
        "Old version: 41. New version: 40.",
        "This used to give 41 but now it gives 40.",
        "The result is now 40, previously it was 41.",
        "With 1.24.1 it gives `41`, with 1.25.0 `40`.",
        "Wolfram Alpha says 41. numpy says 40.",
        "mpmath: 41, numpy: 40",
    ],
)
def test_the_value_of_today_is_the_bug(text: str) -> None:
    assert _values(text) == [(Role.BUG, "40"), (Role.EXPECTED, "41")]


@pytest.mark.parametrize(
    "text",
    ["The error is 0.5, while mpmath gives 41.", "According to R the value is 41.", "Matlab returns `41`."],
)
def test_the_value_of_another_tool_is_no_bug(text: str) -> None:
    assert (Role.BUG, "41") not in _values(text)


@pytest.mark.parametrize(
    "text",
    [
        "It returns 41 with 1.24 and 40 with 1.25. Is it 41 or 40?",
        "It returns 41 with 1.24 and 40 with 1.25. I expect 41. Others expect 40.",
    ],
)
def test_nothing_is_right_if_the_report_does_not_say_which(text: str) -> None:
    assert Role.EXPECTED not in {role for role, _ in _values(text)}


SESSION = """# roll

```python
>>> import numpy as np
>>> np.roll([1, 2, 3], 1)
array([3, 1, 2])  # fine
>>> np.roll([[1], [2]], 1)
array([[1],  # wrong, must be [[2], [1]] like the one above
       [2]])
>>> np.size([4])
1  <-- ok
```
"""


def test_remarks_in_a_session_say_what_is_wrong_and_what_is_right() -> None:
    claim = read(SESSION, form="report").claim
    assert [(check.role, check.lines) for check in claim.checks] == [
        (Role.BUG, ("array([3, 1, 2])", "array([[1],", "[2]])", "1")),
        (Role.EXPECTED, ("array([3, 1, 2])", "array([[2],", "[1]])", "1")),
    ]


@pytest.mark.parametrize(
    ("line", "own", "right"),
    [
        ("7 <- should be 8", "7", ("8",)),
        ("sum: 7   <=== expected 8", "sum: 7", ("sum: 8",)),
        ("False  # has to be True", "False", ("True",)),
        ("[1, 2]  <--- WRONG, expected: [2, 1]", "[1, 2]", ("[2, 1]",)),
        ("7  # BUG", "7", ()),
        ("7  <- must not be 7, oops", "7  <- must not be 7, oops", ()),
        ("(1, 2) <-- should be 4", "(1, 2)", ()),
        ("x <- y is good", "x <- y is good", ()),
        ("#ff0000 # 2", "#ff0000 # 2", ()),
    ],
)
def test_a_remark_behind_a_line(line: str, own: str, right: tuple[str, ...]) -> None:
    assert without_remark(line) == own
    assert read_remarks([line], "print(1)").right == right


def test_lines_that_are_called_right_are_no_bug() -> None:
    assert read_remarks(["1  # good", "2  # as expected"], "").is_right
    assert not read_remarks(["1  # good", "2"], "").is_right
    assert not read_remarks(["1  # good, but slow"], "").is_right


def test_words_that_the_script_prints_are_output() -> None:
    line = "7 <- should be 8"
    assert read_remarks([line], 'print(x, "<- should be 8")').lines == (line,)


def _messages(text: str) -> list[tuple[Role, CheckKind, str | None]]:
    claim = read(f"# Wrong words\n\n{text}\n", form="report").claim
    return [(check.role, check.kind, check.message) for check in claim.checks]


WRONG, RIGHT = "axis 0 is out of bounds for columns", "axis 0 is out of bounds for rows"


@pytest.mark.parametrize(
    "expected",
    [
        f"### Expected behavior\n\n> {RIGHT}\n",
        f"**Expected behavior**\nAn error, of course.\n\nWith these words:\n\n> {RIGHT}\n",
        f"### Expected behavior\n\nThis one:\n\n`{RIGHT}`\n",
        f'The message should be "{RIGHT}".',
        f"The text has to read `IndexError: {RIGHT}`.",
    ],
)
def test_an_error_with_a_wrong_message_has_a_right_one(expected: str) -> None:
    script = f"```python\nimport numpy as np\nnp.take([], 0)\n# gives 'IndexError: {WRONG}'\n```\n\n"
    assert _messages(script + expected) == [
        (Role.BUG, CheckKind.EXCEPTION, WRONG),
        (Role.EXPECTED, CheckKind.EXCEPTION, RIGHT),
    ]


@pytest.mark.parametrize(
    "text",
    [
        f'The message should not be "{RIGHT}".',
        "### Expected behavior\n\n> No error at all, please.\n",
    ],
)
def test_other_words_are_no_right_message(text: str) -> None:
    script = f"```python\nimport numpy as np\nnp.take([], 0)\n# IndexError: {WRONG}\n```\n\n"
    assert _messages(script + text) == [(Role.BUG, CheckKind.EXCEPTION, WRONG)]


def test_a_comment_far_behind_a_printed_value_is_a_remark() -> None:
    lines = ("datetime.timedelta(0)                  # where did it go", "count # 3", "# a title")
    assert read_remarks(lines, "print(1)").lines == ("datetime.timedelta(0)", "count # 3", "# a title")
