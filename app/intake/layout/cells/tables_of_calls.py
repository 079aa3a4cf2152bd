"""Makes a session of a table with a column of calls, and one with what each of them gives."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence

from app.intake.code.names import unbound_names
from app.intake.code.syntax import tree_of
from app.intake.layout.labelled_blocks import EXPECTED, SEEN, side_of_label
from app.intake.layout.side_tables import Table, table_of
from app.intake.sessions.prompts import is_literal
from app.intake.snippets.parts import Part, PartKind
from app.intake.snippets.repairs import USUAL_IMPORTS
from app.intake.words.distributions import KNOWN_MODULES
from app.intake.words.vocabulary import EXCEPTION_LINE, is_printed_line

_COMPUTES = (ast.Call, ast.BinOp, ast.Compare, ast.Subscript, ast.BoolOp, ast.UnaryOp)
_SEEN_HEADS = re.compile(
    r"(?:the )?(?:actual|got|get|gives|i get|is|observed|seen|wrong|results?|outputs?|prints?|printed"
    r"|what (?:happens|happened|i (?:get|got|see)|it (?:gives|returns|prints))"
    r"|returned|returns|value|today|now|current|currently)(?: (?:results?|outputs?|values?))?",
    re.IGNORECASE,
)
_RIGHT_HEADS = re.compile(
    r"(?:what )?(?:i want(?:ed)?|should(?: \w{1,12}){0,3}|it should (?:be|give|return))", re.IGNORECASE
)
_DIGITS = 4
_MOST_CELL = 300


def with_tables_of_calls(parts: Sequence[Part]) -> list[Part]:
    """The parts, with such a session behind its table, if the report has no other code."""
    if any(part.kind in {PartKind.CODE, PartKind.FOREIGN} for part in parts):
        return [*parts]
    for at, part in enumerate(parts):
        table = table_of(part.text) if part.kind is PartKind.PROSE and "|" in part.text else []
        if session := _session_of(table, part.heading):
            return [*parts[:at], *session, *parts[at + 1 :]]
    return [*parts]


def _session_of(table: Table, heading: str) -> list[Part]:
    heads = [cell.strip("`*_: ") for cell in table[0]] if table else []
    right = [
        at for at, head in enumerate(heads) if side_of_label(head) == EXPECTED or _RIGHT_HEADS.fullmatch(head)
    ]
    calls = [at for at in range(len(heads)) if table[1:] and all(_is_call(row[at]) for row in table[1:])]
    seen = [at for at, head in enumerate(heads) if at not in {*right, *calls} and _SEEN_HEADS.fullmatch(head)]
    seen = seen or [at for at, head in enumerate(heads) if side_of_label(head) == SEEN]
    if len(calls) != 1 or len(seen) != 1 or len(right) > 1:
        return []
    rows = [[cell.strip("`* ") for cell in row] for row in table[1:]]
    # A call that gives the right value would only hide which of them does not.
    wrong = [row for row in rows if not right or row[seen[0]] != row[right[0]]]
    if right and _are_alike([row[seen[0]] for row in wrong], [row[right[0]] for row in wrong]):
        # Lines are looked for in any order, and the right value of one call is the wrong one of another.
        wrong = wrong[:1]
    values = [row[seen[0]] for row in wrong]
    if not wrong or not all(map(_is_value, values)) or _ends_early(values):
        return []
    code = "\n".join(row[calls[0]] for row in wrong)
    parts = [
        Part(PartKind.CODE, code, heading, transcript=True),
        Part(PartKind.OUTPUT, "\n".join(values), heading, SEEN, transcript=True),
    ]
    wishes = [row[at] for at in right for row in wrong]
    if wishes and all(map(_is_value, wishes)):
        parts.append(Part(PartKind.OUTPUT, "\n".join(wishes), heading, EXPECTED))
    return parts


def _is_value(cell: str) -> bool:
    return is_literal(cell) or is_printed_line(cell)


def _are_alike(values: Sequence[str], wishes: Sequence[str]) -> bool:
    """Whether a value is also the right one of another row, perhaps with other digits."""
    pairs = [(one, wish) for at, one in enumerate(values) for to, wish in enumerate(wishes) if at != to]
    return any(one.startswith(wish[:_DIGITS]) or wish.startswith(one[:_DIGITS]) for one, wish in pairs)


def _ends_early(values: Sequence[str]) -> bool:
    """Whether an error stands above another value."""
    return any(EXCEPTION_LINE.fullmatch(value) for value in values[:-1])


def _is_call(cell: str) -> bool:
    """Whether a cell computes something of names that are known."""
    tree = tree_of(cell.strip("`* ")[:_MOST_CELL])
    if tree is None or len(tree.body) != 1 or not isinstance(tree.body[0], ast.Expr):
        return False
    if not isinstance(tree.body[0].value, _COMPUTES) or _is_number(tree.body[0].value):
        return False
    return set(unbound_names(tree)) <= {*USUAL_IMPORTS, *KNOWN_MODULES}


def _is_number(value: ast.expr) -> bool:
    return isinstance(value, ast.UnaryOp) and isinstance(value.operand, ast.Constant)
