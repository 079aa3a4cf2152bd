"""Printed Python literals: lists, tuples, dictionaries, sets and strings, compared by their structure."""

from __future__ import annotations

import ast
import re

from app.intake.code.syntax import parses, tree_of

# Longer texts are data, which words and numbers compare well enough.
_MOST_CHARACTERS = 2_000
_OPENING = re.compile(r"[\[({]")
_ROW = re.compile(r"(?:[A-Za-z_.]{1,30}\()?\[{1,8}(?P<items>[^\[\](){}'\"=]*)\]{1,8}\)?,?")
_TEXT = re.compile(r"'[^'\n]{0,400}'|\"[^\"\n]{0,400}\"")
_QUOTED = re.compile(r"['\"]")


def other_structure(claimed: str, seen: str) -> bool:
    """Whether both lines end in a literal, and the two hold other texts, or are built in another way.

    `['a', 'b']` and `['a,b']` have the same words, and `[1, 2]` is a part of `[1, 2, 3]`. Numbers are not
    compared here. `{},"b": 1}` closes more than it opens, and is no `{"b": 1}`.
    """
    if _closes_too_much(claimed) and not _closes_too_much(seen):
        return True
    if _is_longer(claimed, seen):
        return True
    if not (_QUOTED.search(claimed) and _QUOTED.search(seen)):
        return False
    one, other = _literal_in(claimed), _literal_in(seen)
    return one is not None and other is not None and not _alike(one, other)


def _closes_too_much(line: str) -> bool:
    depth = 0
    for sign in _TEXT.sub("", line[:_MOST_CHARACTERS]):
        depth += (sign in "([{") - (sign in ")]}")
        if depth < 0:
            return True
    return False


def _is_longer(claimed: str, seen: str) -> bool:
    """Whether the seen literal has other elements beside those of the claimed one: `()` and `({1})`.

    A claimed row of a printed list of rows is no such part.
    """
    row, seen_row = _items_of_row(claimed), _items_of_row(seen)
    if row and seen_row:
        return seen_row > row
    one, other = _literal_in(claimed), _literal_in(seen)
    if one is None or other is None:
        return False
    own, others = _elements(one), _elements(other)
    if not own:
        return bool(others) and isinstance(one, _STRUCTURES)
    is_row = any(ast.dump(element) == ast.dump(one) for element in others)
    return type(one) is type(other) and len(others) > len(own) and not is_row


def _items_of_row(line: str) -> int:
    """The number of items in a whole printed row, such as `[1 2]` or `[[1. 2.]`; 0 for any other line."""
    match = _ROW.fullmatch(line.strip()) if len(line) <= _MOST_CHARACTERS else None
    return 0 if match is None or "..." in line else len(match["items"].replace(",", " ").split())


def _elements(literal: ast.expr) -> list[ast.expr]:
    if isinstance(literal, ast.Dict):
        return literal.values
    return literal.elts if isinstance(literal, ast.List | ast.Tuple | ast.Set) else []


def _literal_in(line: str) -> ast.expr | None:
    """The literal from the first bracket to the end of the line; None if that is no literal."""
    line = line.strip()
    opening = _OPENING.search(line)
    if opening is None or len(line) > _MOST_CHARACTERS or not parses(text := line[opening.start() :]):
        return None
    tree = tree_of(text)
    body = tree.body if tree is not None else []
    expression = body[0].value if len(body) == 1 and isinstance(body[0], ast.Expr) else None
    return expression if expression is not None and _is_literal(expression) else None


def _is_literal(node: ast.expr) -> bool:
    if isinstance(node, ast.List | ast.Tuple | ast.Set):
        return all(map(_is_literal, node.elts))
    if isinstance(node, ast.Dict):
        return all(key is not None and _is_literal(key) for key in node.keys) and all(
            map(_is_literal, node.values)
        )
    if isinstance(node, ast.UnaryOp):
        return isinstance(node.operand, ast.Constant)
    return isinstance(node, ast.Constant) or (isinstance(node, ast.Name) and node.id in _NUMBERS)


def _alike(one: ast.expr, other: ast.expr) -> bool:
    """Whether two literals have the same structure and the same texts."""
    match one, other:
        case (ast.List(elts=own), ast.List(elts=others)) | (ast.Tuple(elts=own), ast.Tuple(elts=others)):
            return len(own) == len(others) and all(map(_alike, own, others))
        case (ast.Set(), ast.Set()):
            # Sets are printed in any order.
            return sorted(map(ast.dump, one.elts)) == sorted(map(ast.dump, other.elts))
        case (ast.Dict(), ast.Dict()):
            pairs = zip((*one.keys, *one.values), (*other.keys, *other.values), strict=False)
            return len(one.keys) == len(other.keys) and all(a and b and _alike(a, b) for a, b in pairs)
        case (ast.Constant(), ast.Constant()):
            texts = isinstance(one.value, str), isinstance(other.value, str)
            return one.value == other.value if all(texts) else not any(texts)
    return not isinstance(one, _STRUCTURES) and not isinstance(other, _STRUCTURES)


_NUMBERS = ("nan", "inf")
_STRUCTURES = (ast.List, ast.Tuple, ast.Set, ast.Dict)
