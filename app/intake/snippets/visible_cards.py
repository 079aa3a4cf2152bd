"""Numbers the cards that a script makes visible from 0 on, since a node shows granted cards so.

A script with `CUDA_VISIBLE_DEVICES = "1"` would hide the only card that it has.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from app.intake.code.syntax import dotted_name, nodes_of, parses
from app.intake.reading import Repair

VARIABLE = "CUDA_VISIBLE_DEVICES"
_CARD = re.compile(r"\d{1,3}|(?:GPU|MIG)-[\w/-]{4,80}")
_MOST_CARDS = 16


def with_visible_cards(text: str, tree: ast.Module) -> tuple[str, tuple[Repair, ...]]:
    """The script with its cards numbered from 0 on, and the repair.

    Nothing changes if it hides all cards, or makes different cards visible at different places.
    """
    if VARIABLE not in text:
        return text, ()
    values = list(_values(tree))
    lists = {_cards_of(node) for node in values}
    cards = next(iter(lists)) if len(lists) == 1 else ()
    numbered = ",".join(map(str, range(len(cards))))
    if not cards or ",".join(cards) == numbered:
        return text, ()
    lines = [line.encode() for line in text.split("\n")]
    for node in sorted(values, key=lambda node: (node.lineno, node.col_offset), reverse=True):
        line = lines[node.lineno - 1]
        lines[node.lineno - 1] = (
            line[: node.col_offset] + f'"{numbered}"'.encode() + line[node.end_col_offset :]
        )
    result = b"\n".join(lines).decode()
    if not parses(result):
        return text, ()
    detail = f"Numbered the cards that it makes visible from 0 on: {numbered} in place of {','.join(cards)}."
    return result, (Repair(code="visible_cards", detail=detail, line=values[0].lineno),)


def _values(tree: ast.Module) -> Iterator[ast.Constant]:
    """The texts on one line that the script gives the variable."""
    for node in nodes_of(tree):
        for name, value in _pairs(node):
            if _is_variable(name) and isinstance(value, ast.Constant) and value.end_lineno == value.lineno:
                yield value


def _pairs(node: ast.AST) -> Iterator[tuple[ast.expr, ast.expr | None]]:
    if isinstance(node, ast.Assign):
        for target in node.targets:
            if isinstance(target, ast.Subscript):
                yield target.slice, node.value
    elif isinstance(node, ast.Dict):
        yield from ((key, value) for key, value in zip(node.keys, node.values, strict=True) if key)
    elif isinstance(node, ast.Call):
        if len(node.args) == 2 and dotted_name(node.func)[-1:] in {("putenv",), ("setdefault",), ("setenv",)}:
            yield node.args[0], node.args[1]
        for keyword in node.keywords:
            if keyword.arg == VARIABLE:
                yield ast.Constant(VARIABLE), keyword.value


def _is_variable(name: ast.expr) -> bool:
    return isinstance(name, ast.Constant) and name.value == VARIABLE


def _cards_of(node: ast.Constant) -> tuple[str, ...]:
    """The cards that a value lists; empty for a value that hides them or that is something else."""
    parts = [part.strip() for part in node.value.split(",")] if isinstance(node.value, str) else []
    known = len(parts) <= _MOST_CARDS and all(map(_CARD.fullmatch, parts))
    return tuple(parts) if known else ()
