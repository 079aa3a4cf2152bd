"""Code in the prose of a report: statements without a fence, and the one statement of a sentence."""

from __future__ import annotations

import time

import pytest
from default_limits import read

from app.intake.snippets.displayed_values import DISPLAY
from app.intake.text.bare_statements import fenced_bare_statements


def script_of(text: str) -> str:
    reading = read(text, form="report")
    return reading.scripts[0].script if reading.scripts and not reading.ask else ""


CODE = "x = np.arange(3)\ny = x * 2\nprint(y.sum())"


@pytest.mark.parametrize(
    "text",
    [
        f"numpy 的和不对\n\n请看下面的代码:\n\n{CODE}\n\n结果应该是 7。\n",
        f"Falsche Summe in numpy\n\nDas hier\n{CODE}\nergibt 6 statt 7, und ich weiß nicht warum.\n",
        f"La suma está mal\n\n{CODE}\n\nGracias\n",
        f"# The sum is wrong\n\nI run this:\n\n{CODE}\n\n## Expected behavior\n\nIt should be 7.\n",
        f"# The sum is wrong\n\n{CODE}\n\n# Expected\n\nIt should be 7, and\nx = 3 is no code.\n",
    ],
)
def test_statements_between_prose_are_the_script(text: str) -> None:
    assert script_of(text) == f"import numpy as np; {CODE}\n"


def test_two_parts_with_blank_lines_are_one_script() -> None:
    text = f"numpy 的和不对\n\n{CODE}\n\n\nz = y - 1  # 减一\n\nfor i in z:\n    print(i)\n\n结果不对。\n"
    assert script_of(text) == (
        f"import numpy as np; {CODE}\n\n\nz = y - 1  # 减一\n\nfor i in z:\n    print(i)\n"
    )


@pytest.mark.parametrize(
    "text",
    [
        "The values are\n\nx = 5\ny = 7\n\nand that is wrong.",
        "It printed\n\nloss = tensor(3.)\nacc = tensor(5.)\n\nbut should not.",
        "Here I call\n\nx = load(3)\nprint(x.sum())\n\nof my own module.",
        "- x = np.ones(3)\n- print(x)\n\nare two lines of a list.",
        "np.ones(3)\n\nis what I call.",
        "> x = np.ones(3)\n> print(x)\n\nsomebody said.",
    ],
)
def test_values_lists_and_fragments_are_no_script(text: str) -> None:
    assert fenced_bare_statements(text, fence="~~~~") == text


def test_code_in_a_block_is_preferred() -> None:
    block = "    import numpy as np\n    x = np.ones(4)\n"
    text = f"Wrong sum\n\n{CODE}\n\nis fine, but see this:\n\n{block}"
    assert fenced_bare_statements(text, fence="~~~~") == text


@pytest.mark.parametrize("line", ["x = f(1)\n\n", "x = (\n\n", "for x in y:\n\n", "a = 'b\n", "f(\n"])
def test_long_reports_take_no_time(line: str) -> None:
    begin = time.monotonic()
    fenced_bare_statements(line * 3_000, fence="~~~~")
    assert time.monotonic() - begin < 2


TRACE = '```\n  File "/lib/site-packages/somelib/rules.py", line 3, in f\nValueError: no rule\n```'


@pytest.mark.parametrize(
    ("text", "statement"),
    [
        (f"This line makes it crash.\n`np.sum([1], axis=3)`\n\nThe trace:\n\n{TRACE}", "np.sum([1], axis=3)"),
        (f"See here:\n\n`np.sum([1], axis=3)`\n\n{TRACE}", "np.sum([1], axis=3)"),
        ("`np.sum([1, 2])` returns 4 while it should be 3.", "np.sum([1, 2])"),
        ("With numpy 2 `np.ravel([[1, 2]], 'X')` raises a `TypeError`.", "np.ravel([[1, 2]], 'X')"),
        ("Calling `np.sum([1], 3)` ends in an error: `AxisError: no`.", "np.sum([1], 3)"),
    ],
)
def test_the_one_statement_of_the_prose_is_the_script(text: str, statement: str) -> None:
    assert script_of(f"# sum() is wrong\n\n{text}\n") == f"import numpy as np; {DISPLAY}{statement})\n"


@pytest.mark.parametrize(
    "text",
    [
        f"I use `np.sum` and `np.ones(3)` a lot. Then it fails.\n\n{TRACE}",
        "Please support `np.sum([1], axis='a')`, it would be nice.",
        "`np.sum(x)` returns 4 while it should be 3.",
        "`np.sum(..., 3)` raises a `TypeError`.",
        "A statement such as `np.ones(3)` is no fault.",
    ],
)
def test_a_name_in_the_prose_is_no_script(text: str) -> None:
    assert script_of(f"# sum() is wrong\n\n{text}\n") == ""


@pytest.mark.parametrize(
    "words",
    [
        "It is in `somelib.rules`, I think.\n\n```\nValueError: no rule\n```\n\nsomelib 2.1.0",
        f"The trace:\n\n{TRACE}",
        "```\nUnboundLocalError: local variable 'a' referenced before assignment\n```\n\n" + TRACE,
    ],
)
def test_a_module_that_the_report_names_is_imported(words: str) -> None:
    text = f"# rules crash\n\nThis line crashes.\n`rules.parse('A=;B=1')`\n\n{words}\n"
    expected = f"from somelib import rules; {DISPLAY}rules.parse('A=;B=1'))\n"
    assert script_of(text) == (expected if "site-packages" in words else "")


def test_a_module_of_a_well_known_package_is_imported() -> None:
    text = "# crash in rrule\n\nThis breaks `dateutil.rrule`.\n\n`rrule.rrulestr('FREQ=;A=')`\n\nIt hangs.\n"
    assert script_of(text).startswith("from dateutil import rrule; ")
