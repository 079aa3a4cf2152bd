"""Finds statements that a script itself repeats, in loops of a constant number of rounds."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from app.intake.code.randomness import is_unseeded
from app.intake.code.syntax import tree_of

_MOST = 10**9
_LEAVES = ast.Break | ast.Continue | ast.Return | ast.Raise


def repeats_by_itself(text: str, line: int, rounds: int, *, unseeded: bool) -> bool:
    """Whether the statement on this line runs at least `rounds` times in each run that ends well.

    It stands in a loop at the top of the script, in every round of it. If the script draws without a seed,
    all draws have to be in that loop.
    """
    tree = tree_of(text)
    if tree is None:
        return False
    for loop in tree.body:
        if isinstance(loop, ast.For) and loop.lineno <= line <= (loop.end_lineno or loop.lineno):
            others = ast.Module([each for each in tree.body if each is not loop], [])
            if unseeded and is_unseeded(others):
                return False
            return _times(loop, line) >= rounds
    return False


def _times(loop: ast.For, line: int) -> int:
    """How often the statement runs in the loop. 0 if a round may leave it out."""
    if any(isinstance(node, _LEAVES) for node in ast.walk(loop)):
        return 0
    return _rounds(loop.iter) * _times_in(loop.body, line)


def _times_in(body: Sequence[ast.stmt], line: int) -> int:
    for statement in body:
        if statement.lineno <= line <= (statement.end_lineno or statement.lineno):
            match statement:
                case ast.For():
                    return _times(statement, line)
                case ast.With():
                    return _times_in(statement.body, line)
                case ast.Expr() | ast.Assert() | ast.Assign():
                    return 1
                case _:
                    return 0
    return 0


def _rounds(iterated: ast.expr) -> int:
    """The rounds of a loop over `range` of written numbers; 0 if they are not known."""
    if not isinstance(iterated, ast.Call) or iterated.keywords or not 1 <= len(iterated.args) <= 3:
        return 0
    if not isinstance(iterated.func, ast.Name) or iterated.func.id != "range":
        return 0
    numbers = [each.value for each in iterated.args if isinstance(each, ast.Constant)]
    whole = [each for each in numbers if type(each) is int and abs(each) < _MOST]
    if len(whole) != len(iterated.args) or 0 in whole[2:]:
        return 0
    return len(range(*whole))
