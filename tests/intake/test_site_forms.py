"""Code as other sites show it, as Python 2 has it, and with a slip."""

from __future__ import annotations

import pytest
from default_limits import read

from app.intake.reading import Reading


def report(text: str) -> Reading:
    return read(f"# floor is wrong\n\n{text}\n\nprints `3`, but it should be `4`\n", form="report")


NOTEBOOK = (
    '```json\n{"cells": [{"cell_type": "markdown", "source": ["# a"]}, {"cell_type": "code", "source":'
    ' ["import math\\n", "print(math.floor(3.5))"]}], "nbformat": 4}\n```'
)
CODE = "import math\nprint(math.floor(3.5))"


@pytest.mark.parametrize(
    "text",
    [
        f"{{{{{{\n#!python\n{CODE}\n}}}}}}",
        f"{{{{{{\n{CODE}\n}}}}}}",
        f"{{code:python}}\n{CODE}\n{{code}}",
        f"{{code:title=a.py|borderStyle=solid}}\n{CODE}\n{{code}}",
        f"{{noformat}}\n{CODE}\n{{noformat}}",
        f"[code=python]\n{CODE}\n[/code]",
        f"[CODE]{CODE}[/CODE]",
        f"[10:32] anna: ```{CODE}```",
        "import math<br>\nprint(math.floor(3.5))<br/>",
        NOTEBOOK,
    ],
)
def test_marks_of_other_sites_are_fences(text: str) -> None:
    assert report(text).scripts[0].script.strip() == CODE


@pytest.mark.parametrize(
    "text",
    [
        "```python\nx = {code}\n{code}\n```",
        "{code:java}\nint a = 3;\n{code}",
        "{{{\nnever closed",
        '```json\n{"cells": 3, "cell_type": "code"}\n```',
    ],
)
def test_other_braces_stay(text: str) -> None:
    assert not any("floor" in each.script for each in report(text).scripts)
    assert report(text).ask


@pytest.mark.parametrize(
    ("code", "new", "repair"),
    [
        (
            "try:\n    int('a')\nexcept ValueError, e:\n    print(e)",
            "except ValueError as e:",
            "python2_syntax",
        ),
        ("a = 0777\nprint(a <> 3)", "a = 0o777\nprint(a != 3)", "python2_syntax"),
        ("a = 7\nprint `a`, 5L", "repr(a), 5)", "python2_syntax"),
        ("for i in xrange(3):\n    print i", "xrange = range; for", "missing_import"),
        ("import math\nprint(math.floor(3.5)", "print(math.floor(3.5))", "missing_bracket"),
        ("import math\nprint(math.floor(3.5)))", "print(math.floor(3.5))\n", "missing_bracket"),
        ("for i in [1, 2]:\nprint(i)", "    print(i)", "indent_of_lines"),
        ("x = 1\n y = x\nprint(y)", "x = 1\ny = x\nprint(y)", "indent_of_lines"),
        ("def f(x):\n    y = x\n   return y\nprint(f(3))", "    return y", "indent_of_lines"),
    ],
)
def test_a_slip_is_mended_by_a_named_repair(code: str, new: str, repair: str) -> None:
    script = report(f"```python\n{code}\n```").scripts[0]
    if new.startswith("xrange"):
        assert script.script.startswith("xrange = range\n")
    else:
        assert new in script.script
    assert repair in [each.code for each in script.repairs]


@pytest.mark.parametrize(
    "code",
    [
        # Nobody knows how many lines belong to the loop, or the rest of a call.
        "for i in [1, 2]:\nprint(i)\nprint(3)",
        "import math\ny = math.hypot(3,",
        "import math\ny = math.hypot((3, 4",
    ],
)
def test_an_unclear_slip_is_asked_for(code: str) -> None:
    assert [each.code for each in report(f"```python\n{code}\n```").ask] == ["no_python"]


def test_numbers_and_strings_are_no_old_syntax() -> None:
    code = "a = [9.5e+08, 1e+00]  # <> 077\nprint '<>', a, \"except E, e:\""
    assert (
        "1e+00]  # <> 077\nprint('<>', a, \"except E, e:\")"
        in report(f"```python\n{code}\n```").scripts[0].script
    )


def test_a_claimed_syntax_error_is_not_mended() -> None:
    code = "```python\nimport math\nprint(math.floor(3.5)\n```"
    reading = read(f"# SyntaxError\n\n{code}\n\nraises SyntaxError: '(' was never closed\n", form="report")
    assert not any("missing_bracket" in [each.code for each in script.repairs] for script in reading.scripts)
