"""The names that a script uses, binds, and never defines. In doubt a name counts as defined."""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Collection
from weakref import WeakKeyDictionary

from app.intake.code.syntax import children_of, nodes_of, tree_of

_BUILTINS = frozenset(dir(builtins)) | {
    "__file__",
    "__name__",
    "__doc__",
    "__builtins__",
    "__spec__",
    "__loader__",
    "__package__",
}
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_WORD = re.compile(r"[A-Za-z_]\w{2,}")
# The bound names of trees, which many rules ask for.
_BOUND: WeakKeyDictionary[ast.AST, frozenset[str]] = WeakKeyDictionary()
_DYNAMIC = {"exec", "eval", "globals", "locals", "vars", "setattr", "get_ipython"}


def has_star_import(tree: ast.AST) -> bool:
    """True if the script imports names that can't be known."""
    return any(
        isinstance(node, ast.ImportFrom) and any(alias.name == "*" for alias in node.names)
        for node in nodes_of(tree)
    )


def used_names(tree: ast.AST) -> set[str]:
    """Every name that is read somewhere."""
    return {
        node.id for node in nodes_of(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)
    }


def bound_names(tree: ast.AST) -> frozenset[str]:
    """Every name that is bound somewhere, in any scope."""
    known = _BOUND.get(tree)
    if known is None:
        known = _BOUND[tree] = frozenset(_bound_names(tree))
    return known


def _bound_names(tree: ast.AST) -> set[str]:
    bound: set[str] = set()
    for node in nodes_of(tree):
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            bound.add(node.id)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            bound |= {alias.asname or alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.FunctionDef | ast.ClassDef | ast.AsyncFunctionDef):
            bound.add(node.name)
        elif isinstance(node, ast.arg):
            bound.add(node.arg)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "var":
            # `var("x y")` of sympy and Sage defines these names.
            bound |= {name for each in node.args[:1] for name in _names_of_symbols(each)}
        elif isinstance(node, ast.ExceptHandler | ast.MatchAs | ast.MatchStar) and node.name:
            bound.add(node.name)
        elif isinstance(node, ast.MatchMapping) and node.rest:
            bound.add(node.rest)
        elif isinstance(node, ast.Global | ast.Nonlocal):
            bound |= set(node.names)
    return bound


def _names_of_symbols(argument: ast.expr) -> set[str]:
    text = argument.value if isinstance(argument, ast.Constant) else None
    return (
        {name for name in re.split(r"[\s,]+", text) if name.isidentifier()}
        if isinstance(text, str)
        else set()
    )


def mentioned_names(tree: ast.AST) -> set[str]:
    """Every name that stands anywhere in the script, attributes, keywords and modules too.

    So do the words of strings without a space, such as `"aot_eager"`.
    """
    names: set[str] = set()
    for node in nodes_of(tree):
        match node:
            case ast.Name():
                names.add(node.id)
            case ast.Attribute():
                names.add(node.attr)
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                names.add(node.name)
            case ast.arg() | ast.keyword():
                names.add(node.arg or "")
            case ast.alias():
                names |= {*node.name.split("."), node.asname or ""}
            case ast.Constant(value=str() as text) if " " not in text:
                names |= set(_WORD.findall(text))
    return names


def unbound_names(tree: ast.Module) -> list[str]:
    """Names that are read somewhere and that neither the script nor Python binds, sorted."""
    return sorted(used_names(tree) - bound_names(tree) - _BUILTINS)


def undefined_names(tree: ast.Module) -> tuple[str, ...]:
    """Names that the top level uses and nothing defines, in order.

    Bodies of functions may never run, so they are left out.
    """
    used = used_names(tree)
    defined_names = bound_names(tree) | _BUILTINS
    if used <= defined_names or used & _DYNAMIC or has_star_import(tree):
        return ()
    names: dict[str, None] = {}
    open_nodes: list[ast.AST] = list(reversed(tree.body))
    while open_nodes:
        node = open_nodes.pop()
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id not in defined_names:
            names[node.id] = None
        if isinstance(node, ast.Try):
            # Code in a `try` may be meant to fail.
            continue
        inner = {id(part) for part in _body_of(node)} if isinstance(node, _FUNCTIONS) else set()
        open_nodes.extend(child for child in reversed(children_of(node)) if id(child) not in inner)
    return tuple(names)


def defines(source: str, names: Collection[str]) -> bool:
    """Whether a script defines a class or a function with one of these names.

    False if it can't be parsed.
    """
    tree = tree_of(source)
    return tree is not None and any(
        isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) and node.name in names
        for node in nodes_of(tree)
    )


def _body_of(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) -> list[ast.stmt] | list[ast.expr]:
    return [node.body] if isinstance(node, ast.Lambda) else node.body
