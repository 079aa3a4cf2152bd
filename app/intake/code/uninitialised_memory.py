"""Detects scripts that use uninitialised memory, by static reading."""

from __future__ import annotations

import ast

from app.intake.code.syntax import nodes_of

_TAKES = {
    "empty",
    "empty_like",
    "new_empty",
    "empty_strided",
    "new_empty_strided",
    "empty_permuted",
    "resize_",
    "resize_as_",
}
# `torch.Tensor(2, 3)` is uninitialised; `torch.Tensor([2, 3])` holds two numbers.
_CONSTRUCTORS = {"Tensor", "FloatTensor", "DoubleTensor", "HalfTensor", "BFloat16Tensor"}
# The setting `fill` fills torch's memory, and not NumPy's.
_OTHERS = {"np", "numpy", "jnp", "cp", "cupy"}


def uses_uninitialised_memory(source: str) -> bool:
    """True if the script makes an uninitialised tensor, such as by `torch.empty`."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return any(isinstance(node, ast.Call) and _takes(node) for node in nodes_of(tree))


def _takes(call: ast.Call) -> bool:
    function = call.func
    if not isinstance(function, ast.Attribute):
        return False
    if isinstance(function.value, ast.Name) and function.value.id in _OTHERS:
        return False
    if function.attr in _CONSTRUCTORS:
        return bool(call.args) and all(
            isinstance(argument, ast.Constant | ast.Name | ast.Starred) for argument in call.args
        )
    # `queue.empty()` has no arguments.
    return function.attr in _TAKES and bool(call.args or call.keywords)
