"""Reads reports whose script checks itself, by an assertion or by words that it prints."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence

from app.intake.claim.claim_text import output_check
from app.intake.claim.claims import Check, CheckKind, Role
from app.intake.code.syntax import nodes_of, normalise, tree_of
from app.intake.words.languages import in_english
from app.intake.words.vocabulary import FLAGS, MODALS, any_of

_SHOULD = any_of(MODALS, "would have to")
_ASSERT = r"assert(?:ion|ions|s)?(?: statements?)?"
# `the assertion passes, but it should not`, `the assert holds although it should fail`.
_PASSES_WRONGLY = re.compile(
    rf"\b{_ASSERT}\b[^.\n]{{0,40}}?\b(?:pass(?:es)?|holds?|succeeds?|goes through|is true|works)\b"
    rf"[^.\n]{{0,40}}?\b{_SHOULD}(?:n['’]t| not| fail\b| raise\b)",
    FLAGS,
)
# `assert x == 2` that is wanted: `I'd like that `assert …` goes through`.
_INLINE = re.compile(r"`(assert [^`\n]{3,300})`")
_WANTED = re.compile(
    rf"\b(?:{_SHOULD}|expect\w*|want\w*|like|correct|right|ought|desired|hope\w*|instead)\b", FLAGS
)
# In a comment beside the assertion.
_COMMENT = re.compile(
    rf"(?:pass(?:es)?|holds?|succeeds?|true|ok|works)\b.{{0,40}}\b(?:{_SHOULD}|but)\b.{{0,20}}\b(?:not|n['’]t|fail|false)"
    rf"|{_SHOULD}(?: not|n['’]t) (?:pass|hold|be true|succeed)|{_SHOULD} fail\b",
    FLAGS,
)
# Words about assertions, and about what no assertion at the end of a script would show.
_OTHER_MATTERS = re.compile(
    r"\bassert|\bmemory\b|\bleak|\bslow|\bfaster\b|\bspeed|\bperformance\b|\bhangs?\b|\bstuck\b|\bdeadlock"
    r"|\bcrash|\bsegfault|\bwarn|\bdeprecat|\bmessage\b|\bdocument",
    re.IGNORECASE,
)
# An assertion about the machine or the versions says nothing about the bug.
_ABOUT_MACHINE = re.compile(r"is_available|device_count|version|platform|environ|exists\(")
_MOST = 400
# `# Fail, 2 NaNs.`, `# this one fails`, `# does not hold`, above or beside an assertion.
_FAILS = re.compile(
    r"(?:(?:but|and|now|here|so|however|also)\b,? ?){0,2}"
    r"(?:(?:this|that|it|which|(?:this|the) (?:\w{1,12} )?(?:assert\w*|check|test|one|line)) ){0,2}"
    r"(?:(?:also|always|still|now|then) )?"
    r"(?:fail(?:s|ed|ing|ure)?|(?:raises|throws|gives)(?: an?)? assertion ?error|assertion ?error"
    r"|does(?:n['’]t| not) (?:hold|pass)|is not (?:true|met)|blows up|breaks|boom)"
    r"(?: (?:here|too|now|again|badly))?(?:\W{0,4}$|[,;:.!?–—(-]{1,3}(?P<rest> .{0,200})?$)",
    FLAGS,
)
# Such words make it a condition, a wish or something of another place.
_NOT_HERE = re.compile(
    rf"\b(?:{_SHOULD}|if|when|unless|until|without|before|used to|previously|older?"
    r"|only (?:on|in|with)|not here"
    r"|fixed|no longer|sometimes|on (?:windows|linux|mac\w*|arm\w*|gpus?|cuda|cpu))\b|\d\.\d+\.\d",
    FLAGS,
)
_MOST_COMMENTS_ABOVE = 3
# A script that prints such words speaks of its own check.
_FAILED = re.compile(
    r"(?:test )?(?:fail(?:ed|ure|s)?|wrong|bug|mismatch|not (?:equal|the same|close|ok)|differ(?:s|ent|ence)?"
    r"|incorrect|broken|inconsistent|unequal|nok)\b",
    re.IGNORECASE,
)


def asserted_checks(texts: Sequence[str], main: str) -> list[Check]:
    """The check that the script's last assertion holds, if the report says that another one should hold."""
    tree = tree_of(normalise(main))
    asserts = [each for each in tree.body if isinstance(each, ast.Assert)] if tree else []
    if not asserts or (tree and any(isinstance(node, ast.Try) for node in tree.body)):
        return []
    lines = normalise(main).split("\n")
    for statement in asserts:
        comment = lines[(statement.end_lineno or 1) - 1].partition("#")[2]
        if comment and _COMMENT.search(in_english(comment[:_MOST])):
            return _holds(ast.unparse(statement))
    if len(asserts) > 1:
        return []
    own = asserts[0].test
    for text in texts:
        for line in text.split("\n"):
            if _PASSES_WRONGLY.search(line[:_MOST]):
                return _holds(line[:_MOST])
            match = _INLINE.search(line)
            if match and _WANTED.search(line[:_MOST]) and _is_opposite(own, match[1]):
                return _holds(line[:_MOST])
    return []


def marked_assertion(main: str) -> list[Check]:
    """The failure of the first assertion of which a comment above it or beside it says that it fails."""
    tree = tree_of(normalise(main)) if "assert" in main and "#" in main else None
    if tree is None or any(isinstance(node, ast.Try) for node in nodes_of(tree)) or "raises(" in main.lower():
        return []
    lines = normalise(main).split("\n")
    asserts = sorted(filter(_is_assertion, nodes_of(tree)), key=lambda node: getattr(node, "lineno", 0))
    for statement in asserts:
        if isinstance(statement, ast.stmt) and (words := _words_at(lines, statement)):
            text = f"{ast.unparse(statement)}  # {words}"[:_MOST]
            error = AssertionError.__name__
            return [Check(text=text, kind=CheckKind.EXCEPTION, exception_type=error, at=statement.lineno)]
    return []


def _is_assertion(node: ast.AST) -> bool:
    return isinstance(node, ast.stmt) and _error_of_check(node, is_inner=False) != ""


def _words_at(lines: Sequence[str], statement: ast.stmt) -> str:
    """The comment that says that a statement fails: beside it, or right above it."""
    beside = lines[(statement.end_lineno or 1) - 1].partition("#")[2]
    above: list[str] = []
    for line in reversed(lines[: statement.lineno - 1][-_MOST_COMMENTS_ABOVE:]):
        if not line.strip().startswith("#"):
            break
        above.append(line)
    for comment in [beside, *above]:
        words = in_english(comment.strip(" \t#")[:_MOST])
        if (fails := _FAILS.fullmatch(words)) and not _NOT_HERE.search(fails["rest"] or ""):
            return words
    return ""


def own_check(texts: Sequence[str], main: str) -> list[Check]:
    """The failure of the script's own check, for a report that says nothing else that can be checked."""
    return _failing_assertion(texts, main) or _printed_failure(main)


def _failing_assertion(texts: Sequence[str], main: str) -> list[Check]:
    """The check that the assertion at the end of the script fails. Empty if the script does not end with one.

    It counts where a report says nothing else that can be checked: its script then says what is right. Words
    about assertions that are not understood may say the opposite, and a leak is not gone since one holds.
    """
    if any(_OTHER_MATTERS.search(text) for text in texts):
        return []
    tree = tree_of(normalise(main))
    last = _last_statement(tree)
    error = "" if last is None else _error_of_check(last, is_inner=tree is not None and last not in tree.body)
    if last is None or not error or _ABOUT_MACHINE.search(text := ast.unparse(last)):
        return []
    return [Check(text=text[:_MOST], kind=CheckKind.EXCEPTION, exception_type=error, at=last.lineno)]


def _last_statement(tree: ast.Module | None) -> ast.stmt | None:
    """The statement with which the script ends, inside of its blocks and of the function it calls last."""
    if tree is None:
        return None
    functions = {each.name: each.body for each in tree.body if isinstance(each, ast.FunctionDef)}
    body = tree.body
    last: ast.stmt | None = None
    while body:
        last = body[-1]
        body = last.body if isinstance(last, ast.For | ast.While | ast.With | ast.If) else []
        called = last.value.func if isinstance(last, ast.Expr) and isinstance(last.value, ast.Call) else None
        if isinstance(called, ast.Name):
            # Each function is followed once, so one that calls itself ends.
            body = functions.pop(called.id, [])
    return last


def _error_of_check(statement: ast.stmt, *, is_inner: bool) -> str:
    """The error with which a statement says that its check failed; empty if it is no check.

    It is an assertion, or a call of one such as `np.testing.assert_allclose(a, b)`, or `raise` in a block.
    """
    if isinstance(statement, ast.Assert):
        return "AssertionError"
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
        return "AssertionError" if _name_of(statement.value.func).startswith("assert_") else ""
    if is_inner and isinstance(statement, ast.Raise):
        error = statement.exc.func if isinstance(statement.exc, ast.Call) else statement.exc
        return _name_of(error)
    return ""


def _name_of(expression: ast.expr | None) -> str:
    if isinstance(expression, ast.Attribute):
        return expression.attr
    return expression.id if isinstance(expression, ast.Name) else ""


def _printed_failure(main: str) -> list[Check]:
    """The words with which a script's only own check says that it failed: `if a != b: print("fail")`.

    The words of the other branch are expected. It counts where nothing else can be checked.
    """
    tree = tree_of(normalise(main))
    tests = [
        (bug, right)
        for node in (nodes_of(tree) if tree else ())
        if isinstance(node, ast.If) and _compares(node.test)
        for branches in ((node.body, node.orelse), (node.orelse, node.body))
        for bug, right in [tuple(map(_printed_words, branches))]
        if _FAILED.match(bug)
    ]
    if len(tests) != 1:
        return []
    bug, right = tests[0]
    expected = [output_check((right,), role=Role.EXPECTED)] if right else []
    return [output_check((bug,)), *expected]


def _printed_words(body: Sequence[ast.stmt]) -> str:
    """The constant beginning of what the first statement prints: `fail` of `print(f"fail, {a}")`."""
    call = body[0].value if body and isinstance(body[0], ast.Expr) else None
    if not (isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "print"):
        return ""
    first = call.args[0] if call.args else None
    if isinstance(first, ast.JoinedStr) and first.values:
        first = first.values[0]
    value = first.value if isinstance(first, ast.Constant) else None
    return value.strip(" ,:;.-=\n\t") if isinstance(value, str) else ""


def _compares(test: ast.expr) -> bool:
    return any(isinstance(node, ast.Compare | ast.Call) for node in ast.walk(test))


def _holds(text: str) -> list[Check]:
    """That an AssertionError is missing, and that it should be there."""
    return [
        Check(text=text, kind=CheckKind.NO_ERROR, exception_type="AssertionError"),
        Check(text=text, kind=CheckKind.EXCEPTION, role=Role.EXPECTED, exception_type="AssertionError"),
    ]


def _is_opposite(own: ast.expr, text: str) -> bool:
    """Whether both can't hold: equal left sides and other right sides, or `==` and `!=` of the same sides."""
    tree = tree_of(text)
    other = tree.body[0].test if tree and tree.body and isinstance(tree.body[0], ast.Assert) else None
    if not isinstance(own, ast.Compare) or not isinstance(other, ast.Compare):
        return isinstance(other, ast.UnaryOp) and isinstance(other.op, ast.Not) and _same(other.operand, own)
    if len(own.ops) != 1 or len(other.ops) != 1 or not _same(own.left, other.left):
        return False
    same_right = _same(own.comparators[0], other.comparators[0])
    kinds = {type(own.ops[0]), type(other.ops[0])}
    if same_right:
        return kinds in ({ast.Eq, ast.NotEq}, {ast.Is, ast.IsNot}, {ast.In, ast.NotIn})
    constants = isinstance(own.comparators[0], ast.Constant) and isinstance(
        other.comparators[0], ast.Constant
    )
    return constants and kinds <= {ast.Eq, ast.Is}


def _same(one: ast.expr, other: ast.expr) -> bool:
    return ast.dump(one) == ast.dump(other)
