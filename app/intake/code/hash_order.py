"""Detects scripts whose results depend on the order of a set, which differs between starts of Python."""

from __future__ import annotations

import ast

from app.intake.code.syntax import nodes_of, tree_of

_SETS = {"set", "frozenset"}
# They keep the order in which they walk a set. `sorted`, `len`, `min` and others don't show it.
_KEEP_ORDER = {"list", "tuple", "iter", "enumerate"}


def depends_on_hashes(source: str) -> bool:
    """True if the script walks a set of strings. The hashes of strings are random."""
    tree = tree_of(source)
    if tree is None:
        return False
    names = {
        target.id
        for node in nodes_of(tree)
        if isinstance(node, ast.Assign) and _is_set_of_strings(node.value, frozenset())
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    return any(_walks(node, frozenset(names)) for node in nodes_of(tree))


def _walks(node: ast.AST, names: frozenset[str]) -> bool:
    if isinstance(node, ast.For | ast.comprehension):
        return _is_set_of_strings(node.iter, names)
    if not isinstance(node, ast.Call):
        return False
    function = node.func
    if isinstance(function, ast.Attribute):
        if function.attr == "pop" and not node.args:
            return _is_set_of_strings(function.value, names)
        return function.attr == "join" and any(_is_set_of_strings(each, names) for each in node.args[:1])
    keeps_order = isinstance(function, ast.Name) and function.id in _KEEP_ORDER
    return keeps_order and any(_is_set_of_strings(each, names) for each in node.args[:1])


def _is_set_of_strings(node: ast.expr, names: frozenset[str]) -> bool:
    if isinstance(node, ast.Name):
        return node.id in names
    if isinstance(node, ast.Set):
        return any(map(_is_string, node.elts))
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _SETS and node.args:
        (content, *_) = node.args
        if isinstance(content, ast.List | ast.Tuple | ast.Set):
            return any(map(_is_string, content.elts))
        return _is_string(content)
    return False


def _is_string(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str | bytes)
