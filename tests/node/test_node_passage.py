"""Whether a statement was executed and left normally, as the harness saw it in a real sandbox."""

from __future__ import annotations

import ast
from collections.abc import Callable

import pytest

from app.intake.code.points import points_on
from worker.contract import Outcome, Result

Execute = Callable[..., Result]

SWALLOWED = "try:\n    int('x')\nexcept ValueError:\n    pass\n"
SHORT_CIRCUIT = "def f():\n    return 1\nprint(False and f())\n"
NEVER_TAKEN = "import sys\nif sys.argv[9:]:\n    print(1)\n"
ONE_LINE_BRANCH = "import sys\nif sys.argv[9:]: print(1)\n"
LOOP = "for text in ('1', '2'):\n    int(text)\n"
LATE_IN_A_LOOP = "for text in ('1', '2', 'x'):\n    try:\n        int(text)\n    except ValueError: pass\n"
THREAD = """import threading
def work():
    int('1')
thread = threading.Thread(target=work)
thread.start()
thread.join()
"""
FORK = """import os
def work():
    int('1')
if os.fork() == 0:
    work()
    os._exit(0)
os.wait()
"""
SPAWN = """import multiprocessing
def work():
    int('1')
if __name__ == '__main__':
    process = multiprocessing.get_context('spawn').Process(target=work)
    process.start()
    process.join()
"""
SEVERAL_LINES = "x = max(\n    int('1'),\n    int('2'),\n)\n"
FAILS_LATE = "try:\n    max(\n        int('1'),\n        int('x'),\n    )\nexcept ValueError: pass\n"
EMPTY_COMPREHENSION = "x = [int(y) for y in ()]\n"
COMPREHENSION = "x = [int(y) for y in ('1',)]\n"
BOTH = "def f():\n    return 1\nx = 1\nprint(x and f())\n"
ITERATES = "def numbers():\n    yield 1\nfor x in numbers(): pass\nx = list(numbers())\n"


@pytest.mark.parametrize(
    ("script", "line", "states"),
    [
        (SWALLOWED, 2, ["raised"]),
        (SHORT_CIRCUIT, 3, ["not_reached"]),
        (BOTH, 4, ["passed"]),
        (NEVER_TAKEN, 3, ["not_reached"]),
        (ONE_LINE_BRANCH, 2, ["passed", "not_reached"]),
        (LOOP, 2, ["passed"]),
        (LOOP, 1, ["passed"]),
        (LATE_IN_A_LOOP, 3, ["raised"]),
        (THREAD, 3, ["passed"]),
        (FORK, 3, ["passed"]),
        (SPAWN, 3, ["not_reached"]),
        (SEVERAL_LINES, 1, ["passed"]),
        (FAILS_LATE, 2, ["raised"]),
        (EMPTY_COMPREHENSION, 1, ["not_reached"]),
        (COMPREHENSION, 1, ["passed"]),
        (ITERATES, 4, ["passed"]),
    ],
)
def test_the_state_of_a_point(execute: Execute, script: str, line: int, states: list[str]) -> None:
    points = list(points_on(ast.parse(script), line))
    result = execute(script, passage=points)
    assert result.outcome is Outcome.COMPLETED, result.observation.stderr
    assert result.observation.passage is not None
    assert [point.state for point in result.observation.passage] == states


def test_an_uncaught_exception_goes_through_its_statement(execute: Execute) -> None:
    result = execute("int('x')\n", passage=list(points_on(ast.parse("int('x')"), 1)))
    assert result.outcome is Outcome.RAISED
    assert [point.state for point in result.observation.passage or ()] == ["raised"]


def test_without_points_nothing_is_observed(execute: Execute) -> None:
    result = execute("import sys\nprint(sys.gettrace())\n")
    assert result.observation.passage is None
    assert result.observation.stdout == "None\n"
