"""Parses text with this interpreter's parser. Nothing is run."""

from __future__ import annotations

import ast
import platform
import warnings
from weakref import WeakKeyDictionary

from app.errors import InputError
from app.intake.memory import remembers

# The texts of the remembered trees have so many characters. A tree takes a hundred times their memory.
_MOST_CHARACTERS = 600_000
# Fields that hold texts and numbers, and the contexts of names.
_NO_NODES = frozenset({"ctx", "id", "attr", "arg", "kind", "type_comment", "level", "module", "conversion"})
# The other fields of each kind of node.
_FIELDS: dict[type[ast.AST], tuple[str, ...]] = {}
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


def parse(script: str) -> ast.Module:
    """The syntax tree, which nobody may change. Raises InputError, which names line, column and version."""
    outcome = _outcome(script)
    if isinstance(outcome, InputError):
        raise outcome
    return outcome


@remembers(_MOST_CHARACTERS)
def _outcome(script: str) -> ast.Module | InputError:
    """The syntax tree, or what is wrong."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(script)
    except SyntaxError as error:
        where = f"line {error.lineno}, column {error.offset}" if error.lineno else "an unknown line"
        return InputError(
            f"Python {platform.python_version()} can't parse the script: {error.msg} at {where}.",
            code="syntax_error",
            field="script",
        )
    except (ValueError, RecursionError, MemoryError) as error:
        reason = (
            "it holds a character that no script may hold"
            if isinstance(error, ValueError)
            else "it is nested too deeply"
        )
        return InputError(f"Python can't parse the script: {reason}.", code="syntax_error", field="script")


@remembers(_MOST_CHARACTERS)
def tree_of(text: str) -> ast.Module | None:
    """The syntax tree of the normalised text; None if it is no Python."""
    outcome = _outcome(normalise(text))
    return None if isinstance(outcome, InputError) else outcome


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


def children_of(node: ast.AST) -> list[ast.AST]:
    """The nodes right below a node, in order, but no contexts of names."""
    children: list[ast.AST] = []
    kind = type(node)
    fields = _FIELDS.get(kind)
    if fields is None:
        fields = _FIELDS[kind] = tuple(field for field in kind._fields if field not in _NO_NODES)
    for field in fields:
        value = getattr(node, field, None)
        if isinstance(value, list):
            children.extend([part for part in value if isinstance(part, ast.AST)])
        elif isinstance(value, ast.AST):
            children.append(value)
    return children


def nodes_of(tree: ast.AST) -> list[ast.AST]:
    """Every node of a tree but the contexts of names, in order of depth.

    The list is cached for all who read the tree.
    """
    known = _NODES.get(tree)
    if known is None:
        known = [tree]
        for node in known:
            known.extend(children_of(node))
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
