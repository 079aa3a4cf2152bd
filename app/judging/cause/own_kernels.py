"""Tells whether a wrong result comes from a kernel that the script itself put in the place of torch's."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from typing import Literal

from worker.contract.trace import Trace

Side = Literal["cpu", "cuda"]
_BOTH: frozenset[Side] = frozenset({"cpu", "cuda"})
_SIDES: Mapping[str, frozenset[Side]] = {"cpu": frozenset({"cpu"}), "cuda": frozenset({"cuda"})}
_NAMESPACE = "aten"


def own_kernel_of(trace: Trace, source: str) -> str:
    """The operations that are wrong, as "aten::cos", if the script registers all of these kernels.

    Empty if one of them is torch's own, or if the trace does not list all of them. A kernel that the script
    registers for the CPU does not answer for the GPU.
    """
    wrong = {
        (operation.name, side.side)
        for operation in trace.operations
        for side in operation.sides
        if side.explained is False
    }
    listed = sum(side.explained is False for one in trace.operations for side in one.sides)
    if not wrong or listed < trace.unexplained:
        return ""
    registered = registered_kernels(source)
    seen = {name: _BOTH for name in trace.own if name not in registered}
    own = {**seen, **registered}
    if any(side not in own.get(name, ()) for name, side in wrong):
        return ""
    return ", ".join(sorted({name for name, _ in wrong}))


def registered_kernels(source: str) -> dict[str, frozenset[Side]]:
    """The operations of torch for which a script registers a kernel, each with the sides that it is for."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return {}
    registered: dict[str, frozenset[Side]] = {}
    libraries = _libraries(tree)
    for call in (node for node in ast.walk(tree) if isinstance(node, ast.Call)):
        name = _operation(call, libraries)
        if name:
            registered[name] = registered.get(name, frozenset()) | _sides(call, libraries)
    return registered


def _libraries(tree: ast.AST) -> dict[str, frozenset[Side]]:
    """Names of variables that hold a `Library` for torch's own operations, with the sides that it is for."""
    libraries: dict[str, frozenset[Side]] = {}
    for node in ast.walk(tree):
        for name, value in _bindings(node):
            if isinstance(value, ast.Call) and _last(value.func) == "Library":
                texts = _texts(value)
                if texts[:1] == [_NAMESPACE]:
                    libraries[name] = _sides_named(texts[2:])
    return libraries


def _bindings(node: ast.AST) -> Iterator[tuple[str, ast.expr | None]]:
    match node:
        case ast.Assign(targets=[ast.Name(id=name)], value=value):
            yield name, value
        case ast.AnnAssign(target=ast.Name(id=name), value=value):
            yield name, value
        case ast.withitem(context_expr=value, optional_vars=ast.Name(id=name)):
            yield name, value
        case _:
            return


def _operation(call: ast.Call, libraries: Mapping[str, frozenset[Side]]) -> str:
    """The operation whose kernel a call registers, as "aten::cos"; empty if it registers none of torch's."""
    function = call.func
    if _last(function) not in {"impl", "register_kernel"} or not isinstance(function, ast.Attribute):
        return ""
    of_library = _library_of(call, libraries) is not None
    names = [name for name in map(_operation_name, call.args) if name]
    if not names:
        return ""
    namespace, sign, name = names[0].rpartition("::")
    if (namespace if sign else _NAMESPACE * of_library) != _NAMESPACE:
        return ""
    return f"{_NAMESPACE}::{name.partition('.')[0]}"


def _library_of(call: ast.Call, libraries: Mapping[str, frozenset[Side]]) -> str | None:
    """The library of `lib.impl("cos", …)` and `torch.library.impl(lib, "cos", …)`."""
    owner = call.func.value if isinstance(call.func, ast.Attribute) else None
    names = [each.id for each in (owner, *call.args[:1]) if isinstance(each, ast.Name)]
    return next((name for name in names if name in libraries), None)


def _operation_name(expression: ast.expr) -> str:
    """The name in `"aten::cos"`, `"cos"` or `torch.ops.aten.cos.default`."""
    if isinstance(expression, ast.Constant) and isinstance(expression.value, str):
        return expression.value
    parts = ast.unparse(expression).split(".") if isinstance(expression, ast.Attribute) else []
    return f"{_NAMESPACE}::{parts[3]}" if parts[:3] == ["torch", "ops", _NAMESPACE] and parts[3:] else ""


def _sides(call: ast.Call, libraries: Mapping[str, frozenset[Side]]) -> frozenset[Side]:
    texts = [*_texts(call), *(text for keyword in call.keywords for text in _texts_in(keyword.value))]
    library = _library_of(call, libraries)
    return _sides_named(texts, _BOTH if library is None else libraries[library])


def _sides_named(texts: Sequence[str], default: frozenset[Side] = _BOTH) -> frozenset[Side]:
    """The sides that a dispatch key or a device names."""
    return next((_SIDES[text.lower()] for text in texts if text.lower() in _SIDES), default)


def _texts(call: ast.Call) -> list[str]:
    return [text for argument in call.args for text in _texts_in(argument)]


def _texts_in(expression: ast.expr) -> list[str]:
    if isinstance(expression, ast.Constant) and isinstance(expression.value, str):
        return [expression.value]
    return []


def _last(expression: ast.expr) -> str:
    """The last name of `torch.library.impl`."""
    match expression:
        case ast.Attribute(attr=name) | ast.Name(id=name):
            return name
        case _:
            return ""
