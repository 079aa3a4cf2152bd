"""Tells that a crash is gone because the claimed statement refuses its input with an ordinary error.

The same holds for an internal error, such as an unbound variable in a library.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence

from app.intake.claim.claims import ANY_ERROR, Check, CheckKind, Claim, Role
from app.intake.code.names import mentioned_names
from app.intake.code.syntax import nodes_of, tree_of
from app.judging.output.failure_signature import last_name
from app.judging.output.warnings_of import SCRIPT_PATH
from worker.contract import ExceptionFacts, Outcome, Result

_REFUSALS = {"ValueError", "TypeError", "RuntimeError", "IndexError", "OverflowError", "ZeroDivisionError"}
# In place of an error of any kind, only these say what is wrong with the input.
_PLAIN_REFUSALS = {"ValueError", "TypeError", "OverflowError"}
# Nobody means to raise one of these.
_INTERNAL = {"UnboundLocalError", "NameError", "SystemError", "InternalError"}
# Something is missing here, or the function is another one than in the report.
_NO_REFUSAL = re.compile(
    r"unexpected keyword argument|required (?:positional|keyword-only) argument|positional arguments? but"
    r"|takes (?:no (?:keyword )?arguments|from \d)|multiple values for argument|invalid keyword argument"
    r"|\b(?:removed|no longer|deprecated|obsolete)\b"
    r"|\bnot (?:installed|available|compiled|built|found|implemented|enabled|initialized|initialised)\b"
    r"|\b(?:no module|could not (?:find|load|open)|can(?:not|['’]t) (?:find|load|open|allocate)|no such"
    r"|(?:pip|conda) install|not? (?:cuda|gpus?|backend|kernel|drivers?)|out of memory|unable to allocate"
    r"|failed to (?:find|load|open|allocate|initiali[sz]e|compile)|permission|timed? ?out|internal assert)\b",
    re.IGNORECASE,
)
_FRAME = re.compile(rf'^  File "{re.escape(SCRIPT_PATH)}", line (\d{{1,7}})', re.MULTILINE)
_MISSING_NAME = re.compile(r"(?:name|variable) '(\w{1,80})'")
_WORD = re.compile(r"[A-Za-z_]\w{2,}")
_COMMON = {
    "print",
    "array",
    "tensor",
    "list",
    "dict",
    "type",
    "data",
    "input",
    "size",
    "value",
    "call",
    "when",
}
_MOST_TITLE = 1_000
_MOST_STDERR = 1 << 16
_INNER = ("body", "orelse", "finalbody")
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def refuses_now(check: Check, result: Result, claim: Claim, script: str) -> bool:
    """Whether the attempt ended with an error that refuses the input, at the statement that crashed.

    False if the report names the error that it asks for, and this is another one. The title has to name what
    the script uses, since a failure that does not come shows nothing about another script.
    """
    exception = result.observation.exception
    named = {last_name(each) for each in claim.right_errors} - {ANY_ERROR}
    if (
        check.role is not Role.BUG
        or check.loose
        or result.outcome is not Outcome.RAISED
        or exception is None
        or not exception.message.strip()
        or _NO_REFUSAL.search(exception.message)
        or (named and not _is_one_of(named, exception))
    ):
        return False
    if check.kind is CheckKind.CRASH:
        is_refusal = _is_refusal(exception)
    else:
        is_refusal = (
            check.kind is CheckKind.EXCEPTION
            and _is_internal(check, script)
            and exception.type in _PLAIN_REFUSALS
        )
    return (
        is_refusal
        and (check.at is not None or _is_named_in(claim.text, script))
        and _is_raised_there(check, result.observation.stderr, script)
    )


def _is_refusal(exception: ExceptionFacts) -> bool:
    """Whether the type is one of those that refuse, or one of a library that is derived from one by name."""
    name = last_name(exception.type)
    return name in _REFUSALS or ("." in exception.type and any(map(name.endswith, _REFUSALS)))


def _is_one_of(names: set[str], exception: ExceptionFacts) -> bool:
    """Whether the error is one of these, or an error of a compiled function that names one as its reason."""
    return last_name(exception.type) in names or not names.isdisjoint(_WORD.findall(exception.message))


def _is_internal(check: Check, script: str) -> bool:
    """Whether the claimed error is an internal one, and the script itself can't be its reason."""
    if last_name(check.exception_type or "") not in _INTERNAL:
        return False
    name = _MISSING_NAME.search(check.message or "")
    tree = tree_of(script)
    if tree is None:
        return False
    if last_name(check.exception_type or "") == "UnboundLocalError":
        return not any(isinstance(node, _FUNCTIONS) for node in ast.walk(tree))
    return name is None or not re.search(rf"(?<!\w){name[1]}(?!\w)", script)


def _is_named_in(title: str, script: str) -> bool:
    """Whether the title names something that the script uses, and that is no package that it imports."""
    tree = tree_of(script)
    if tree is None:
        return False
    packages = {
        name
        for node in nodes_of(tree)
        if isinstance(node, ast.Import)
        for alias in node.names
        for name in (*alias.name.split("."), alias.asname)
    }
    packages.update(
        name
        for node in nodes_of(tree)
        if isinstance(node, ast.ImportFrom)
        for name in (node.module or "").split(".")
    )
    names = mentioned_names(tree) - packages - _COMMON
    return bool(names & set(_WORD.findall(title[:_MOST_TITLE])))


def _is_raised_there(check: Check, stderr: str, script: str) -> bool:
    """Whether the claimed statement raised it; the last one of the script if none is known."""
    lines = [int(line) for line in _FRAME.findall(stderr[-_MOST_STDERR:])]
    tree = tree_of(script)
    if not lines or tree is None:
        return False
    if check.at is not None:
        return check.at in lines
    return all(
        any(_ends_with(body, line) for body in _bodies(tree)) or _is_compiled_whole(tree, line)
        for line in lines
    )


def _is_compiled_whole(tree: ast.Module, line: int) -> bool:
    """Whether a function of one statement begins at this line, which the frame of a compiled one names."""
    return any(
        isinstance(node, _FUNCTIONS)
        and len(node.body) == 1
        and line in {node.lineno, *(each.lineno for each in node.decorator_list)}
        for node in ast.walk(tree)
    )


def _bodies(tree: ast.Module) -> Iterator[Sequence[ast.stmt]]:
    """The statements of the script, and those of each of its functions."""
    yield tree.body
    yield from (node.body for node in ast.walk(tree) if isinstance(node, _FUNCTIONS))


def _ends_with(body: Sequence[ast.stmt], line: int) -> bool:
    """Whether the line belongs to the last statement of these that does something."""
    at = next((at for at in reversed(range(len(body))) if _holds(body[at], line)), None)
    if at is None or isinstance(body[at], _FUNCTIONS) or not all(map(_only_shows, body[at + 1 :])):
        return False
    inner = [each for field in _INNER if (each := getattr(body[at], field, None))]
    return any(_ends_with(each, line) for each in inner) if inner else True


def _holds(node: ast.stmt, line: int) -> bool:
    return node.lineno <= line <= (node.end_lineno or node.lineno)


def _only_shows(statement: ast.stmt) -> bool:
    """Whether a statement only prints or returns what is there: names, attributes and constants."""
    match statement:
        case ast.Pass() | ast.Import() | ast.ImportFrom():
            return True
        case ast.Return(value=value):
            values = [] if value is None else [value]
        case ast.Expr(value=ast.Call(func=ast.Name(id="print"), args=values)):
            pass
        case ast.Expr(value=value):
            values = [value]
        case _:
            return False
    return not any(
        isinstance(node, ast.Call | ast.BinOp | ast.Subscript) for each in values for node in ast.walk(each)
    )
