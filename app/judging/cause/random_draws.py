"""The device on which a script draws random numbers, sides by reading its code."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

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


def compares_draws_of_devices(source: str) -> bool:
    """Whether the script compares numbers that it drew on the CPU with numbers that it drew on a device."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return _Draws(tree).are_compared


class _Draws:
    """The names that hold numbers drawn on the CPU or on a device, by one pass over the assignments."""

    def __init__(self, tree: ast.Module) -> None:
        self._functions = {
            node.name
            for node in ast.walk(tree)
            if isinstance(node, ast.FunctionDef)
            and any(isinstance(call, ast.Call) and _is_draw(call) for call in ast.walk(node))
        }
        self._on_device: set[str] = set()
        self._drawn: dict[str, set[str]] = {}
        self.are_compared = False
        for statement in _statements(tree.body):
            self._take(statement)

    def _take(self, statement: ast.stmt) -> None:
        self.are_compared = self.are_compared or any(map(self._compares, ast.walk(statement)))
        for call in ast.walk(statement):
            # `t.bernoulli_()` leaves its draws in `t`.
            if isinstance(call, ast.Call) and _is_draw(call) and isinstance(call.func, ast.Attribute):
                owner = call.func.value
                if call.func.attr in _RANDOM_IN_PLACE and isinstance(owner, ast.Name):
                    self._drawn.setdefault(owner.id, set()).update(self._sides(call))
        value = getattr(statement, "value", None)
        if not isinstance(statement, ast.Assign | ast.AnnAssign) or value is None:
            return
        targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
        for target in targets:
            if isinstance(target, ast.Name):
                self._drawn[target.id] = self._sides(value)
                if self._is_on_device(value):
                    self._on_device.add(target.id)

    def _sides(self, expression: ast.expr) -> set[str]:
        """Where the numbers of an expression were drawn: `cpu`, `cuda`, both or neither."""
        sides: set[str] = set()
        for node in ast.walk(expression):
            if isinstance(node, ast.Name):
                sides |= self._drawn.get(node.id, set())
            elif isinstance(node, ast.Call):
                sides |= self._side_of_call(node)
        return sides

    def _side_of_call(self, call: ast.Call) -> set[str]:
        function = call.func
        if isinstance(function, ast.Name) and function.id in self._functions:
            words = [
                each.value
                for each in (*call.args, *(keyword.value for keyword in call.keywords))
                if isinstance(each, ast.Constant) and isinstance(each.value, str)
            ]
            return {word.partition(":")[0] for word in words} & {"cpu", "cuda"}
        if not _is_draw(call):
            return set()
        owner = function.value if isinstance(function, ast.Attribute) else None
        moved = [keyword.value for keyword in call.keywords if keyword.arg == "device"]
        given = [*call.args, *([owner] if owner is not None else [])]
        on_device = any(not _names_cpu(each) for each in moved) or (
            not moved and any(map(self._is_on_device, given))
        )
        return {"cuda" if on_device else "cpu"}

    def _is_on_device(self, expression: ast.expr) -> bool:
        if isinstance(expression, ast.Call) and isinstance(expression.func, ast.Attribute):
            name, words = expression.func.attr, [*expression.args, *(k.value for k in expression.keywords)]
            if name == "cpu" or (name == "to" and any(map(_names_cpu, words))):
                return False
        names = {node.id for node in ast.walk(expression) if isinstance(node, ast.Name)}
        return bool(names & self._on_device) or _on_device(expression)

    def _compares(self, node: ast.AST) -> bool:
        """Whether a comparison, a difference or a call has draws of both on different sides."""
        match node:
            case ast.Compare(left=left, comparators=others):
                operands = [left, *others]
            case ast.BinOp(left=left, right=right, op=ast.Sub()):
                operands = [left, right]
            case ast.Call(func=ast.Attribute(value=owner), args=arguments):
                operands = [owner, *arguments]
            case ast.Call(args=arguments):
                operands = list(arguments)
            case _:
                return False
        sides = [self._sides(operand) for operand in operands]
        return {"cpu"} in sides and {"cuda"} in sides


def _statements(body: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    """The simple statements, in their order in the text. Bodies of functions are left out."""
    for statement in body:
        match statement:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                continue
            case ast.For() | ast.While() | ast.If() | ast.With() | ast.Try():
                for name in ("body", "orelse", "finalbody"):
                    yield from _statements(getattr(statement, name, []))
                if isinstance(statement, ast.If | ast.While):
                    yield ast.Expr(statement.test)
            case _:
                yield statement


def _is_draw(call: ast.Call) -> bool:
    name = call.func.attr if isinstance(call.func, ast.Attribute) else ""
    return name in _RANDOM | _RANDOM_LIKE | _RANDOM_IN_PLACE


def _names_cpu(expression: ast.expr) -> bool:
    return isinstance(expression, ast.Constant) and expression.value == "cpu"


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
