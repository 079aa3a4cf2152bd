"""Parses text with this interpreter's parser. Nothing is run."""

from __future__ import annotations

import ast
import platform
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from weakref import WeakKeyDictionary

from app.errors import InputError

_MOST_TREES = 4
_TREES: ContextVar[dict[str, ast.Module] | None] = ContextVar("trees", default=None)
_NODES: WeakKeyDictionary[ast.AST, list[ast.AST]] = WeakKeyDictionary()


def normalise(text: str) -> str:
    """The text with Unix line ends, without byte order mark and common indent, with one final newline.

    Lines keep their numbers.
    """
    lines = _lines(text)
    indent = _common_indent(lines)
    if indent:
        lines = [line.removeprefix(indent) for line in lines]
    return "\n".join(lines) + "\n"


def has_common_indent(text: str) -> bool:
    """True if all lines have an indent in common."""
    return bool(_common_indent(_lines(text)))


def _lines(text: str) -> list[str]:
    return text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n").rstrip().split("\n")


def _common_indent(lines: list[str]) -> str:
    first = next((line for line in lines if line.strip()), "")
    indent = first[: len(first) - len(first.lstrip(" \t"))]
    return indent if all(line.startswith(indent) for line in lines if line.strip()) else ""


@contextmanager
def tree_cache() -> Iterator[None]:
    """Cache the last few trees while a report is read. Nobody may change these trees."""
    token = _TREES.set({})
    try:
        yield
    finally:
        _TREES.reset(token)


def parse(script: str) -> ast.Module:
    """The syntax tree. Raises InputError, which names line, column and Python's version."""
    trees = _TREES.get()
    if trees is None:
        return _parse(script)
    if script not in trees:
        if len(trees) >= _MOST_TREES:
            # A tree takes a hundred times the memory of its text.
            del trees[next(iter(trees))]
        trees[script] = _parse(script)
    return trees[script]


def _parse(script: str) -> ast.Module:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(script)
    except SyntaxError as error:
        where = f"line {error.lineno}, column {error.offset}" if error.lineno else "an unknown line"
        raise InputError(
            f"Python {platform.python_version()} can't parse the script: {error.msg} at {where}.",
            code="syntax_error",
            field="script",
        ) from error
    except (ValueError, RecursionError, MemoryError) as error:
        reason = (
            "it holds a character that no script may hold"
            if isinstance(error, ValueError)
            else "it is nested too deeply"
        )
        raise InputError(
            f"Python can't parse the script: {reason}.", code="syntax_error", field="script"
        ) from error


def tree_of(text: str) -> ast.Module | None:
    """The syntax tree of the normalised text; None if it is no Python."""
    try:
        return parse(normalise(text))
    except InputError:
        return None


def parses(text: str) -> bool:
    """True if the text is Python by its grammar."""
    return tree_of(text) is not None


def error_line(text: str) -> int | None:
    """The line, from 1, at which the parser gave up; None if it did not, or if the line is unknown."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ast.parse(text)
    except SyntaxError as error:
        return error.lineno
    except (ValueError, RecursionError, MemoryError):
        return None
    return None


def nodes_of(tree: ast.AST) -> list[ast.AST]:
    """Every node of a tree but the contexts of names, in order of depth.

    The list is cached for all who read the tree.
    """
    known = _NODES.get(tree)
    if known is None:
        known = [tree]
        for node in known:
            for field in node._fields:
                value = getattr(node, field, None)
                if isinstance(value, list):
                    known.extend([part for part in value if isinstance(part, ast.AST)])
                elif isinstance(value, ast.AST) and not isinstance(value, ast.expr_context):
                    known.append(value)
        _NODES[tree] = known
    return known


def dotted_name(node: ast.expr) -> tuple[str, ...]:
    """The dotted name of an expression, such as ("torch", "nn", "Linear").

    The part in front is left out if it is not a name.
    """
    names: list[str] = []
    while isinstance(node, ast.Attribute):
        names.append(node.attr)
        node = node.value
    return (*([node.id] if isinstance(node, ast.Name) else []), *reversed(names))
