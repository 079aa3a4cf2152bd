"""Lets a script go on after a statement that fails as its comment says: `f([])  # raises, as expected`.

Such a statement is there for comparison. The one that the report is about stands below it. A session goes on
after any error, and so does its script where the report is not about that error.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Collection

from app.intake.code.syntax import tree_of
from app.intake.reading import Repair

_FAILS = r"(?:errors?(?: out)?|raises?|fails?|throws?|refuse[ds]?|rejects?|rejected|exception|\w{1,40}Error)"
_AS_EXPECTED = re.compile(
    rf"\b{_FAILS}\b[^.;]{{0,60}}?(?:\bas (?:expected|it should|it has to|it must)\b|\(expected\)"
    r"|\b(?:correctly|rightly)\b|\b(?:this|which|that) is (?:ok|right|correct|fine|expected)\b)"
    rf"|\b(?:correctly|rightly|properly|as expected:?) (?:it )?{_FAILS}\b"
    rf"|^(?:ok|good|fine|right|correct)\b[:,;–-]? ?(?:(?:it|this) )?{_FAILS}\b"
    rf"|^{_FAILS}[,;: (]{{1,3}}(?:ok(?:ay)?|good|fine|right|correct)\W*$"
    r"|\b(?:wie erwartet|comme prévu|come previsto|como se espera|как и ожидалось)\b",
    re.IGNORECASE,
)
_DOUBTED = re.compile(
    r"\b(?:no|not|never|without|(?<!as it )should|instead|but|however|unlike"
    r"|un\w{0,3}expected\w*|wrong\w*)\b|n['’]t\b",
    re.IGNORECASE,
)
_COMMENT = re.compile(r"(?<=[ \t)\]])#+[ \t]{0,4}(?P<text>[^#\n]{3,200})$")
_GOES_ON = '__import__("contextlib").suppress(Exception)'
_MOST_LINES = 20
_MOST_COMMENT = 400


def with_expected_failures(text: str, tree: ast.Module) -> tuple[str, tuple[Repair, ...]]:
    """The script with such statements, but for its last one, in a `with` that goes on after an error."""
    lines = text.split("\n")
    repairs: list[Repair] = []
    on_line = Counter(statement.lineno for statement in tree.body)
    for statement in tree.body[:-1]:
        at = statement.lineno - 1
        comment = _COMMENT.search(lines[at][-_MOST_COMMENT:]) if "#" in lines[at] else None
        words = comment["text"] if comment else ""
        if not words or not _AS_EXPECTED.search(words) or _DOUBTED.search(words):
            continue
        if on_line[statement.lineno] == 1 and _calls_on_one_line(statement) and len(repairs) < _MOST_LINES:
            lines[at] = f"with {_GOES_ON}: {lines[at]}"
            detail = f"Line {statement.lineno} may fail, as its comment says: the script goes on after it."
            repairs.append(Repair(code="expected_failure", detail=detail, line=statement.lineno))
    return "\n".join(lines), tuple(repairs)


def with_errors_in_passing(text: str, failing: Collection[str]) -> tuple[str, tuple[Repair, ...]]:
    """The script with these statements of a session, but for its last one, in such a `with`."""
    tree = tree_of(text) if failing else None
    if tree is None:
        return text, ()
    forms = {ast.dump(each) for statement in failing if (one := tree_of(statement)) for each in one.body}
    lines, repairs = text.split("\n"), list[Repair]()
    on_line = Counter(statement.lineno for statement in tree.body)
    for statement in tree.body[:-1]:
        number = statement.lineno
        if ast.dump(statement) in forms and on_line[number] == 1 and len(repairs) < _MOST_LINES:
            lines[number - 1] = f"with {_GOES_ON}: {lines[number - 1]}"
            detail = f"Line {number} may fail, as the session shows: the script goes on after it."
            repairs.append(Repair(code="expected_failure", detail=detail, line=number))
    return "\n".join(lines), tuple(repairs)


def _calls_on_one_line(statement: ast.stmt) -> bool:
    return (
        isinstance(statement, ast.Expr | ast.Assign)
        and statement.lineno == statement.end_lineno
        and any(isinstance(node, ast.Call | ast.BinOp | ast.Subscript) for node in ast.walk(statement))
    )
