"""The line of the script that a check is about: found from tracebacks, comments and names of calls."""

from __future__ import annotations

import ast

import pytest

from app.intake.claim.claims import Role
from app.intake.code.points import points_on
from app.intake.read import read
from app.limits import NO_READ_LIMITS
from worker.contract.passage import PassagePoint


def anchor(report: str, form: str = "report") -> tuple[int | None, tuple[int, ...]]:
    """The anchor of the report's first bug, and the lines that lead there."""
    bug = read(report, limits=NO_READ_LIMITS, form=form).claim.having(Role.BUG)[0]  # type: ignore[arg-type]
    return bug.at, bug.through


def report(script: str, traceback: str) -> str:
    return f"# it fails\n\n```python\n{script}\n```\n\nError:\n\n```\n{traceback}\n```\n"


PLAIN = """Traceback (most recent call last):
  File "/home/me/repro.py", line 4, in <module>
    print(json.loads(text))
          ^^^^^^^^^^^^^^^^
  File "/usr/lib/python3.11/json/__init__.py", line 346, in loads
    return _default_decoder.decode(s)
json.decoder.JSONDecodeError: Expecting value: line 1 column 1 (char 0)"""
SCRIPT = "import json\n\ntext = ''\nprint(json.loads(text))"


def test_the_line_that_a_traceback_quotes_is_the_anchor() -> None:
    assert anchor(report(SCRIPT, PLAIN)) == (4, ())
    assert anchor(report(SCRIPT, PLAIN.replace("/home/me/repro.py", "<stdin>"))) == (4, ())
    # In the reporter's file it was another line.
    assert anchor(report("# A comment.\n" + SCRIPT, PLAIN)) == (5, ())
    quoted = "\n".join(f"> {line}" for line in PLAIN.split("\n"))
    assert anchor(f"# it fails\n\n```python\n{SCRIPT}\n```\n\n{quoted}\n") == (4, ())


def test_a_line_that_is_there_twice_or_nowhere_is_no_anchor() -> None:
    twice = SCRIPT.replace("text = ''", "text = ''\nprint(json.loads(text))")
    assert anchor(report(twice, PLAIN)) == (None, ())
    assert anchor(report(SCRIPT.replace("print(json.loads(text))", "json.load(text)"), PLAIN)) == (None, ())


def test_every_frame_of_the_script_counts() -> None:
    script = "def check(text):\n    return int(text)\n\ncheck('1')\ncheck('x')"
    failure = (
        "Traceback (most recent call last):\n"
        "  File \"a.py\", line 5, in <module>\n    check('x')\n"
        '  File "a.py", line 2, in check\n    return int(text)\n'
        "ValueError: invalid literal for int() with base 10: 'x'"
    )
    assert anchor(report(script, failure)) == (2, (5,))
    # The body of a compiled function can't be observed, its call can.
    compiled = script.replace("def check", "import torch\n@torch.compile\ndef check")
    assert anchor(report(compiled, failure)) == (7, ())


def test_a_frame_of_a_notebook_is_an_anchor() -> None:
    failure = (
        "JSONDecodeError                           Traceback (most recent call last)\n"
        "Cell In[1], line 4\n      1 import json\n      3 text = ''\n----> 4 print(json.loads(text))\n\n"
        "File /usr/lib/python3.11/json/__init__.py:346, in loads(s, cls)\n    345     pass\n"
        "--> 346     return _default_decoder.decode(s)\n\n"
        "JSONDecodeError: Expecting value: line 1 column 1 (char 0)"
    )
    assert anchor(report(SCRIPT, failure)) == (4, ())
    old = failure.replace("Cell In[1], line 4", "<ipython-input-1-0a1b2c> in <module>()")
    assert anchor(report(SCRIPT, old)) == (4, ())


def test_the_function_that_a_traceback_names_is_an_anchor() -> None:
    failure = (
        'Traceback (most recent call last):\n  File "/usr/lib/json/site-packages/a.py", line 3, in loads\n'
        "    return _default_decoder.decode(s)\n"
        "json.decoder.JSONDecodeError: Expecting value: line 1 column 1 (char 0)"
    )
    assert anchor(report(SCRIPT, failure)) == (4, ())
    assert anchor(report(SCRIPT + "\njson.loads('1')", failure)) == (None, ())


def test_the_statement_beside_a_comment_is_an_anchor() -> None:
    script = "print(1 + 1)\nprint(hash('a'))  # 3, should be 4\n"
    assert anchor(f"# wrong\n\n```python\n{script}```\n") == (2, ())


def test_the_only_print_is_an_anchor_of_an_output() -> None:
    assert anchor("# Claim: prints 3\nx = 1\nprint(x + 1)\n", "script") == (3, ())
    assert anchor("# Claim: prints 3\nx = 1\nprint(x + 1)\nprint(x)\n", "script") == (None, ())


def points(script: str, line: int) -> tuple[PassagePoint, ...]:
    return points_on(ast.parse(script), line)


@pytest.mark.parametrize(
    ("script", "line", "spans", "calls"),
    [
        ("f()", 1, [(1, 0, 1, 3)], []),
        ("f(1,\n  2)", 2, [(1, 0, 2, 4)], []),
        ("print(False and f())", 1, [(1, 0, 1, 20)], [(1, 16, 1, 19)]),
        ("x = [f(y) for y in g()]", 1, [(1, 0, 1, 23)], [(1, 5, 1, 9)]),
        ("assert f(), g()", 1, [(1, 0, 1, 15)], []),
        ("if x: f()", 1, [(1, 3, 1, 4), (1, 6, 1, 9)], [(1, 6, 1, 9)]),
        # The condition stands for what only reports the failure.
        ("if f():\n    raise ValueError(g())", 2, [(1, 3, 1, 6)], []),
        ("try:\n    f()\nexcept E:\n    raise", 4, [], []),
        ("def f():\n    pass", 1, [], []),
        ("x = 1\n\ny = 2", 2, [], []),
    ],
)
def test_points(script: str, line: int, spans: list[tuple[int, ...]], calls: list[tuple[int, ...]]) -> None:
    found = points(script, line)
    assert [point.span for point in found] == spans
    assert [call for point in found for call in point.calls] == calls


def test_a_point_names_its_code() -> None:
    script = "def f():\n    def g():\n        h()\n    g()\nclass A:\n    x = 1"
    names = [points(script, line)[0].code for line in (3, 4, 6)]
    assert names == ["g", "f", "A"]


def loose(words: str, script: str) -> set[bool]:
    claim = read(f"{words}\n\n```python\n{script}\n```\n", form="report", limits=NO_READ_LIMITS).claim
    return {check.loose for check in claim.having(Role.BUG)}


@pytest.mark.parametrize(
    ("words", "script"),
    [
        ("TypeError: unsupported operand type(s) for |: 'dict' and 'dict'", "print({1: 2} | {3: 4})"),
        ("Slicing too far gives nothing. Expected an IndexError, but no error is raised.", "print([1][5:9])"),
        ("it gets killed, RAM is full at once", "x = bytearray(9)\nprint(x)"),
        ("My script hangs for ever.", "x = bytearray(9)\nprint(x)"),
        ("RuntimeError: the loop never ends", "for n in range(3):\n    print(n)"),
    ],
)
def test_a_word_for_what_the_script_does_ties_a_failure_to_it(words: str, script: str) -> None:
    assert loose(words, script) == {False}


@pytest.mark.parametrize(
    "words",
    [
        "TypeError: unsupported operand type(s) for |: 'dict' and 'dict'",
        "OSError: no space left on device",
        "RuntimeError: the loop never ends",
    ],
)
def test_a_failure_without_a_word_of_the_script_is_loose(words: str) -> None:
    assert loose(words, "print(sum([1, 2]))") == {True}
