"""The memory of the largest array with a literal size, by static reading."""

from __future__ import annotations

import ast
import math
from collections.abc import Mapping, Sequence

from app.intake.code.syntax import dotted_name, nodes_of
from app.intake.reading import Need, NeedKind
from worker.contract import GIB

# Every machine has this much, so smaller arrays are no need.
LEAST_BYTES = GIB
_MOST_BYTES = 1 << 60
_MAKERS = {
    "zeros",
    "ones",
    "empty",
    "rand",
    "randn",
    "full",
    "eye",
    "randint",
    "normal",
    "random",
    "uniform",
    "standard_normal",
    "tri",
}
_LIBRARIES = {"torch": 4, "np": 8, "numpy": 8}
_WIDTHS = {
    **dict.fromkeys(("float64", "double", "int64", "long", "complex64", "cfloat", "uint64"), 8),
    **dict.fromkeys(("float32", "float", "int32", "int", "uint32"), 4),
    **dict.fromkeys(("float16", "half", "bfloat16", "int16", "short", "uint16"), 2),
    **dict.fromkeys(("int8", "uint8", "bool", "float8_e4m3fn", "float8_e5m2"), 1),
    **dict.fromkeys(("complex128", "cdouble"), 16),
}
_ELSEWHERE = ("cuda", "meta", "mps", "xpu")
_MOST_DEPTH = 20
_MOST_EXPONENT = 64


def memory_needs(tree: ast.Module) -> list[Need]:
    """The need of the largest array in main memory, from LEAST_BYTES on."""
    numbers = _numbers(tree)
    largest, line = 0, 0
    for node in nodes_of(tree):
        if isinstance(node, ast.Call) and (size := _bytes(node, numbers)) > largest:
            largest, line = size, node.lineno
    if largest < LEAST_BYTES:
        return []
    return [Need(kind=NeedKind.MEMORY, name=f"{largest / GIB:.1f} GiB", bytes=largest, line=line)]


def _bytes(call: ast.Call, numbers: Mapping[str, int]) -> int:
    path = dotted_name(call.func)
    if len(path) < 2 or path[0] not in _LIBRARIES or path[-1] not in _MAKERS:
        return 0
    keywords = {keyword.arg: keyword.value for keyword in call.keywords if keyword.arg}
    device = keywords.get("device")
    if device is not None and any(word in ast.dump(device) for word in _ELSEWHERE):
        return 0
    shape = _shape(path[-1], call.args, keywords, numbers)
    if not shape or any(length is None or length < 0 for length in shape):
        return 0
    elements = math.prod(length for length in shape if length is not None)
    if path[-1] == "eye" and len(shape) == 1:
        elements *= elements
    return min(elements * _width(keywords.get("dtype"), path), _MOST_BYTES)


def _shape(
    name: str, arguments: Sequence[ast.expr], keywords: Mapping[str, ast.expr], numbers: Mapping[str, int]
) -> list[int | None]:
    """The lengths of the array's sides; None for a length that is unknown."""
    size = keywords.get("size") or keywords.get("shape")
    if size is None and name in {"randint", "normal", "uniform"}:
        # The first arguments of these functions are bounds.
        size = next((argument for argument in arguments if isinstance(argument, ast.Tuple | ast.List)), None)
        if size is None:
            return []
    if size is None and arguments and (name == "full" or isinstance(arguments[0], ast.Tuple | ast.List)):
        size = arguments[0]
    sides = [size] if size is not None else list(arguments)
    if len(sides) == 1 and isinstance(sides[0], ast.Tuple | ast.List):
        sides = list(sides[0].elts)
    return [_number(side, numbers) for side in sides]


def _width(dtype: ast.expr | None, path: tuple[str, ...]) -> int:
    if isinstance(dtype, ast.Constant) and isinstance(dtype.value, str):
        return _WIDTHS.get(dtype.value, _LIBRARIES[path[0]])
    name = dotted_name(dtype)[-1:] if dtype is not None else ()
    if name == ("float",) and path[0] != "torch":
        return 8
    return _WIDTHS.get(name[0], 8) if name else 8 if path[-1] == "randint" else _LIBRARIES[path[0]]


def _numbers(tree: ast.Module) -> dict[str, int]:
    """Names that stand for one whole number throughout the script."""
    stores: dict[str, int] = {}
    values: dict[str, ast.expr] = {}
    for node in nodes_of(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            stores[node.id] = stores.get(node.id, 0) + 1
        elif isinstance(node, ast.Assign):
            for target in node.targets:
                pairs = (
                    zip(target.elts, node.value.elts, strict=False)
                    if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple)
                    else ((target, node.value),)
                )
                values |= {one.id: value for one, value in pairs if isinstance(one, ast.Name)}
    numbers: dict[str, int] = {}
    for name, value in values.items():
        number = _number(value, numbers) if stores.get(name) == 1 else None
        if number is not None:
            numbers[name] = number
    return numbers


def _number(node: ast.expr, numbers: Mapping[str, int], depth: int = 0) -> int | None:
    """The value of an expression of whole numbers; None if it is something else or too large."""
    if isinstance(node, ast.Constant):
        return node.value if type(node.value) is int and abs(node.value) < _MOST_BYTES else None
    if isinstance(node, ast.Name):
        return numbers.get(node.id)
    if isinstance(node, ast.Call) and dotted_name(node.func) == ("int",) and len(node.args) == 1:
        value = node.args[0].value if isinstance(node.args[0], ast.Constant) else None
        return int(value) if isinstance(value, float) and abs(value) < _MOST_BYTES else None
    if not isinstance(node, ast.BinOp) or depth > _MOST_DEPTH:
        return None
    left, right = _number(node.left, numbers, depth + 1), _number(node.right, numbers, depth + 1)
    return None if left is None or right is None else _calculate(node.op, left, right)


def _calculate(operator: ast.operator, left: int, right: int) -> int | None:
    match operator:
        case ast.Add():
            result = left + right
        case ast.Sub():
            result = left - right
        case ast.Mult():
            result = left * right
        case ast.FloorDiv() if right:
            result = left // right
        case ast.Pow() if 0 <= right <= _MOST_EXPONENT:
            result = left**right
        case ast.LShift() if 0 <= right <= _MOST_EXPONENT:
            result = left << right
        case _:
            return None
    return result if abs(result) < _MOST_BYTES else None
