"""Finds a script's own check that two values are equal, where it runs in every execution that ends well."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from app.intake.code.syntax import dotted_name

_EQUAL_TESTS = {"allclose", "equal", "array_equal", "array_equiv", "is_same_size"}
_ASSERTIONS = {
    "assert_close",
    "assert_equal",
    "assert_allclose",
    "assert_array_equal",
    "assert_array_almost_equal",
    "assert_almost_equal",
}
# With one of these, code that should be compiled may run uncompiled, without a word.
_MAY_NOT_COMPILE = (
    "suppress_errors",
    "TORCHDYNAMO_DISABLE",
    "TORCH_COMPILE_DISABLE",
    "disable=True",
    "_dynamo.disable",
)
_MOST_DEPTH = 4


def asserts_equality(tree: ast.Module, text: str) -> bool:
    """True if a statement that always runs asserts that two values are equal or close.

    Not counted are statements in a `try`, in a loop, behind a condition, or in a function that nothing calls.
    """
    if any(words in text for words in _MAY_NOT_COMPILE):
        return False
    functions = {each.name: each for each in tree.body if isinstance(each, ast.FunctionDef)}
    return any(_asserts(statement) for statement in _executed_statements(tree.body, functions, depth=0))


def _executed_statements(
    body: Sequence[ast.stmt], functions: dict[str, ast.FunctionDef], *, depth: int
) -> Iterator[ast.stmt]:
    for statement in body:
        if isinstance(statement, ast.Return | ast.Raise):
            return
        if isinstance(statement, ast.With):
            yield from _executed_statements(statement.body, functions, depth=depth)
        elif isinstance(statement, ast.If):
            if _is_main_guard(statement.test):
                yield from _executed_statements(statement.body, functions, depth=depth)
            elif any(isinstance(part, ast.Return | ast.Raise) for part in ast.walk(statement)):
                # The rest may not run.
                return
        else:
            yield statement
            called = _called_function(statement, functions)
            if called is not None and depth < _MOST_DEPTH:
                yield from _executed_statements(called.body, functions, depth=depth + 1)


def _is_main_guard(test: ast.expr) -> bool:
    return isinstance(test, ast.Compare) and isinstance(test.left, ast.Name) and test.left.id == "__name__"


def _called_function(statement: ast.stmt, functions: dict[str, ast.FunctionDef]) -> ast.FunctionDef | None:
    value = statement.value if isinstance(statement, ast.Expr | ast.Assign) else None
    if isinstance(value, ast.Call) and isinstance(value.func, ast.Name):
        function = functions.get(value.func.id)
        # A decorator may replace the function.
        return function if function is not None and not function.decorator_list else None
    return None


def _asserts(statement: ast.stmt) -> bool:
    if isinstance(statement, ast.Assert):
        test = statement.test
        return isinstance(test, ast.Call) and _last_name(test) in _EQUAL_TESTS
    call = statement.value if isinstance(statement, ast.Expr) else None
    return isinstance(call, ast.Call) and _last_name(call) in _ASSERTIONS


def _last_name(call: ast.Call) -> str:
    return ("", *dotted_name(call.func))[-1]
