"""Finds out from printed text whether a statement was passed: something after it can only then be printed."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence

from app.intake.code.points import MODULE
from app.intake.code.syntax import dotted_name, nodes_of
from worker.contract.passage import PassagePoint

# Names of functions that write to stdout.
_WRITES = {"print", "pprint", "write", "writelines", "display", "system", "run", "call"}
_SIMPLE = ast.Expr | ast.Assign | ast.AugAssign | ast.AnnAssign | ast.Assert | ast.Delete
# A shorter text may come from anywhere.
_LEAST_TEXT = 4


def shows_passage(tree: ast.Module, points: Sequence[PassagePoint], printed: Iterable[str]) -> bool:
    """Whether each of these outputs shows that all points were executed and left normally.

    Only for statements that stand by themselves: nothing around them swallows an exception or leaves them
    out. `printed` are the outputs of attempts that completed.
    """
    indexes = [_index(tree, point) for point in points]
    if not indexes or None in indexes:
        return False
    last = max(index for index in indexes if index is not None)
    texts = _texts_from(tree, last)
    prints_nothing_before = not any(_writes(node) for node in tree.body[:last]) and any(
        _is_print(node) for node in tree.body[last:]
    )
    outputs = list(printed)
    return bool(outputs) and all(
        any(text in output for text in texts) or (prints_nothing_before and output.strip() != "")
        for output in outputs
    )


def _index(tree: ast.Module, point: PassagePoint) -> int | None:
    """The place of a statement in the module, if it stands by itself and all of it is always executed."""
    if point.code != MODULE or point.calls or not point.alone:
        return None
    return next(
        (
            index
            for index, node in enumerate(tree.body)
            if isinstance(node, _SIMPLE)
            and (node.lineno, node.col_offset, node.end_lineno, node.end_col_offset) == point.span
        ),
        None,
    )


def _texts_from(tree: ast.Module, index: int) -> list[str]:
    """The texts that only a print from this statement on begins with."""
    texts = [text for node in tree.body[index:] if (text := _first_text(node)) is not None]
    constants = [
        node.value
        for node in nodes_of(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    ]
    return [text for text in texts if sum(text in constant for constant in constants) == 1]


def _first_text(node: ast.stmt) -> str | None:
    if not _is_print(node):
        return None
    call = node.value if isinstance(node, ast.Expr) else None
    first = call.args[0] if isinstance(call, ast.Call) and call.args else None
    if isinstance(first, ast.JoinedStr) and first.values:
        first = first.values[0]
    text = first.value if isinstance(first, ast.Constant) and isinstance(first.value, str) else ""
    line = text.strip().split("\n")[0].strip()
    return line if len(line) >= _LEAST_TEXT else None


def _is_print(node: ast.stmt) -> bool:
    """Whether it is a statement that prints to stdout, whatever happens."""
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Call)
        and dotted_name(node.value.func) == ("print",)
        and not any(keyword.arg == "file" for keyword in node.value.keywords)
    )


def _writes(statement: ast.stmt) -> bool:
    """Whether a statement may write to stdout, or hold code that does."""
    return any(
        isinstance(node, ast.Call) and not _WRITES.isdisjoint(dotted_name(node.func)[-1:])
        for node in ast.walk(statement)
    )
