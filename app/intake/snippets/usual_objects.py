"""Adds objects and modules that reports use without a line that makes them: `ureg` of pint, `xml.etree`."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator

from app.intake.code.syntax import nodes_of
from app.intake.words.public_names import is_public_module

# Names that the documentation of a library gives to one object: the package that has to be named, if the name
# alone says too little, and the statement.
_OBJECTS = {
    "ureg": ("", "import pint; ureg = pint.UnitRegistry()"),
    "Q_": ("", "import pint; Q_ = pint.UnitRegistry().Quantity"),
    "console": ("rich", "from rich.console import Console; console = Console()"),
}
# Names of Python 2, which Python 3 calls otherwise.
_OF_PYTHON_2 = {
    "xrange": "range",
    "raw_input": "input",
    "unicode": "str",
    "basestring": "str",
    "unichr": "chr",
    "long": "int",
}
_BOTH_OF_PINT = "import pint; ureg = pint.UnitRegistry(); Q_ = ureg.Quantity"
# `jit` is a name of two libraries, and these are arguments of only one of them.
_JIT = {
    **dict.fromkeys(("nopython", "nogil", "fastmath", "parallel", "forceobj", "cache"), "numba"),
    **dict.fromkeys(("static_argnums", "static_argnames", "donate_argnums", "donate_argnames"), "jax"),
}
# Importing these packages imports their modules.
_WHOLE = frozenset({"torch", "numpy", "scipy", "jax", "pandas", "sympy", "networkx", "os", "collections"})
_SUBMODULES = frozenset(
    (
        *("xml.etree", "xml.dom", "concurrent.futures", "importlib.metadata", "importlib.util"),
        *("importlib.resources", "urllib.request", "urllib.parse", "urllib.error", "email.message"),
        *("http.client", "http.server", "logging.config", "logging.handlers", "multiprocessing.pool"),
        *(
            "multiprocessing.shared_memory",
            "unittest.mock",
            "html.parser",
            "ctypes.util",
            "xml.etree.ElementTree",
        ),
        *("pyarrow.compute", "pyarrow.parquet", "pyarrow.dataset", "pyarrow.csv", "pyarrow.feather"),
        *("PIL.Image", "PIL.ImageDraw", "PIL.ImageFont", "PIL.ImageOps", "PIL.ImageFilter"),
        *("matplotlib.pyplot", "google.protobuf"),
    )
)
_MOST_DEPTH = 3
_OF_DATETIME_MODULE = frozenset({"date", "datetime", "time", "timedelta", "timezone", "tzinfo", "UTC"})


def usual_objects(tree: ast.Module, unbound: Collection[str], packages: Collection[str]) -> dict[str, str]:
    """The statements that make such objects, by the name that nothing binds."""
    statements = {
        name: statement
        for name, (package, statement) in _OBJECTS.items()
        if name in unbound and (not package or package in packages)
    }
    if {"ureg", "Q_"} <= statements.keys():
        del statements["Q_"]
        statements["ureg"] = _BOTH_OF_PINT
    statements |= {name: f"{name} = {new}" for name, new in _OF_PYTHON_2.items() if name in unbound}
    if "datetime" in unbound and (statement := _import_of_datetime(tree)):
        statements["datetime"] = statement
    if "jit" in unbound and (library := _library_of_jit(tree)):
        statements["jit"] = f"from {library} import jit"
    return statements


def with_submodules(statement: str, name: str, tree: ast.Module) -> str:
    """The import of a package, and of its modules that the script uses by their whole names."""
    if name in _WHOLE or statement != f"import {name}":
        return statement
    paths = sorted({path for node in nodes_of(tree) for path in _paths_of(node, name)})
    return "; ".join([statement, *(f"import {path}" for path in paths)])


def _import_of_datetime(tree: ast.Module) -> str:
    """The import of the module, or of the class of the same name, by what the script asks of it.

    Empty if it asks for both, or for neither.
    """
    attributes: set[str] = set()
    is_called = False
    for node in nodes_of(tree):
        owner = node.value if isinstance(node, ast.Attribute) else getattr(node, "func", None)
        if isinstance(owner, ast.Name) and owner.id == "datetime":
            attributes |= {node.attr} if isinstance(node, ast.Attribute) else set()
            is_called = is_called or isinstance(node, ast.Call)
    of_class = is_called or bool(attributes - _OF_DATETIME_MODULE)
    of_module = bool(attributes & _OF_DATETIME_MODULE)
    if of_module == of_class:
        return ""
    return "import datetime" if of_module else "from datetime import datetime"


def _library_of_jit(tree: ast.Module) -> str | None:
    """The library whose arguments the calls of `jit` have; None if it is not clear."""
    libraries = {
        _JIT[each.arg]
        for node in nodes_of(tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "jit"
        for each in node.keywords
        if each.arg in _JIT
    }
    return libraries.pop() if len(libraries) == 1 else None


def _paths_of(node: ast.AST, root: str) -> Iterator[str]:
    """The known modules in `root.module.other`."""
    names: list[str] = []
    while isinstance(node, ast.Attribute):
        names.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name) or node.id != root:
        return
    for depth in range(1, min(_MOST_DEPTH, len(names)) + 1):
        path = ".".join([root, *names[::-1][:depth]])
        if path in _SUBMODULES or is_public_module(path):
            yield path
