"""Devices that a script uses and that no node has, such as Apple's and Intel's GPUs, by static reading."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from app.intake.code.syntax import dotted_name, nodes_of
from app.intake.reading import Need, NeedKind

_NAME = re.compile(r"(?P<name>mps|xpu|hpu|npu|tpu|xla|ipu|mtia|vulkan)(?::\d{1,3})?")
_MODULES = {
    "torch_xla": "xla",
    "torch_npu": "npu",
    "habana_frameworks": "hpu",
    "intel_extension_for_pytorch": "xpu",
    "mlx": "mps",
    "torch_directml": "directml",
}
_METHODS = {"xpu", "npu", "hpu", "ipu"}
# A choice that asks one of these works without the device.
_CHECKS = {"is_available", "is_built", "device_count", "current_accelerator"}


def device_needs(tree: ast.Module) -> list[Need]:
    """The first use of each such device that no check of the script guards."""
    guarded = {id(part) for node in nodes_of(tree) for part in _guarded_parts(node)}
    first: dict[str, Need] = {}
    for node in nodes_of(tree):
        if id(node) in guarded:
            continue
        for name in _devices_of(node):
            first.setdefault(name, Need(kind=NeedKind.DEVICE, name=name, line=getattr(node, "lineno", None)))
    return list(first.values())


def _guarded_parts(node: ast.AST) -> Iterator[ast.AST]:
    """The nodes in a choice that asks for the device, and the texts that are only compared."""
    if isinstance(node, ast.Try | ast.Compare) or (isinstance(node, ast.If | ast.IfExp) and _asks(node.test)):
        yield from ast.walk(node)


def _asks(test: ast.expr) -> bool:
    return any(
        isinstance(part, ast.Call) and dotted_name(part.func)[-1:] and dotted_name(part.func)[-1] in _CHECKS
        for part in ast.walk(test)
    )


def _devices_of(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        match = _NAME.fullmatch(node.value)
        if match:
            yield match["name"]
    elif isinstance(node, ast.Import | ast.ImportFrom):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else [node.module or ""]
        for name in names:
            if device := _MODULES.get(name.partition(".")[0]):
                yield device
    elif isinstance(node, ast.Call):
        path = dotted_name(node.func)
        if path[:1] == ("torch",) and len(path) > 2 and path[1] in {"xpu", "mps", "npu", "hpu"}:
            if path[-1] not in _CHECKS:
                yield path[1]
        elif isinstance(node.func, ast.Attribute) and node.func.attr in _METHODS and not node.args:
            yield node.func.attr
