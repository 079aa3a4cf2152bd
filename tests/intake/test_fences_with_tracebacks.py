"""Code and its traceback in one fence, whatever stands between them and above them."""

from __future__ import annotations

import pytest
from default_limits import read

from app.intake.claim.claims import CheckKind, Role
from app.intake.reading import Reading

CODE = "import math\nn = 5\nprint(math.lcm(n, 3))"
FRAME = '  File "/home/u/a.py", line 3, in <module>\n    print(math.lcm(n, 3))'
ERROR = "AttributeError: module 'math' has no attribute 'lcm'"
TRACEBACK = f"Traceback (most recent call last):\n{FRAME}\n{ERROR}"


def report(fence: str, above: str = "It fails:") -> Reading:
    return read(f"# math has no lcm\n\n{above}\n\n```python\n{fence}\n```\n\nPython 3.8\n", form="report")


def is_read(reading: Reading) -> bool:
    bugs = reading.claim.having(Role.BUG)
    told = [(bug.kind, bug.exception_type, bug.at) for bug in bugs]
    return told == [(CheckKind.EXCEPTION, "AttributeError", 3)] and reading.scripts[0].script == f"{CODE}\n"


@pytest.mark.parametrize(
    "fence",
    [
        f"{CODE}\n-----------\n{TRACEBACK}",
        f"{CODE}\n\n$ python3 a.py\n{TRACEBACK}",
        f"{CODE}\n\n\n" + "\n".join(f"    {line}" for line in TRACEBACK.split("\n")),
        f"{TRACEBACK}\n\n{CODE}",
        f"{CODE}\nOutput:\n{TRACEBACK}",
    ],
)
def test_something_stands_between_code_and_traceback(fence: str) -> None:
    assert is_read(report(fence))


def test_the_head_of_a_traceback_is_cut_off() -> None:
    reading = report(f"{CODE}\n{FRAME}\n{ERROR}")
    (bug,) = reading.claim.having(Role.BUG)
    assert (bug.exception_type, reading.scripts[0].script) == ("AttributeError", f"{CODE}\n")


@pytest.mark.parametrize(
    "above",
    [
        "The manual lists it, python can't find it:",
        "See the docs: https://example.org/math",
        "According to the documentation this returns 15.",
        "Since 3.9 the docs have it:",
        "My docstring promises 15:",
    ],
)
def test_a_traceback_below_its_code_is_no_quotation(above: str) -> None:
    assert is_read(report(f"{CODE}\n{TRACEBACK}", above))


def test_quoted_values_and_examples_of_the_documentation_stay_quotations() -> None:
    # A value below the code may be the one that the documentation shows.
    value = report(f"{CODE}\n15", "According to the documentation this returns")
    assert not any(check.lines == ("15",) for check in value.claim.having(Role.BUG))
    other = read(
        f"# lcm is wrong\n\n```python\n{CODE}\n```\n\nIt prints\n\n```\n16\n```\n\n"
        "The docs show an example:\n\n"
        f"```python\nmath.lcm(1.5)\n{TRACEBACK}\n```\n",
        form="report",
    )
    assert [check.lines for check in other.claim.having(Role.BUG)] == [("16",)]


@pytest.mark.parametrize(
    "shown",
    [
        "t.py::test_a\n  /x/lib/main.py:7: UserWarning: Warnings:\n    No tag of `A`:\n    return self.dump(",
        "/x/lib/site-packages/lib/main.py:7: UserWarning: the tag is lost\n  with warnings.catch_warnings():",
    ],
)
def test_a_warning_in_a_fence_of_python_is_an_output(shown: str) -> None:
    reading = read(
        "# New UserWarning\n\n```python\nimport lib\nlib.dump()\n```\n\nMy tests warn since 2.9:\n\n"
        f"```python\n{shown}\n```\n",
        form="report",
    )
    assert [bug.exception_type for bug in reading.claim.having(Role.BUG)] == ["UserWarning"]


def test_a_string_below_the_code_shows_its_output() -> None:
    code = 'import lib\nprint(lib.sql())\n\n\n"""\n/generated output:\nSELECT\n  *\nFROM [t]\n"""'
    reading = read(f"# lib changes the SQL\n\n```\n{code}\n```\n\nThat is wrong.\n", form="report")
    assert reading.claim.having(Role.BUG)[0].lines == ("SELECT", "*", "FROM [t]")


def test_the_message_of_a_warning_may_begin_with_a_warning() -> None:
    shown = ">>> lib.f(1)\nUserWarning: Warning: converting a masked element.\nnan"
    reading = read(f"# f warns\n\n```python\n{shown}\n```\n", form="report")
    (bug,) = reading.claim.having(Role.BUG)
    assert (bug.exception_type, bug.message) == ("UserWarning", "Warning: converting a masked element.")


@pytest.mark.parametrize(
    "block",
    [
        "LIB_MAX_THREADS=2 python t.py",
        "LIB_DEBUG=1 OTHER_MODE=x python3 t.py --fast",
        'FROM debian:12 as build\nRUN python -c "import lib; print(lib.f(1))"',
    ],
)
def test_commands_and_container_files_are_no_output(block: str) -> None:
    text = (
        "# f is wrong\n\n```python\nimport lib\nprint(lib.f(1))\n```\n\nstarted by\n"
        f"```\n{block}\n```\n\nOutput:\n```\n7\n```\n"
    )
    reading = read(text, form="report")
    assert [bug.lines for bug in reading.claim.having(Role.BUG)] == [("7",)]
    assert not reading.claim.further
