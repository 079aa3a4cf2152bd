"""The modules of this repository as syntax trees. Each is parsed once for all tests of a file."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]


def modules_of(*folders: str) -> list[Path]:
    """The modules in these folders of the repository, in order."""
    return sorted(path for folder in folders for path in (ROOT / folder).rglob("*.py"))


def named(path: Path) -> str:
    """The path within the repository."""
    return str(path.relative_to(ROOT))


@cache
def source_of(path: Path) -> str:
    """The text of a module."""
    return path.read_text()


@cache
def nodes_of(path: Path) -> tuple[ast.AST, ...]:
    """All nodes of a module; the first is the module itself."""
    return tuple(ast.walk(ast.parse(source_of(path))))


def tree_of(path: Path) -> ast.Module:
    """A module as a tree, which its readers leave as it is."""
    tree = nodes_of(path)[0]
    assert isinstance(tree, ast.Module)
    return tree


def forget() -> None:
    """Free the memory: the trees of all modules have a million nodes."""
    source_of.cache_clear()
    nodes_of.cache_clear()
