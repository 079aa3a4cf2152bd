"""Adds the calls that a report tells in words to a script that only defines functions and classes."""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Collection, Iterator

from app.intake.code.names import bound_names, mentioned_names, undefined_names
from app.intake.code.syntax import nodes_of, tree_of

_SNIPPET = re.compile(r"(?<!`)`([^`\n]{3,300})`(?!`)")
_FENCE = re.compile(r"[ >]*+(?:```|~~~)")
_PROMPT = re.compile(r"[ \t]*+>>> ?(.{3,300})$")
_BUILTINS = frozenset(dir(builtins))
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_MOST_TEXT = 60_000
_MOST_SNIPPETS = 60
_MOST_CALLS = 8


def told_calls(tree: ast.Module, words: str) -> list[str]:
    """The lines that call what a script defines, as the report or a docstring tells.

    Only calls count whose names the script defines. A function that nobody says to call is not called.
    """
    calls: dict[str, None] = {}
    # A parameter of a function is no value.
    known = _bound_outside(tree) | _BUILTINS
    for snippet in _snippets(tree, words):
        if len(calls) == _MOST_CALLS:
            break
        statement = tree_of(snippet)
        if snippet not in calls and statement is not None and _calls_own(statement, tree, known):
            calls[snippet] = None
            known |= bound_names(statement)
    is_told = any(_is_call_of_own(each, tree) for each in calls)
    return [_line(call, tree) for call in calls] if is_told else []


def _snippets(tree: ast.Module, words: str) -> Iterator[str]:
    """The snippets between backticks, and then the prompts in docstrings."""
    inside, tries = False, 0
    for line in words[:_MOST_TEXT].split("\n"):
        if ("```" in line or "~~~" in line) and _FENCE.match(line):
            inside = not inside
        elif not inside and "`" in line:
            for snippet in _SNIPPET.finditer(line):
                tries += 1
                if tries <= _MOST_SNIPPETS:
                    yield snippet[1].strip()
    for node in tree.body:
        if isinstance(node, (*_FUNCTIONS, ast.ClassDef)):
            for line in (ast.get_docstring(node) or "").split("\n")[:_MOST_SNIPPETS]:
                if match := _PROMPT.match(line):
                    yield match[1].strip()


def _calls_own(statement: ast.Module, tree: ast.Module, known: Collection[str]) -> bool:
    """Whether it calls something with values that it or the script has."""
    body = statement.body
    if (
        len(body) != 1
        or not isinstance(body[0], ast.Expr | ast.Assign)
        or not set(undefined_names(statement)) <= set(known)
    ):
        return False
    nodes = nodes_of(statement)
    calls = [node for node in nodes if isinstance(node, ast.Call)]
    is_open = any(isinstance(node, ast.Constant) and node.value is Ellipsis for node in nodes)
    own = {each.name: each for each in tree.body if isinstance(each, _FUNCTIONS)}
    return (
        (bool(calls) or isinstance(body[0], ast.Assign))
        and not is_open
        and all(
            not isinstance(call.func, ast.Name)
            or call.func.id not in own
            or len(call.args) + len(call.keywords) >= _least_arguments(own[call.func.id])
            or any(isinstance(each, ast.Starred) for each in call.args)
            for call in calls
        )
    )


def _bound_outside(tree: ast.Module) -> set[str]:
    """The names that the script binds outside its functions and classes."""
    names: set[str] = set()
    for statement in tree.body:
        if isinstance(statement, (*_FUNCTIONS, ast.ClassDef)):
            names.add(statement.name)
        else:
            names |= bound_names(ast.Module([statement], []))
    return names


def _is_call_of_own(call: str, tree: ast.Module) -> bool:
    statement = tree_of(call)
    own = {each.name for each in tree.body if isinstance(each, (*_FUNCTIONS, ast.ClassDef))}
    return statement is not None and bool(own & mentioned_names(statement))


def _least_arguments(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    arguments = function.args
    count = len(arguments.posonlyargs) + len(arguments.args) - len(arguments.defaults)
    return count + sum(default is None for default in arguments.kw_defaults)


def _line(call: str, tree: ast.Module) -> str:
    """The statement that shows the value of a call, as a prompt does."""
    statement = tree_of(call)
    value = statement.body[0] if statement is not None else None
    if not isinstance(value, ast.Expr):
        return call
    coroutines = {each.name for each in tree.body if isinstance(each, ast.AsyncFunctionDef)}
    node = value.value
    if isinstance(node, ast.Await):
        call, node = call.partition("await")[2].strip(), node.value
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in coroutines:
        call = f"__import__('asyncio').run({call})"
    return f'__import__("sys").displayhook({call})'
