"""Finds scripts that define functions and call none of them, and makes their tests run."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass

from app.intake.code.decorators.known_decorators import (
    FUNCTIONS,
    makes_decorators,
    may_run_functions,
    names_assigned,
    names_of_wrapped,
    only_wraps,
)
from app.intake.code.syntax import dotted_name, normalise, tree_of

_Function = ast.FunctionDef | ast.AsyncFunctionDef
_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_MOST_STATEMENTS = 5_000
# A class of these bases is made without code of theirs.
# They change the function that they are given, and call nothing.
_COPY_NAMES = {("wraps",), ("update_wrapper",), ("partial",)}
_PLAIN_BASES = {("object",), ("Module",), ("Function",), ("Dataset",), ("Exception",), ("TestCase",)}


@dataclass(frozen=True, slots=True)
class Tests:
    """The tests of a script. `plain`: they are functions without parameters, decorators and a class."""

    names: tuple[str, ...]
    unittest: bool
    plain: bool


def only_defines(tree: ast.Module) -> bool:
    """True if the script defines functions or classes, and no statement of it does anything with them.

    Imports, constants, set-up calls such as `torch.manual_seed(0)` and docstrings show nothing.
    """
    body = tree.body[:_MOST_STATEMENTS]
    wrappers = _wrappers_of(body)
    return _uses_nothing(body, wrappers) and not any(
        _runs_at_definition(statement, wrappers) for statement in body
    )


def leaves_calls_to_decorators(tree: ast.Module) -> bool:
    """True if nothing calls the functions of a script, unless one of their unknown decorators does."""
    body = tree.body[:_MOST_STATEMENTS]
    own = {statement.name for statement in body if isinstance(statement, _DEFINITIONS)}
    return (
        may_run_functions(body, own)
        and _uses_nothing(body, {})
        and not any(_runs_at_definition(statement, {}, decorated=False) for statement in body)
    )


def _uses_nothing(body: list[ast.stmt], wrappers: Mapping[str, ast.FunctionDef]) -> bool:
    """True if there are definitions, and the other statements only prepare something."""
    names = {statement.name for statement in body if isinstance(statement, _DEFINITIONS)}
    names |= {name for statement in body for name in _names_of_lambda(statement)}
    names |= {name for statement in body for name in names_of_wrapped(statement, names)}
    if not names or any(
        isinstance(statement, ast.ClassDef) and _does_something(statement) for statement in body
    ):
        return False
    return all(
        isinstance(statement, (*_DEFINITIONS, ast.Import, ast.ImportFrom))
        or bool(_names_of_lambda(statement) or names_of_wrapped(statement, names))
        or makes_decorators(statement, body, names)
        or _only_prepares(statement, names)
        or _only_wraps(statement, wrappers)
        for statement in body
    )


def leaves_tests(tree: ast.Module) -> bool:
    """True if the script calls none of its tests: it only defines, or only assigns what they use."""
    return only_defines(tree) or all(
        isinstance(statement, (*_DEFINITIONS, ast.Import, ast.ImportFrom, ast.Assign, ast.AnnAssign))
        or (isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant))
        for statement in tree.body
    )


def _names_of_lambda(statement: ast.stmt) -> list[str]:
    """The names in `name = lambda: …`, which defines a function too."""
    if not isinstance(statement, ast.Assign) or not isinstance(statement.value, ast.Lambda):
        return []
    return names_assigned(statement)


def tests_of(tree: ast.Module) -> Tests | None:
    """The tests that pytest or unittest would collect; None if there are none."""
    classes = [
        statement
        for statement in tree.body
        if isinstance(statement, ast.ClassDef)
        and any(dotted_name(base)[-1:] == ("TestCase",) for base in statement.bases)
        and any(_is_test(part) for part in statement.body)
    ]
    if classes:
        return Tests(tuple(each.name for each in classes), unittest=True, plain=False)
    functions = [statement for statement in tree.body if _is_test(statement)]
    grouped = [
        statement
        for statement in tree.body
        if isinstance(statement, ast.ClassDef)
        and statement.name.startswith("Test")
        and any(_is_test(part) for part in statement.body)
    ]
    if not functions and not grouped:
        return None
    plain = not grouped and all(
        isinstance(each, ast.FunctionDef) and not each.decorator_list and not _parameters(each)
        for each in functions
    )
    return Tests(
        tuple(each.name for each in (*functions, *grouped) if isinstance(each, _DEFINITIONS)),
        unittest=False,
        plain=plain,
    )


def call_of(tests: Tests) -> str:
    """The lines below the script that run its tests."""
    if tests.unittest:
        return "if __name__ == '__main__':\n    __import__('unittest').main()\n"
    if tests.plain:
        return "\n".join(f"{name}()" for name in tests.names) + "\n"
    # pytest imports the script: it must not start a second pytest then.
    return (
        "if __name__ == '__main__':\n    import pytest\n\n"
        "    raise SystemExit(pytest.main(['-q', '-p', 'no:cacheprovider', __file__]))\n"
    )


def _is_test(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef) and statement.name.startswith("test")


def _parameters(function: ast.FunctionDef) -> list[ast.arg]:
    arguments = function.args
    return [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]


def _only_prepares(statement: ast.stmt, names: set[str]) -> bool:
    """True for a constant, a docstring, and a call by name of something that is not defined here."""
    if any(isinstance(part, ast.Name) and part.id in names for part in ast.walk(statement)):
        return False
    if isinstance(statement, ast.Assign | ast.AnnAssign):
        return isinstance(
            statement.value, ast.Constant | ast.List | ast.Tuple | ast.Dict | ast.Attribute | ast.Name
        )
    if isinstance(statement, ast.Expr):
        call = statement.value
        if isinstance(call, ast.Constant):
            return True
        return isinstance(call, ast.Call) and dotted_name(call.func)[-1:] in {
            ("manual_seed",),
            ("seed",),
            ("filterwarnings",),
            ("simplefilter",),
            ("set_printoptions",),
            ("set_default_dtype",),
            ("basicConfig",),
        }
    return isinstance(statement, ast.Pass)


def _does_something(statement: ast.ClassDef) -> bool:
    """True if the body of a class does more than define."""
    return any(
        isinstance(part, ast.For | ast.While | ast.With | ast.If | ast.Try)
        or (isinstance(part, ast.Expr) and isinstance(part.value, ast.Call))
        for part in statement.body
    )


def _runs_at_definition(
    statement: ast.stmt, wrappers: Mapping[str, ast.FunctionDef], *, decorated: bool = True
) -> bool:
    """True if a definition itself runs code: by a decorator, a default, a metaclass or a base that is a call.

    A decorator such as `@torch.jit.script` compiles the function where it is defined. One of the script's
    own `wrappers` calls nothing. Those of functions count only if `decorated`.
    """
    if isinstance(statement, ast.ClassDef) and (
        statement.keywords or any(isinstance(base, ast.Call) for base in statement.bases)
    ):
        return True
    if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef) and any(
        isinstance(part, ast.Call)
        for value in (*statement.args.defaults, *statement.args.kw_defaults)
        if value is not None
        for part in ast.walk(value)
    ):
        return True
    if not isinstance(statement, _DEFINITIONS) or (not decorated and isinstance(statement, FUNCTIONS)):
        return False
    return not all(only_wraps(part) or _is_wrapper(part, wrappers) for part in statement.decorator_list)


def _wrappers_of(body: Sequence[ast.stmt]) -> dict[str, ast.FunctionDef]:
    """The decorators of a script that run nothing, and the functions that make such a decorator.

    A class is its `__init__` without the instance.
    """
    functions = (
        _initialiser(statement) if isinstance(statement, ast.ClassDef) else statement for statement in body
    )
    return {
        function.name: function
        for function in functions
        if isinstance(function, ast.FunctionDef)
        and not function.decorator_list
        and (_gives_back(function) or all(map(_only_assigns, function.body)))
    }


def _initialiser(definition: ast.ClassDef) -> ast.FunctionDef | None:
    """How a plain class keeps what it is called with, under the name of the class."""
    methods = [part for part in definition.body if isinstance(part, ast.FunctionDef)]
    inits = [part for part in methods if part.name == "__init__" and part.args.args]
    if definition.bases or definition.keywords or definition.decorator_list or len(inits) != 1:
        return None
    if any(part.name == "__new__" for part in methods) or _gives_back(inits[0]):
        return None
    arguments = copy(inits[0].args)
    arguments.args = arguments.args[1:]
    init = copy(inits[0])
    init.name, init.args = definition.name, arguments
    return init


def _gives_back(function: ast.FunctionDef) -> ast.stmt | None:
    """The statement at the end that returns a function; None if the function does more than define one."""
    *rest, last = function.body
    inner = [part for part in rest if isinstance(part, _Function)]
    if not isinstance(last, ast.Return) or any(_runs_at_definition(part, {}) for part in inner):
        return None
    if not all(part in inner or _only_assigns(part) for part in rest):
        return None
    value = last.value
    while isinstance(value, ast.Call) and _copies_names(value):
        # `return wraps(f)(inner)` and `return update_wrapper(inner, f)`.
        value = value.args[0] if value.args else None
    return last if isinstance(value, ast.Name | ast.Lambda) else None


def _only_assigns(statement: ast.stmt) -> bool:
    if isinstance(statement, ast.Expr):
        value = statement.value
        return isinstance(value, ast.Constant) or (isinstance(value, ast.Call) and _copies_names(value))
    return isinstance(statement, ast.Assign | ast.AnnAssign | ast.Pass) and not any(
        isinstance(part, ast.Call | ast.BinOp) for part in ast.walk(statement)
    )


def _copies_names(call: ast.Call) -> bool:
    """Whether it is `update_wrapper(inner, f)`, or `wraps(f)(inner)`."""
    name = call.func.func if isinstance(call.func, ast.Call) else call.func
    return dotted_name(name)[-1:] in _COPY_NAMES and not any(
        isinstance(part, ast.Call) for argument in call.args for part in ast.walk(argument)
    )


def _is_wrapper(decorator: ast.expr, wrappers: Mapping[str, ast.FunctionDef]) -> bool:
    """Whether a decorator is a wrapper of the script, or made by one with plain arguments."""
    if isinstance(decorator, ast.Name):
        return decorator.id in wrappers and _takes(wrappers[decorator.id], 1)
    if not isinstance(decorator, ast.Call) or not isinstance(decorator.func, ast.Name):
        return False
    maker = wrappers.get(decorator.func.id)
    given = [*decorator.args, *(keyword.value for keyword in decorator.keywords)]
    if maker is None or not _takes(maker, len(given)) or not all(map(_is_plain, given)):
        return False
    inner = _wrappers_of(maker.body)
    last = maker.body[-1]
    name = last.value.id if isinstance(last, ast.Return) and isinstance(last.value, ast.Name) else ""
    return name in inner and _takes(inner[name], 1)


def _only_wraps(statement: ast.stmt, wrappers: Mapping[str, ast.FunctionDef]) -> bool:
    """Whether it is `area = again(area)`, the longer way to write a decorator."""
    value = statement.value if isinstance(statement, ast.Assign) else None
    if not isinstance(value, ast.Call) or len(value.args) != 1 or value.keywords:
        return False
    return _is_plain(value.args[0]) and _is_wrapper(value.func, wrappers)


def _is_plain(value: ast.expr) -> bool:
    return isinstance(value, ast.Constant | ast.Name | ast.Attribute | ast.Lambda)


def _takes(function: ast.FunctionDef, count: int) -> bool:
    """Whether a function can be called with so many arguments."""
    arguments = function.args
    places, named = len(arguments.posonlyargs) + len(arguments.args), len(arguments.kwonlyargs)
    least = places + named - len(arguments.defaults) - sum(map(bool, arguments.kw_defaults))
    is_open = arguments.vararg is not None or arguments.kwarg is not None
    return least <= count and (is_open or count <= places + named)


def makes_classes(script: str) -> bool:
    """Whether a script defines a class whose bases or decorators run code of their own when it is made."""
    tree = tree_of(script)
    return tree is not None and any(
        isinstance(statement, ast.ClassDef)
        and (
            statement.decorator_list
            or any(dotted_name(base)[-1:] not in _PLAIN_BASES for base in statement.bases)
        )
        for statement in tree.body[:_MOST_STATEMENTS]
    )


def definition_lines(script: str) -> set[str]:
    """The lines of a script that run while it only defines: its imports and the heads of its definitions."""
    tree = tree_of(script)
    heads: set[int] = set()
    for statement in tree.body[:_MOST_STATEMENTS] if tree else ():
        if isinstance(statement, _DEFINITIONS):
            heads.update(part.lineno for part in statement.decorator_list)
            heads.add(statement.lineno)
        elif isinstance(statement, ast.Import | ast.ImportFrom):
            heads.add(statement.lineno)
    return {line.strip() for number, line in enumerate(normalise(script).split("\n"), 1) if number in heads}


def returns_outside_functions(tree: ast.Module) -> bool:
    """Whether code is the inside of a function: it returns something, and no function is around it."""
    nodes: list[ast.AST] = [*tree.body]
    while nodes:
        node = nodes.pop()
        if isinstance(node, ast.Return):
            return True
        if not isinstance(node, (*_DEFINITIONS, ast.Lambda)):
            nodes += ast.iter_child_nodes(node)
    return False
