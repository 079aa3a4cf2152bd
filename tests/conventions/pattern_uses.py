"""All patterns of `app` and `worker`, with the ways in which they are applied."""

from __future__ import annotations

import ast
import importlib
import pkgutil
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

from conventions.source_trees import nodes_of

METHODS = {"match", "fullmatch", "search", "finditer", "findall", "sub", "subn", "split"}
# These begin at one place of the text only.
ANCHORED = {"match", "fullmatch"}


@dataclass(frozen=True, slots=True)
class Use:
    """A pattern, the place where it is written, and the methods by which it is applied."""

    place: str
    pattern: str
    flags: int
    methods: frozenset[str]


@cache
def modules() -> tuple[ModuleType, ...]:
    """All modules of both packages, but no programs."""
    found = []
    for package in ("app", "worker"):
        root = importlib.import_module(package)
        for info in pkgutil.walk_packages(root.__path__, f"{package}."):
            # The sandbox's own programs begin when they are imported. They meet only the text of the script
            # that they run, within its time limit. `worker.harness.scrub` is read by the node, too.
            if info.name.endswith("__main__") or info.name.startswith("worker.harness."):
                continue
            found.append(importlib.import_module(info.name))
    return (*found, importlib.import_module("worker.harness.scrub"))


@cache
def all_uses() -> tuple[Use, ...]:
    """Every compiled pattern of a module, and every literal of `re.search("…")` and its like."""
    methods = _methods_of_names()
    found: dict[tuple[str, int], Use] = {}
    for module in modules():
        uses = [
            *_objects(module, methods),
            *literals(nodes_of(Path(str(module.__file__))), module),
        ]
        for use in uses:
            key = (use.pattern, use.flags)
            earlier = found.get(key)
            if earlier is None:
                found[key] = use
            else:
                found[key] = Use(earlier.place, use.pattern, use.flags, earlier.methods | use.methods)
    return tuple(found.values())


def _objects(module: ModuleType, methods: dict[str, set[str]]) -> Iterator[Use]:
    for name, value in vars(module).items():
        for pattern in _patterns_in(value, 0):
            if isinstance(pattern.pattern, bytes):
                # Bytes are those of our own programs and of libraries' files, never a stranger's text.
                continue
            used = methods.get(_key(name, module), set()) if value is pattern else set()
            yield Use(
                f"{module.__name__}.{name}",
                pattern.pattern,
                pattern.flags,
                frozenset(used or {"search", "match"}),
            )


def _patterns_in(value: Any, depth: int) -> Iterator[re.Pattern[Any]]:
    if isinstance(value, re.Pattern):
        yield value
    elif depth < 4 and isinstance(value, (tuple, list, set, frozenset)):
        for item in value:
            yield from _patterns_in(item, depth + 1)
    elif depth < 4 and isinstance(value, dict):
        yield from _patterns_in(tuple(value.values()), depth + 1)
    elif depth < 4 and hasattr(value, "__dataclass_fields__") and not isinstance(value, type):
        yield from _patterns_in(tuple(getattr(value, name) for name in value.__dataclass_fields__), depth + 1)


def _key(name: str, module: ModuleType) -> str:
    """A private name is known in its own module only."""
    return f"{module.__name__}.{name}" if name.startswith("_") else name


def _methods_of_names() -> dict[str, set[str]]:
    """The methods that are called on each name: `_NUMBER.search(…)`."""
    found: dict[str, set[str]] = {}
    for module in modules():
        for node in nodes_of(Path(str(module.__file__))):
            if (
                isinstance(node, ast.Attribute)
                and node.attr in METHODS
                and isinstance(node.value, (ast.Name, ast.Attribute))
            ):
                name = node.value.id if isinstance(node.value, ast.Name) else node.value.attr
                found.setdefault(_key(name, module), set()).add(node.attr)
    return found


def literals(nodes: Sequence[ast.AST], module: ModuleType) -> Iterator[Use]:
    """The patterns of `re.search("…", text)` and of `re.compile` inside functions. The module comes first."""
    for node in nodes:
        if not (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and isinstance(node.func.value, ast.Name)
            and node.func.value.id == "re"
            and node.func.attr in METHODS | {"compile"}
            and node.args
        ):
            continue
        pattern = _text_of(node.args[0], module)
        if pattern is None:
            continue
        used = {"search", "match"} if node.func.attr == "compile" else {node.func.attr}
        place = f"{module.__name__}:{node.lineno}"
        try:
            flags = re.compile(pattern, _flags_of(node, module)).flags
        except re.error:
            # Only a part: the rest is known when it runs.
            continue
        if node.func.attr != "compile" or not _at_module_level(node, nodes[0]):
            yield Use(place, pattern, flags, frozenset(used))


def _at_module_level(call: ast.Call, tree: ast.AST) -> bool:
    """Whether a compiled pattern is the value of a module's own name, which `_objects` finds."""
    return any(isinstance(node, ast.Assign) and node.value is call for node in getattr(tree, "body", ()))


def _flags_of(node: ast.Call, module: ModuleType) -> int:
    total = 0
    for each in [*node.args[1:], *(word.value for word in node.keywords if word.arg == "flags")]:
        try:
            value = eval(compile(ast.Expression(each), "flags", "eval"), vars(module))  # noqa: S307 - our own code
        except NameError:
            continue
        total |= value if isinstance(value, re.RegexFlag) else 0
    return total


def _text_of(node: ast.expr, module: ModuleType) -> str | None:
    """The pattern that an expression writes. A value that only a call knows becomes the word `name`."""
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else None
    if isinstance(node, ast.JoinedStr):
        parts = [_text_of(part, module) for part in node.values]
        return "".join("name" if part is None else part for part in parts)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        left, right = _text_of(node.left, module), _text_of(node.right, module)
        return (left or "name") + (right or "name")
    expression = node.value if isinstance(node, ast.FormattedValue) else node
    try:
        value = eval(compile(ast.Expression(expression), "pattern", "eval"), vars(module))  # noqa: S307 - our own code
    except Exception:  # noqa: BLE001 - a name of the function
        return None
    return value if isinstance(value, str) else None
