"""Finds blocks that could be parsed as code, but show an object below a caption such as `Output:`."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from dataclasses import replace

from app.intake.code.syntax import nodes_of, tree_of
from app.intake.layout.captions import is_expected_caption, is_seen_caption
from app.intake.snippets.parts import Part, PartKind

_MOST_CAPTION = 200
_OF_A_CLASS = re.compile(r"_*[A-Z]")
_SMALL = frozenset(
    ("frozenset", "set", "deque", "defaultdict", "array", "bytearray", "mappingproxy", "range", "slice")
) | {
    "dict_keys",
    "dict_values",
    "dict_items",
    "date",
    "datetime",
    "time",
    "timedelta",
    "namespace",
    "partial",
}
_OF_CODE = (ast.NamedExpr, ast.Lambda, ast.Await, ast.Subscript)


def with_displayed_objects(parts: Sequence[Part]) -> list[Part]:
    """The parts, in which `Counter({'a': 0})` below `Output:` is output, if code stands above it."""
    result: list[Part] = []
    has_code = False
    for part in parts:
        is_shown = has_code and part.kind is PartKind.CODE and not part.transcript and _is_displayed(part)
        has_code |= part.kind is PartKind.CODE
        result.append(replace(part, kind=PartKind.OUTPUT) if is_shown else part)
    return result


def _is_displayed(part: Part) -> bool:
    caption = (part.before.strip().rpartition("\n")[2] or part.heading)[-_MOST_CAPTION:]
    return (is_seen_caption(caption) or is_expected_caption(caption)) and _shows_objects(part.text)


def _shows_objects(text: str) -> bool:
    """Whether the text is nothing but calls of classes, and no name is called that begins small."""
    tree = tree_of(text)
    if tree is None or not tree.body:
        return False
    values = [each.value for each in tree.body if isinstance(each, ast.Expr)]
    if len(values) < len(tree.body) or not all(isinstance(value, ast.Call) for value in values):
        return False
    calls = [node for node in nodes_of(tree) if isinstance(node, ast.Call)]
    if any(isinstance(node, _OF_CODE) for node in nodes_of(tree)):
        return False
    if all(isinstance(call.func, ast.Name) and _OF_A_CLASS.match(call.func.id) for call in calls):
        return True
    roots = {id(part) for call in calls for part in ast.walk(call.func)}
    # A name that is handed over, as in `deque(x)`, is code.
    is_code = any(isinstance(node, ast.Name) and id(node) not in roots for node in nodes_of(tree))
    return not is_code and all(_is_class(call.func) for call in calls)


def _is_class(called: ast.expr) -> bool:
    """Whether a class is called: its name begins with a capital, or it shows itself so in small letters."""
    name = (
        called.id
        if isinstance(called, ast.Name)
        else called.attr
        if isinstance(called, ast.Attribute)
        else ""
    )
    return _OF_A_CLASS.match(name) is not None or name in _SMALL
