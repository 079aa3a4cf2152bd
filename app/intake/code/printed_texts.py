"""Finds what a script prints as it stands: fixed words, and inputs into which it puts nan itself."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Sequence

from app.intake.code.syntax import dotted_name, nodes_of, normalise, tree_of

_FIELD = re.compile(r"%[-+#0 ]?\d{0,4}(?:\.\d{1,3})?[sdrfgeixa]|\{[^{}]{0,80}\}|\n")
_WRITES = {"print", "write", "info", "debug", "warning", "error", "pprint", "log"}
# Three Chinese characters say as much as nine Latin letters.
_LEAST_BYTES = 6
_MOST_TEXTS = 200
# `tensor([1.0, nan])`, `pd.Series([1, None])`.
_MAKES = {"array", "asarray", "tensor", "as_tensor", "Tensor", "Series", "DataFrame"}


def printed_texts(codes: Iterable[str]) -> tuple[str, ...]:
    """The fixed words, each of at least six bytes with a letter, in the calls that print."""
    texts: dict[str, None] = {}
    for code in codes:
        tree = tree_of(normalise(code))
        for node in nodes_of(tree) if tree else ():
            if (
                isinstance(node, ast.Call)
                and dotted_name(node.func)[-1:]
                and dotted_name(node.func)[-1] in _WRITES
            ):
                for part in _strings(node):
                    texts.update(dict.fromkeys(piece.strip() for piece in _FIELD.split(part)))
    long = [text for text in texts if len(text.encode()) >= _LEAST_BYTES and any(map(str.isalpha, text))]
    return tuple(long[:_MOST_TEXTS])


def is_print_of(line: str, texts: Sequence[str]) -> bool:
    """True if a line holds fixed words of a print, and something beside them."""
    return any(text in line and line.strip() != text for text in texts)


def _strings(call: ast.Call) -> list[str]:
    return [
        node.value
        for argument in call.args
        for node in ast.walk(argument)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    ]


def prints_of_inputs(script: str) -> tuple[bool, ...]:
    """For each print: whether it shows an input into which the script put nan, and with which it did nothing.

    Empty if prints stand in loops or functions, or show several values.
    """
    tree = tree_of(script)
    statements = tree.body if tree else []
    prints = [value for each in statements if (value := _printed_value(each)) is not None]
    calls = [node for node in nodes_of(tree) if _is_print(node)] if tree else []
    if len(calls) != len(prints):
        return ()
    are_inputs: list[bool] = []
    fresh: set[str] = set()
    for statement in statements:
        value = _printed_value(statement)
        is_input = isinstance(value, ast.Name) and value.id in fresh
        if value is not None:
            are_inputs.append(is_input)
        if name := _gets_nan(statement):
            fresh.add(name)
        elif not is_input:
            fresh -= {node.id for node in nodes_of(statement) if isinstance(node, ast.Name)}
    return tuple(are_inputs)


def _is_print(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "print"


def _printed_value(statement: ast.stmt) -> ast.expr | None:
    call = statement.value if isinstance(statement, ast.Expr) else None
    is_plain = isinstance(call, ast.Call) and _is_print(call) and len(call.args) == 1 and not call.keywords
    return call.args[0] if is_plain and isinstance(call, ast.Call) else None


def _gets_nan(statement: ast.stmt) -> str:
    """The name of `x` in `x[2] = nan` and `x = array([nan, 1.0])`; empty for other statements."""
    if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
        return ""
    target, value = statement.targets[0], statement.value
    if not any(map(_is_nan, nodes_of(value))):
        return ""
    if isinstance(target, ast.Subscript) and isinstance(target.value, ast.Name):
        return target.value.id
    makes = isinstance(value, ast.Call) and dotted_name(value.func)[-1:]
    return target.id if isinstance(target, ast.Name) and makes and makes[0] in _MAKES else ""


def _is_nan(node: ast.AST) -> bool:
    name = getattr(node, "attr", None) or getattr(node, "id", None) or getattr(node, "value", None)
    return isinstance(name, str) and name.lower() == "nan"
