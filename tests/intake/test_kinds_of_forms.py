"""Claims by the form in which they are shown: cells, tables, labels, remarks, names of a shell, last"
" values."""

from __future__ import annotations

import pytest
from default_limits import read

from app.intake.claim.claims import Check, CheckKind, Role
from app.intake.reading import Reading

SCRIPT = "```python\nimport torch\nprint(torch.ones(2).sum())\n```\n\n"
NUMPY = "```python\nimport numpy as np\nfor r in range(2):\n    print(np.ones(2))\n```\n\n"


def _read(text: str) -> Reading:
    return read(text, form="report")


def _shown(check: Check) -> str:
    if check.kind is CheckKind.EXCEPTION:
        return f"{check.exception_type}: {check.message or ''}".rstrip()
    return check.number or "|".join(check.lines) or str(check.kind)


def _first(reading: Reading) -> tuple[list[str], list[str]]:
    bugs, right = reading.claim.having(Role.BUG), reading.claim.having(Role.EXPECTED)
    return [_shown(check) for check in bugs], [_shown(check) for check in right]


def _repairs(reading: Reading) -> set[str]:
    return {repair.code for script in reading.scripts[:1] for repair in script.repairs}


@pytest.mark.parametrize(
    "table",
    [
        "| row | expected | actual |\n|---|---|---|\n| 0 | 1, 2 | 1, 3 |\n| 1 | 4, 5 | 4, 6 |\n",
        "| input | got | should be |\n|:--|:-:|--:|\n| a | 1, 3 | 1, 2 |\n| b | 4, 6 | 4, 5 |\n",
        "| Eingabe | Ausgabe | Erwartet |\n|---|---|---|\n| a | 1, 3 | 1, 2 |\n| b | 4, 6 | 4, 5 |\n",
        "| 行 | 期待値 (手計算) | 実際の出力 |\n|---|---|---|\n| 0 | 1, 2 | 1, 3 |\n| 1 | 4, 5 | 4, 6 |\n",
        "Expected | Actual\n--- | ---\n`1, 2` | `1, 3`\n`4, 5` | `4, 6`\n",
    ],
)
def test_a_table_of_expected_and_actual_values(table: str) -> None:
    assert _first(_read(f"# resize\n\n{NUMPY}{table}")) == (["1, 3|4, 6"], ["1, 2|4, 5"])


@pytest.mark.parametrize(
    "table",
    [
        "| row | expected | actual |\n|---|---|---|\n| 0 | it works | it fails |\n",
        "| row | expected | actual |\n|---|---|---|\n| 0 | 1, 2 |\n",
        "| device | time |\n|---|---|\n| cpu | 3 |\n| gpu | 5 |\n",
    ],
)
def test_a_table_of_other_things(table: str) -> None:
    assert _first(_read(f"# resize\n\n{NUMPY}{table}"))[1] == []


CELL = "```python\nimport numpy as np\nnp.ones(1)\n```\n\n"
CELLS = "In [1]:\n\n    import numpy as np\n\nIn [2]:\n\n    np.median([3, 4])\n\nOut[2]:\n\n    5.0\n\n"


@pytest.mark.parametrize(
    ("text", "wrong", "right"),
    [
        (f"{CELLS}It should be 3.5.\n", "5.0", "3.5"),
        (
            f"In [1]:\n\n{CELL}Out[1]:\n\n```\n5.0\n```\n\nExpected 3.5\n",
            "5.0",
            "3.5",
        ),
        (
            f"**In [5]:**\n\n{CELL}**Out[5]:** `5.0`\n\nI would expect 3.5\n",
            "5.0",
            "3.5",
        ),
        ("_in:_ torch.tensor(-2) >> 1\n_out:_ tensor(9)\n\nIt should be -1.\n", "tensor(9)", "-1"),
        ("Input: `np.median([3])`\nOutput: `5.0`\n\nExpected: `3.0`\n", "5.0", "3.0"),
        ("**Input:** `np.median([3])`\n\n**Output:** `5.0`\n\n**Expected:** `3.0`\n", "5.0", "3.0"),
        ("    In: np.median([3])\n    Out: 5.0\n\nI expected 3.0\n", "5.0", "3.0"),
    ],
)
def test_cells_and_labelled_values_are_a_session(text: str, wrong: str, right: str) -> None:
    reading = _read(f"# median\n\n{text}")
    assert (_first(reading), reading.ask) == (([wrong], [right]), ())
    assert "shown_value" in _repairs(reading)


@pytest.mark.parametrize("text", ["Input: `5`\nOutput: `7`\n", "Input: a list\nOutput: a set\n"])
def test_labelled_words_are_no_code(text: str) -> None:
    assert [ask.code for ask in _read(f"# median\n\n{text}").ask] == ["no_script"]


def test_a_cell_that_prints() -> None:
    code = "In [5]:\n\n```python\nimport numpy as np\nprint('m', np.median([3, 4]))\n```\n\n    m 5.0\n\n"
    assert _first(_read(f"# median\n\n{code}"))[0] == ["m 5.0"]


@pytest.mark.parametrize(
    "code",
    [
        "`\nfrom sympy import *\nx = symbols('x')\n\nprint(integrate(sqrt(x), (x, 1, 4)))\n`",
        "`from sympy import *\nx = symbols('x')\nprint(integrate(sqrt(x), (x, 1, 4)))`",
        "``\nimport numpy as np\nprint(np.mean([1, 2]))\n``",
    ],
)
def test_code_of_several_lines_between_single_backticks(code: str) -> None:
    reading = _read(f"# integrate\n\n{code}\n\nIt prints 5 and should print 4.67\n")
    assert (_first(reading), reading.ask) == ((["5"], ["4.67"]), ())


def test_prose_between_backticks_is_no_code() -> None:
    assert _read("# title\n\n`\nThis is a sentence.\nAnd one more.\n`\n").scripts == ()


@pytest.mark.parametrize(
    ("remark", "right"),
    [
        ("# <--- RESULT IS THE SAME AS BEFORE", []),
        ("<-- this one is off", []),
        ("<== look here", []),
        ("<-- why?", []),
        ("# should have been 7!", ["result: 7|result: 6"]),
    ],
)
def test_a_remark_behind_a_printed_line(remark: str, right: list[str]) -> None:
    output = f"Output:\n```\nresult: 5   {remark}\nresult: 6\n```\n"
    assert _first(_read(f"# same\n\n{SCRIPT}{output}")) == (["result: 5|result: 6"], right)


ERROR = (
    "```python\nimport torch\ntorch.ones(2).foo()\n```\n\n"
    "```\nAttributeError: 'C' object has no attribute 'y'\n```\n\n"
)


@pytest.mark.parametrize(
    ("words", "right"),
    [
        ("I expected to see `AttributeError: Message` like above.", ["AttributeError: Message"]),
        ("It should be `AttributeError: Message`.", ["AttributeError: Message"]),
        ("Expected: AttributeError: Message", ["AttributeError: Message"]),
        ("Expected behavior:\n\n```\nAttributeError: Message\n```", ["AttributeError: Message"]),
        ("The right error would be `AttributeError: Message`.", ["AttributeError: Message"]),
        ("Erwartet: `AttributeError: Message`", ["AttributeError: Message"]),
        ("I don't expect `ValueError: Message` here.", []),
    ],
)
def test_the_right_error_in_full(words: str, right: list[str]) -> None:
    seen = ["AttributeError: 'C' object has no attribute 'y'"]
    assert _first(_read(f"# wrong error\n\n{ERROR}{words}\n")) == (seen, right)


@pytest.mark.parametrize(
    ("code", "added"),
    [
        (
            "```\n>>> integrate(sqrt(2 - x), (x, 0, 1))\n-1\n```\n",
            "from sympy import *; x, y, z, t = symbols('x y z t')",
        ),
        (
            "```\n>>> x = symbols('x')\n>>> integrate(sqrt(2 - x), (x, 0, 1))\n-1\n```\n",
            "from sympy import *",
        ),
        (
            "```python\na, b = symbols('a b')\nprint(solve(a - b, a))\n```\nprints `[]`\n",
            "from sympy import *",
        ),
        ("```\nIn [1]: %pylab\nIn [2]: mean(array([1, 2]))\nOut[2]: 1.0\n```\n", "from pylab import *"),
        (
            "```python\nprint(parse_shape(np.zeros(3), 'b'))\n```\nprints `{}`\n",
            "from einops import parse_shape",
        ),
        ("```python\nprint(Fraction(1, 2))\n```\nprints `0`\n", "from fractions import Fraction"),
    ],
)
def test_names_that_a_shell_brings(code: str, added: str) -> None:
    reading = _read(f"# wrong\n\n{code}")
    assert reading.ask == ()
    assert f"Added: {added}" in {repair.detail for repair in reading.scripts[0].repairs}


@pytest.mark.parametrize("code", ["frobnicate(1, 2)", "solve(1, 2)", "print(integrate(frobnicate(x)))"])
def test_names_that_no_shell_brings(code: str) -> None:
    assert [ask.code for ask in _read(f"# wrong\n\n```python\n{code}\n```\n\nI get 3.\n").ask] == [
        "undefined_name"
    ]


@pytest.mark.parametrize(
    ("code", "output", "is_shown"),
    [
        ("print('start')\na = np.array([1, 2])\na.mean()", "start\n1.0", True),
        ("print('start')\nnp.array([1])", "start\narray([1])", True),
        ("print('start')\na = 3\na", "start\n3", True),
        (
            "print(np.ones(2))\na = [1]\na  # <-- fails here",
            "TypeError: boolean value of NA is ambiguous",
            True,
        ),
        ("print(np.ones(2))\nnp.zeros(2).fill(3)", "[1. 1.]", False),
        ("print('a')\nprint('b')", "a\nb", False),
    ],
)
def test_the_last_value_of_code_that_prints(code: str, output: str, is_shown: bool) -> None:  # noqa: FBT001
    reading = _read(f"# cell\n\n```python\nimport numpy as np\n{code}\n```\n\nOutput:\n```\n{output}\n```\n")
    assert ("shown_value" in _repairs(reading)) is is_shown


def test_a_value_in_a_comment_below_a_call() -> None:
    code = "import jax\n\ngrad(f)(1)\n# Array([nan, 0.5])\n\ngrad(f)(2)\n# returns 3.0\n"
    reading = _read(f"# grad\n\n```python\nfrom jax import grad\nf = abs\n{code}```\n")
    assert _first(reading)[0] == ["Array([nan, 0.5])|3.0"]
    assert reading.scripts[0].script.count("displayhook") == 2


@pytest.mark.parametrize(
    "words", ["Give `parse_shape` a doubled name and it takes it.", "Print `x` to see it."]
)
def test_an_order_to_the_reader_shows_no_value(words: str) -> None:
    assert _first(_read(f"# shapes\n\n{SCRIPT}{words}\n"))[0] == []
