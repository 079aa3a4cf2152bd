"""Lets a script print what it gives to a call, where the report says that it comes back unchanged."""

from __future__ import annotations

import ast

from app.intake.code.syntax import parses, tree_of
from app.intake.reading import Repair

# Attributes between an object and its method, as in `s.str.upper()`.
_ACCESSORS = frozenset(("str", "dt", "cat", "values"))


def input_of_print(main: str) -> str:
    """The object that the only print of a script shows as changed by one call: `a` of `print(np.flip(a))`.

    Empty if it is not clear which one that is.
    """
    statement = _only_print(tree_of(main) if main.count("print(") == 1 else None)
    call = statement.value.args[0] if statement and isinstance(statement.value, ast.Call) else None
    if statement is None or not isinstance(call, ast.Call):
        return ""
    values = _names_of_values(tree_of(main))
    receiver = call.func.value if isinstance(call.func, ast.Attribute) else None
    if isinstance(receiver, ast.Attribute) and receiver.attr in _ACCESSORS:
        receiver = receiver.value
    given = [receiver] if isinstance(receiver, ast.Name) and receiver.id in values else call.args[:1]
    names = [each.id for each in given if isinstance(each, ast.Name) and each.id in values]
    return names[0] if names else ""


def with_printed_input(text: str) -> tuple[str, tuple[Repair, ...]]:
    """The script that prints that object, too, right before its only print."""
    name = input_of_print(text)
    statement = _only_print(tree_of(text)) if name else None
    if statement is None:
        return text, ()
    lines = text.split("\n")
    lines[statement.lineno - 1] = f"print({name}); {lines[statement.lineno - 1]}"
    result = "\n".join(lines)
    if not parses(result):
        return text, ()
    detail = f"Made it print {name} as well, which is said to come back unchanged."
    return result, (Repair(code="shown_value", detail=detail, line=statement.lineno),)


def _only_print(tree: ast.Module | None) -> ast.Expr | None:
    """The last statement, if it is a call of print with one argument."""
    last = tree.body[-1] if tree is not None and tree.body else None
    if not isinstance(last, ast.Expr) or not isinstance(last.value, ast.Call):
        return None
    call = last.value
    is_print = isinstance(call.func, ast.Name) and call.func.id == "print"
    return last if is_print and len(call.args) == 1 and not call.keywords and not last.col_offset else None


def _names_of_values(tree: ast.Module | None) -> set[str]:
    """The names that the top level assigns."""
    return {
        target.id
        for statement in (tree.body if tree is not None else ())
        if isinstance(statement, ast.Assign)
        for target in statement.targets
        if isinstance(target, ast.Name)
    }
