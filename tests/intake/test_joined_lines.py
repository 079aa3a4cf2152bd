"""Code that lost its line breaks on its way into a report."""

from __future__ import annotations

import time

import pytest
from default_limits import read

from app.intake.claim.claims import Role
from app.intake.sessions.joined_lines import (
    fenced_joined_lines,
    is_joined_program,
    program_and_output,
    session_lines,
    split_statements,
    with_lines,
)
from app.intake.snippets.displayed_values import DISPLAY

PROGRAM = "import numpy as np x = np.arange(3) y = x * 2 - 1 print(np.sum(y), 'of it') print(y [0])"


@pytest.mark.parametrize(
    ("line", "statements"),
    [
        (
            "import os, sys from re import sub, match as m x = 1",
            ["import os, sys", "from re import sub, match as m"],
        ),
        ("a = b = 1 c = -a if b else 2 f(c)", ["a = b = 1", "c = -a if b else 2", "f(c)"]),
        ("f = lambda x: x + 1 print(f (2))", ["f = lambda x: x + 1", "print(f (2))"]),
        ("x = 'a b = 3' y = x", ["x = 'a b = 3'", "y = x"]),
        ("print(x) -3.5 4", ["print(x)", "-3.5", "4"]),
        ("x += 1 del x assert True", ["x += 1", "del x", "assert True"]),
    ],
)
def test_a_line_is_split_at_its_statements(line: str, statements: list[str]) -> None:
    found, rest = split_statements(line)
    assert (found[: len(statements)], rest) == (statements, "")


@pytest.mark.parametrize(
    ("line", "statement", "rest"),
    [
        ("round(a, 8) - 5.5 -3.25e-09", "round(a, 8) - 5.5", "-3.25e-09"),
        ("x.shape (3, 4)", "x.shape", "(3, 4)"),
        ("x [1, 2]", "x", "[1, 2]"),
        ("'%.3f' % x '0.333'", "'%.3f' % x", "'0.333'"),
        ("a in b True", "a in b", "True"),
        ("x = [1, 2]", "x = [1, 2]", None),
        ("not a (1, 2)", "not a", "(1, 2)"),
    ],
)
def test_a_value_behind_a_typed_statement_is_an_answer(line: str, statement: str, rest: str | None) -> None:
    assert split_statements(line, typed=True)[0] == [statement, *([rest] if rest else [])]


@pytest.mark.parametrize(
    "line",
    [
        "import numpy as np and then you call print(x) with it",
        "x = 5 and so print(x) it",
        "from what I see import os fails",
        "f(x) returns y = 3 and not z = 4",
        "def f(x): y = x return y print(f(2))",
        "import os # the module x = 1 print(x)",
        "print(x) is slow",
        "a = 1; b = 2; c = 3",
    ],
)
def test_words_and_blocks_are_no_joined_program(line: str) -> None:
    assert not is_joined_program(line)


@pytest.mark.parametrize(
    ("output", "lines"),
    [
        ("", ""),
        ("6 9", "6\n9"),
        ("[1 2] [3 4]", "[1 2] [3 4]"),
        ("tensor([2., 2.])", "tensor([2., 2.])"),
        ("True False", "True\nFalse"),
        ("-3 4", "-3\n4"),
        (
            "Traceback (most recent call last): ValueError: no",
            "Traceback (most recent call last): ValueError: no",
        ),
    ],
)
def test_values_behind_a_program_are_its_output(output: str, lines: str) -> None:
    assert program_and_output(f"import os x = os.sep print(x) {output}") == (
        "import os x = os.sep print(x)",
        lines,
    )


@pytest.mark.parametrize("layout", ["{}", "    {}", "```python\n{}\n```", "```\n{}\n```", " {}"])
def test_a_joined_program_is_the_script(layout: str) -> None:
    reading = read(f"numpy suma mal los números\n\nEste código\n\n{layout.format(PROGRAM)} \n\nimprime 5.\n")
    (script,) = reading.scripts
    assert [repair.code for repair in script.repairs] == ["joined_statements"]
    assert script.script == (
        "import numpy as np\nx = np.arange(3)\ny = x * 2 - 1\nprint(np.sum(y), 'of it')\nprint(y [0])\n"
    )


def test_values_that_lost_their_line_breaks_are_lines() -> None:
    text = f"La suma está mal\n\n{PROGRAM}\n\nimprime\n\n 6 True [1, 2] \n\npero son 2.\n"
    (check, *_) = read(text).claim.having(Role.BUG)
    assert check.lines == ("6", "True", "[1, 2]")


def test_outputs_of_other_joined_programs_are_not_those_of_the_script() -> None:
    other = "import numpy as np x = np.ones(4) print(x [0] * 3) print(x [1] * 5) 3.0 5.0"
    text = f"La suma está mal\n\n{PROGRAM}\n\nimprime\n\n 6 8 \n\nOtro:\n\n{other}\n\nFin de esto.\n"
    claim = read(text).claim
    shown = [check.lines for each in (claim, *claim.further) for check in each.having(Role.BUG)]
    assert ("6", "8") in shown
    assert ("3.0", "5.0") not in shown


def test_one_line_of_a_script_may_be_joined() -> None:
    code = "import numpy as np x = np.ones(2)\nfor i in x:\n    y = i print(y)"
    (script,) = read(f"# Wrong\n\n```python\n{code}\n```\n").scripts
    assert script.script == "import numpy as np\nx = np.ones(2)\nfor i in x:\n    y = i\n    print(y)\n"


@pytest.mark.parametrize(
    "session",
    [
        ">>> import numpy as np >>> np.sum([4]) - 1 -3 >>> np.ones(2) [1. 1.]",
        "     >>> import numpy as np >>> np.sum([4]) - 1 -3 >>> np.ones(2) [1. 1.]",
        "In [1]: import numpy as np In [2]: np.sum([4]) - 1 Out[2]: 3 In [3]: np.ones(2) Out[3]: [1. 1.]",
        "```\n>>> import numpy as np\n>>> np.sum([4]) - 1 3\n>>> np.ones(2) [1. 1.]\n```",
    ],
)
def test_a_joined_session_is_read(session: str) -> None:
    (script,) = read(
        f"The sum is wrong in numpy\n\nI see this here:\n\n{session}\n\nand that is bad.\n"
    ).scripts
    assert script.script.strip().split("\n") == [
        "import numpy as np",
        f"{DISPLAY}np.sum([4]) - 1)",
        f"{DISPLAY}np.ones(2))",
    ]


@pytest.mark.parametrize(
    "line", ["a = f(1) " * 90, "f(" * 290 + " x = f(1)", "x = (1 + " * 100, "a = -b " * 140, "f(1, 2) " * 80]
)
def test_hostile_lines_take_no_time(line: str) -> None:
    begin = time.monotonic()
    split_statements(line)
    split_statements(line, typed=True)
    assert time.monotonic() - begin < 1


@pytest.mark.parametrize(
    "line", [">>> f(1) 2 " * 300, "   " + ">>> f(1) 2 " * 300, "import os x = f(1) " * 200]
)
def test_a_long_report_of_joined_lines_is_split_at_its_beginning(line: str) -> None:
    lines = [line] * 300
    begin = time.monotonic()
    session_lines(lines)
    fenced_joined_lines(lines, [False] * len(lines), fence="~~~~")
    with_lines("\n".join(lines))
    assert time.monotonic() - begin < 5
