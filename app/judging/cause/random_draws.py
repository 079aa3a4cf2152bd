"""The device on which a script draws random numbers, found by reading its code."""

from __future__ import annotations

import ast
from collections.abc import Sequence

_RANDOM = {"bernoulli", "rand", "randn", "randint", "randperm", "multinomial", "normal", "poisson"}
_RANDOM_LIKE = {"rand_like", "randn_like", "randint_like", "dropout"}
_RANDOM_IN_PLACE = {
    "bernoulli_",
    "normal_",
    "uniform_",
    "exponential_",
    "random_",
    "geometric_",
    "cauchy_",
    "log_normal_",
}


def draws_on_device(source: str) -> bool:
    """Whether random numbers are drawn directly on a device other than the CPU.

    False if they are drawn on the CPU and moved afterwards.
    """
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return any(_draws(node) for node in ast.walk(tree) if isinstance(node, ast.Call)) or _by_default(tree)


def _draws(call: ast.Call) -> bool:
    function = call.func
    if not isinstance(function, ast.Attribute):
        return False
    if function.attr in _RANDOM | _RANDOM_LIKE and (
        _has_device(call.keywords) or any(map(_on_device, call.args))
    ):
        return True
    return function.attr in _RANDOM_IN_PLACE and _on_device(function.value)


def _by_default(tree: ast.Module) -> bool:
    """Whether the script sets a default device and draws random numbers."""
    called = {
        node.func.attr
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
    }
    return "set_default_device" in called and bool(called & (_RANDOM | _RANDOM_LIKE | _RANDOM_IN_PLACE))


def _has_device(keywords: Sequence[ast.keyword]) -> bool:
    return any(
        keyword.arg == "device"
        and not (isinstance(keyword.value, ast.Constant) and keyword.value.value == "cpu")
        for keyword in keywords
    )


def _on_device(expression: ast.expr) -> bool:
    """Whether the expression is created on a device or moved to one."""
    calls = [node for node in ast.walk(expression) if isinstance(node, ast.Call)]
    return any(
        _has_device(call.keywords)
        or (isinstance(call.func, ast.Attribute) and call.func.attr in {"to", "cuda"})
        for call in calls
    )
