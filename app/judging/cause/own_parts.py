"""Detects by static reading what a script puts into torch for a while, and the thresholds that it has itself.

Its process shows the parts that are there at the end, and all that it does with tensors. It does not show a
replacement that is taken back, and neither decisions of Python about numbers.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from app.intake.code.syntax import nodes_of, tree_of

_HOOK = re.compile(r"register_(?:\w+_)?hook|saved_tensors_hooks|save_on_cpu")
# They write an attribute that a call names.
_SETTERS = {"setattr", "setitem", "object", "multiple", "dict", "__setattr__"}
# Attributes of torch that are settings, and replace nothing.
_SETTINGS = {
    "backends",
    "config",
    "deterministic",
    "_inductor",
    "_dynamo",
    "_functorch",
    "__future__",
    "_logging",
}
_PART = re.compile(r"torch(?:\.\w+)+")
_MOST = 3


@dataclass(frozen=True, slots=True)
class OwnParts:
    """Parts of torch that it replaces ("torch.nn.functional.gelu"), calls that set hooks, and thresholds.

    `adds_up`: Python adds up numbers that the script has taken out of tensors. `runs_text`: it runs text as
    code, which is not read.
    """

    replaces: tuple[str, ...] = ()
    hooks: tuple[str, ...] = ()
    thresholds: tuple[float, ...] = ()
    adds_up: bool = False
    runs_text: bool = False


def own_parts(source: str) -> OwnParts:
    """The parts; none if the script can't be parsed."""
    tree = tree_of(source)
    if tree is None:
        return OwnParts()
    nodes = nodes_of(tree)
    names = dict(_imports(nodes))
    replaces = {name for node in nodes for name in _replacements_in(node, names)}
    called = {getattr(node, "attr", getattr(node, "id", "")) for node in nodes}
    hooks = {name for name in called if isinstance(name, str) and _HOOK.fullmatch(name)}
    return OwnParts(
        replaces=tuple(sorted(replaces))[:_MOST],
        hooks=tuple(sorted(hooks))[:_MOST],
        thresholds=tuple(sorted({value for node in nodes for value in _thresholds(node)})),
        adds_up=any(map(_adds_up, nodes)),
        runs_text=any(map(_runs_text, nodes)),
    )


def _imports(nodes: list[ast.AST]) -> Iterator[tuple[str, str]]:
    """The script's names for torch and its parts, with the whole name of each."""
    for node in nodes:
        if isinstance(node, ast.Import):
            for each in node.names:
                root = each.name.partition(".")[0]
                yield each.asname or root, each.name if each.asname else root
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield from ((each.asname or each.name, f"{node.module}.{each.name}") for each in node.names)


def _whole_name(node: ast.AST, names: dict[str, str]) -> str:
    """The dotted name of a part of torch; empty if it is none, or a setting."""
    path: list[str] = []
    while isinstance(node, ast.Attribute):
        path.append(node.attr)
        node = node.value
    whole = names.get(node.id, "") if isinstance(node, ast.Name) else ""
    if whole.partition(".")[0] != "torch":
        return ""
    parts = [*whole.split("."), *reversed(path)]
    return "" if _SETTINGS.intersection(parts) else ".".join(parts)


def _replacements_in(node: ast.AST, names: dict[str, str]) -> Iterator[str]:
    """The parts of torch that a statement or a call replaces."""
    if isinstance(node, ast.Assign):
        for target in node.targets:
            if isinstance(target, ast.Attribute):
                yield from filter(None, [_whole_name(target, names)])
            elif isinstance(target, ast.Subscript):
                name = _whole_name(target.value, names)
                yield from [name] if name.endswith(".__dict__") else []
    elif isinstance(node, ast.Call) and node.args:
        called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        first = _text(node.args[0])
        attribute = _text(node.args[1]) if len(node.args) > 1 else ""
        if called in _SETTERS and (name := _whole_name(node.args[0], names)):
            yield f"{name}.{attribute}" if attribute else name
        elif called in {"patch", "setattr"} and _PART.fullmatch(first):
            yield from () if _SETTINGS.intersection(first.split(".")) else (first,)


def _text(node: ast.expr) -> str:
    """The text of a constant; empty if it is none."""
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def _runs_text(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "exec"


def _adds_up(node: ast.AST) -> bool:
    """Whether a loop or a sum goes through numbers that were taken out of tensors."""
    if isinstance(node, ast.AugAssign):
        return _takes_out(node.value, {"item", "tolist"})
    if isinstance(node, ast.For):
        has_sum = any(isinstance(each, ast.AugAssign) for each in ast.walk(node))
        return has_sum and _takes_out(node.iter, {"tolist"})
    is_sum = isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "sum"
    return is_sum and _takes_out(node, {"item", "tolist"})


def _takes_out(node: ast.AST, methods: set[str]) -> bool:
    return any(isinstance(each, ast.Attribute) and each.attr in methods for each in ast.walk(node))


def _thresholds(node: ast.AST) -> Iterator[float]:
    """The numbers of a comparison."""
    for each in (node.left, *node.comparators) if isinstance(node, ast.Compare) else ():
        is_negative = isinstance(each, ast.UnaryOp) and isinstance(each.op, ast.USub)
        value = each.operand if isinstance(each, ast.UnaryOp) else each
        if isinstance(value, ast.Constant) and isinstance(value.value, int | float):
            yield -float(value.value) if is_negative else float(value.value)
