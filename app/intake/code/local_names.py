"""Replaces a script's own variable names by numbered ones. Names from outside stay."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_SCOPES = (*_FUNCTIONS, ast.ClassDef)
# A script that looks variables up by name is left as it is.
_BY_NAME = {"eval", "exec", "locals", "globals", "vars"}
# Marks a scope as that of a class, whose names its methods don't see. No variable can have this name.
_CLASS = "class"


def with_plain_names(tree: ast.Module) -> ast.Module:
    """The tree without docstrings and with plain names. Changes the tree in place.

    Names of imports, attributes and keyword arguments stay.
    """
    keywords: set[str] = set()
    global_names: set[str] = set()
    by_name = False
    for node in ast.walk(tree):
        if isinstance(node, ast.keyword) and node.arg:
            keywords.add(node.arg)
        elif isinstance(node, ast.Global):
            global_names |= set(node.names)
        elif isinstance(node, ast.Name):
            by_name = by_name or node.id in _BY_NAME
        elif isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            _drop_docstring(node)
    if not by_name:
        _Plain(keywords).module(tree, global_names)
    return tree


def _drop_docstring(node: ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) -> None:
    if ast.get_docstring(node, clean=False) is not None:
        node.body = node.body[1:] or [ast.Pass()]


class _Plain(ast.NodeTransformer):
    """Gives each variable the name `v` and a number, scope by scope."""

    def __init__(self, keywords: set[str]) -> None:
        self._keywords = keywords
        # One mapping for each enclosing scope: name to plain name. A name that stays maps to itself.
        self._scopes: list[dict[str, str]] = []
        self._count = 0

    def module(self, tree: ast.Module, global_names: set[str]) -> None:
        """Rename in the whole script. `global_names`: names that functions declare as global."""
        self._scopes = [_names(tree.body, global_names)]
        self.generic_visit(tree)

    def _plain(self, name: str) -> str:
        for scope in reversed(self._scopes):
            if name in scope:
                if not scope[name]:
                    self._count += 1
                    scope[name] = f"v{self._count}"
                return scope[name]
        return name

    def visit_Name(self, node: ast.Name) -> ast.Name:
        node.id = self._plain(node.id)
        return node

    def visit_Global(self, node: ast.Global) -> ast.Global:
        node.names = [self._plain(name) for name in node.names]
        return node

    def visit_Nonlocal(self, node: ast.Nonlocal) -> ast.Nonlocal:
        node.names = [self._plain(name) for name in node.names]
        return node

    def visit_ExceptHandler(self, node: ast.ExceptHandler) -> ast.AST:
        node.name = self._plain(node.name) if node.name else None
        return self.generic_visit(node)

    def visit_MatchAs(self, node: ast.MatchAs) -> ast.AST:
        node.name = self._plain(node.name) if node.name else None
        return self.generic_visit(node)

    def visit_MatchStar(self, node: ast.MatchStar) -> ast.AST:
        node.name = self._plain(node.name) if node.name else None
        return node

    def visit_arg(self, node: ast.arg) -> ast.AST:
        node.arg = self._plain(node.arg)
        return node

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        node.name = self._plain(node.name)
        self._visit_all([*node.decorator_list, *node.bases, *node.keywords])
        self._scopes.append({name: name for name in [*_names(node.body, set()), _CLASS]})
        self._visit_all(node.body)
        self._scopes.pop()
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        return self._function(node)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.AST:
        return self._function(node)

    def visit_Lambda(self, node: ast.Lambda) -> ast.AST:
        self._in_function(node.args, [node.body])
        return node

    def _function(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> ast.AST:
        node.name = self._plain(node.name)
        self._visit_all([*node.decorator_list, *([node.returns] if node.returns else [])])
        self._in_function(node.args, node.body)
        return node

    def _in_function(self, arguments: ast.arguments, body: Iterable[ast.AST]) -> None:
        every = _every_argument(arguments)
        self._visit_all([*arguments.defaults, *(default for default in arguments.kw_defaults if default)])
        self._visit_all([argument.annotation for argument in every if argument.annotation])
        body = list(body)
        names = _names(body, {argument.arg for argument in every})
        # A parameter that some call names by keyword is known outside, so it keeps its name.
        names |= {argument.arg: argument.arg for argument in every if argument.arg in self._keywords}
        around = self._scopes
        self._scopes = [*(scope for scope in around if _CLASS not in scope), names]
        self._visit_all([*every, *body])
        self._scopes = around

    def _visit_all(self, nodes: Iterable[ast.AST]) -> None:
        for node in nodes:
            self.visit(node)


def _every_argument(arguments: ast.arguments) -> list[ast.arg]:
    single = [argument for argument in (arguments.vararg, arguments.kwarg) if argument is not None]
    return [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, *single]


def _names(body: Iterable[ast.AST], more: set[str]) -> dict[str, str]:
    """The names that a scope binds, without numbers yet. Imported names map to themselves."""
    names = dict.fromkeys(more, "")
    outside: set[str] = set()
    for node in _of_scope(body):
        if isinstance(node, ast.Import | ast.ImportFrom):
            names |= {
                name: name
                for alias in node.names
                for name in [(alias.asname or alias.name).partition(".")[0]]
            }
        elif isinstance(node, ast.Global | ast.Nonlocal):
            outside |= set(node.names)
        else:
            for name in _bound(node):
                names.setdefault(name, "")
    return {name: plain for name, plain in names.items() if name not in outside}


def _bound(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Name):
        return [] if isinstance(node.ctx, ast.Load) else [node.id]
    if isinstance(
        node,
        ast.FunctionDef
        | ast.AsyncFunctionDef
        | ast.ClassDef
        | ast.ExceptHandler
        | ast.MatchAs
        | ast.MatchStar,
    ):
        return [node.name] if node.name else []
    return []


def _of_scope(body: Iterable[ast.AST]) -> Iterator[ast.AST]:
    """The nodes of a scope, without those inside its functions and classes."""
    waiting = list(body)
    while waiting:
        node = waiting.pop()
        yield node
        if not isinstance(node, _SCOPES):
            waiting += ast.iter_child_nodes(node)
