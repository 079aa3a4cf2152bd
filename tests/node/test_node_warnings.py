"""Warnings are noted as values, and the script can't tell."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from worker.contract import CapturedWarning, Result
from worker.contract.observation import MOST_WARNING_TEXT, MOST_WARNINGS
from worker.observation.harness_report import read_report

Execute = Callable[..., Result]

# Each line that prints shows what the script can see of its own warnings.
WARNS = """
import inspect, logging, traceback, warnings
filters = list(warnings.filters)
def old():
    warnings.warn("old() is deprecated", DeprecationWarning, stacklevel=2)
for _ in range(3):
    old()
with warnings.catch_warnings(record=True) as held:
    warnings.simplefilter("always")
    for _ in range(2):
        warnings.warn("held", FutureWarning)
print([str(each.message) for each in held], filters == warnings.filters)
class Loud(UserWarning):
    def __str__(self):
        print("asked")
        return "mine"
def show(message, category, filename, lineno, file=None, line=None):
    names = [frame.name for frame in traceback.extract_stack()]
    print(names, warnings.formatwarning("x", category, filename, lineno))
warnings.showwarning = show
warnings.warn(Loud())
warnings.warn("ignored", ImportWarning)
print(inspect.signature(warnings.WarningMessage.__init__), warnings.WarningMessage.__init__)
"""


@pytest.mark.sandbox
def test_warnings_are_noted_and_the_script_sees_nothing_of_it(execute: Execute) -> None:
    seen = execute(WARNS).observation
    noted = [
        (each.category, each.base, each.text, each.line, each.script_line, each.count)
        for each in seen.warnings or []
    ]
    assert noted == [
        ("DeprecationWarning", "DeprecationWarning", "old() is deprecated", 7, 5, 1),
        ("FutureWarning", "FutureWarning", "held", 11, 11, 2),
        ("Loud", "UserWarning", "", 21, 21, 1),
    ]
    assert seen.stderr.startswith("/home/u/script.py:7: DeprecationWarning: old() is deprecated\n  old()\n")
    lines = seen.stdout.splitlines()
    assert lines[0] == "['held', 'held'] True"
    # Python asks for the text once; no frame of ours is on the stack.
    assert lines[1:3] == ["asked", "['<module>', '_showwarnmsg', 'show'] /home/u/script.py:21: Loud: x"]
    assert "(self, message, category, filename, lineno, file=None, line=None, source=None)" in lines[-1]
    assert "samehere" not in lines[-1]


@pytest.mark.sandbox
def test_many_warnings_are_limited_and_counted(execute: Execute) -> None:
    script = "import warnings\nfor n in range(100):\n    warnings.warn('x' * 5000 + str(n))\n"
    script += "warnings.simplefilter('always')\nfor n in range(7):\n    warnings.warn(str(n))\n"
    seen = execute(script).observation
    assert seen.warnings is not None
    assert [len(each.text) for each in seen.warnings[:1]] == [MOST_WARNING_TEXT]
    # Those that are equal after the cut are one.
    assert [each.count for each in seen.warnings] == [100, *[1] * 7]
    many = "import warnings\nfor n in range(100):\n    warnings.warn(str(n))\n"
    seen = execute(many).observation
    assert (len(seen.warnings or []), seen.warnings_omitted) == (MOST_WARNINGS, 100 - MOST_WARNINGS)


@pytest.mark.sandbox
def test_without_the_module_or_an_orderly_end_nothing_is_noted(execute: Execute) -> None:
    assert execute("import warnings\n").observation.warnings == []
    assert execute("import os, warnings\nwarnings.warn('x')\nos._exit(0)\n").observation.warnings is None


def test_a_forged_report_of_warnings_is_limited() -> None:
    warning = {"kind": "warning", "category": "A", "text": "t\0" * 10**6, "count": 2, "line": 3}
    broken = ({"line": -1}, {"count": "many"}, {"script_line": 2**40}, {"category": 1}, {"category": None})
    lines = [warning] * 500 + [{**warning, **each} for each in broken]
    read = read_report(b"\n".join(json.dumps(line).encode() for line in lines))
    assert read.warnings is not None
    assert len(read.warnings) == MOST_WARNINGS
    assert {len(each.text) for each in read.warnings} == {MOST_WARNING_TEXT}
    for each in broken:
        assert read_report(json.dumps({**warning, **each}).encode()).warnings == []
    assert read_report(b"").warnings is None
    assert read_report(b'{"kind": "warnings", "omitted": -4}').warnings_omitted == 0
    assert CapturedWarning.model_validate({"category": "A"}).count == 1
