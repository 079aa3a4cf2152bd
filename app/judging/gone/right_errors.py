"""Tells that a bug is gone because the claimed statement raises an error that the report calls right.

The error has to come from the statement that the claim is about, and not from one before it.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from collections.abc import Set as AbstractSet

from app.intake.claim.claims import ANY_ERROR, Check, CheckKind, Claim, Role
from app.intake.code.names import bound_names, used_names
from app.intake.code.syntax import tree_of
from app.judging.output.failure_signature import last_name
from app.judging.output.warnings_of import SCRIPT_PATH
from worker.contract import Outcome, Result

_KINDS = {
    CheckKind.OUTPUT,
    CheckKind.VALUE,
    CheckKind.CRASH,
    CheckKind.EXIT_STATUS,
    CheckKind.HANG,
    CheckKind.NO_ERROR,
}
# With one of these a script breaks for reasons of its own, or of the machine.
_NO_REFUSALS = {
    *("NameError", "SyntaxError", "IndentationError", "TabError", "ImportError", "AttributeError"),
    *("FileNotFoundError", "PermissionError", "OSError", "MemoryError", "OutOfMemoryError"),
    *("RecursionError", "NotImplementedError", "EOFError", "ConnectionError", "TimeoutError"),
    *("KeyboardInterrupt", "AssertionError"),
}
# A function has other parameters than in the report.
_OTHER_PARAMETERS = re.compile(
    r"unexpected keyword argument|required (?:positional|keyword-only) argument|positional arguments? but"
    r"|takes no (?:keyword )?arguments|multiple values for argument|\b(?:removed|no longer|deprecated)\b",
    re.IGNORECASE,
)
_FRAME = re.compile(rf'^  File "{re.escape(SCRIPT_PATH)}", line (\d{{1,7}})', re.MULTILINE)
_MOST_STDERR = 1 << 16
# So many of the words of both messages are the same.
_LEAST_SHARE = 0.75


def raises_what_is_right(check: Check, result: Result, claim: Claim, script: str) -> bool:
    """Whether the attempt ended with an error that is called right, raised where the bug was."""
    exception, right_errors = result.observation.exception, claim.right_errors
    if (
        not right_errors
        or check.role is not Role.BUG
        or result.outcome is not Outcome.RAISED
        or exception is None
        or _OTHER_PARAMETERS.search(exception.message)
    ):
        return False
    name = last_name(exception.type)
    named = {last_name(each) for each in right_errors} - {ANY_ERROR}
    is_named = name in named and _says_what_is_right(name, exception.message, claim.right_values)
    if check.kind is CheckKind.EXCEPTION:
        # That one error became another is right only if the report names it.
        is_right = is_named and name != last_name(check.exception_type or "")
    else:
        is_right = check.kind in _KINDS and (
            is_named or (ANY_ERROR in right_errors and name not in _NO_REFUSALS)
        )
    return is_right and _is_raised_there(check, result.observation.stderr, script)


def _says_what_is_right(name: str, message: str, right_values: Sequence[str]) -> bool:
    """Whether most words of a message are those of a right error that the report shows, if it shows one.

    In a report about the words of an error, the wrong one and the right one have the same type.
    """
    lines = (value.partition(": ") for value in right_values)
    texts = [text for head, _, text in lines if text and last_name(head) == name]
    words = message.split()
    return not texts or any(
        sum(word in text.split() for word in words) >= _LEAST_SHARE * max(len(words), len(text.split()))
        for text in texts
    )


def _is_raised_there(check: Check, stderr: str, script: str) -> bool:
    """Whether the statement of the bug raised it, or one that the rest of the script hangs on."""
    lines = [int(line) for line in _FRAME.findall(stderr[-_MOST_STDERR:])]
    tree = tree_of(script)
    if not lines or tree is None:
        return False
    if check.at in lines:
        return True
    body = tree.body
    # Several statements may stand on one line. The last one does something.
    at = next((at for at in reversed(range(len(body))) if _holds(body[at], lines[0])), None)
    if at is None or not any(
        isinstance(node, ast.Call | ast.BinOp | ast.Subscript) for node in ast.walk(body[at])
    ):
        return False
    rest = [node for node in body[at + 1 :] if not isinstance(node, ast.Import | ast.ImportFrom)]
    if check.at is not None:
        rest = [node for node in rest if _holds(node, check.at)]
        if not rest:
            return False
    return _hang_on(rest, bound_names(body[at]))


def _holds(node: ast.stmt, line: int) -> bool:
    return node.lineno <= line <= (node.end_lineno or node.lineno)


def _hang_on(statements: Sequence[ast.stmt], names: AbstractSet[str]) -> bool:
    """Whether each of the statements uses what the ones before it bound, from `names` on."""
    for node in statements:
        if not used_names(node) & names:
            return False
        names |= bound_names(node)
    return True
