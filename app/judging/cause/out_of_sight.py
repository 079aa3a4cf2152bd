"""Detects what else a script computes with, beside torch, by static reading."""

from __future__ import annotations

import ast

from app.intake.code.syntax import nodes_of, tree_of

# Libraries whose numbers no trace follows.
_LIBRARIES = {
    "numpy": "numpy",
    "scipy": "scipy",
    "pandas": "pandas",
    "sklearn": "scikit-learn",
    "jax": "jax",
    "tensorflow": "tensorflow",
    "cupy": "cupy",
    "ctypes": "ctypes",
    "cffi": "cffi",
    "numba": "numba",
    "numexpr": "numexpr",
    "statistics": "statistics",
    "decimal": "decimal",
    "fractions": "fractions",
    "mpmath": "mpmath",
}
# These only make, seed or print what a script begins with.
_BEGINNINGS = {
    *("array", "asarray", "zeros", "ones", "full", "eye", "arange", "linspace", "load", "seed"),
    *("default_rng", "RandomState", "set_printoptions", "get_printoptions", "printoptions", "errstate"),
    *("seterr", "isscalar", "show_config", "show_versions", "dtype", "finfo", "iinfo"),
}


def leaves_sight(source: str) -> list[str]:
    """The libraries, beside torch, by which the script computes: their numbers are not followed.

    Empty without torch, or if the script can't be parsed.
    """
    tree = tree_of(source)
    if tree is None:
        return []
    names = _imports(tree)
    if "torch" not in names.values():
        return []
    calls = [node for node in nodes_of(tree) if isinstance(node, ast.Call)]
    printed = [each for node in calls if _path(node.func) == ["print"] for each in node.args]
    parts = {id(part) for each in printed for part in ast.walk(each)}
    libraries = set()
    for node in calls:
        path = _path(node.func)
        library = names.get(path[0], "") if path else ""
        if library in _LIBRARIES and not _BEGINNINGS & {path[-1]} and "random" not in path:
            libraries.add(_LIBRARIES[library])
        elif isinstance(node.func, ast.Attribute) and node.func.attr == "numpy" and id(node) not in parts:
            libraries.add("numpy")
    return sorted(libraries)


def _imports(tree: ast.Module) -> dict[str, str]:
    """The root packages by the names that the script has for them, or for a part of them."""
    names: dict[str, str] = {}
    for node in nodes_of(tree):
        if isinstance(node, ast.Import):
            for each in node.names:
                root = each.name.partition(".")[0]
                names[each.asname or root] = root
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {each.asname or each.name: node.module.partition(".")[0] for each in node.names}
    return names


def _path(node: ast.expr) -> list[str]:
    """The dotted name of a function; empty if it is none."""
    names: list[str] = []
    while isinstance(node, ast.Attribute):
        names.append(node.attr)
        node = node.value
    return [node.id, *reversed(names)] if isinstance(node, ast.Name) else []
