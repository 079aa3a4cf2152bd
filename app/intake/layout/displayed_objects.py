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
    if not all(isinstance(each, ast.Expr) and isinstance(each.value, ast.Call) for each in tree.body):
        return False
    return all(
        isinstance(node.func, ast.Name) and _OF_A_CLASS.match(node.func.id) is not None
        for statement in tree.body
        for node in [statement.value]  # type: ignore[attr-defined]
    ) and not any(isinstance(node, ast.NamedExpr | ast.Lambda | ast.Await) for node in nodes_of(tree))
