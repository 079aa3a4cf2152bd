"""Finds the script of a report without a block: a call in the title, or lines `I type X and get Y`."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence

from app.intake.code.syntax import tree_of
from app.intake.snippets.parts import Part, PartKind
from app.intake.words.languages import in_english

_CALL = re.compile(r"(?<![\w.])[A-Za-z_][\w.]{0,60}\(")
# The words behind a call that say what it does.
_DOES = re.compile(
    r"\W{0,2}(?:now |still |wrongly |always |just |incorrectly |sometimes )?(?:returns?|gives?|yields?"
    r"|prints?|outputs?|is|are|equals|evaluates? to|results? in|raises?|throws?|fails?|crash(?:es)?|hangs?"
    r"|=|!=|->|→)",
    re.IGNORECASE,
)
_TYPES = re.compile(
    r"[ \t>*-]{0,6}(?:(?:if |when )?(?:i|we|you|one) )?(?:types?|typed|typing|enter(?:ed|s)?|inputs?|write"
    r"|wrote|runs?|ran|do|did|execute[ds]?|evaluate[ds]?|comput(?:e|ed)|calculate[ds]?)[ :]{1,2}"
    r"(?P<code>\S.{0,200}?)[ ,;]{1,2}(?:(?:and|then|but) )?(?:(?:i|we|you|it) )?"
    r"(?:gets?|got|see|saw|obtain(?:ed)?|says|gives|gave|prints|returns|shows|receive[ds]?)[ :]{1,2}"
    r"(?P<value>\S.{0,200})",
    re.IGNORECASE,
)
_SIGNS = re.compile(r"[-+*/%(\[<>]")
_MOST_TITLE = 400
_MOST_LINE = 500
_MOST_LINES = 20
_MOST_ENDS = 12


def with_statements_of_prose(parts: Sequence[Part], title: str) -> list[Part]:
    """The parts with the script that the prose or the title holds; as they are if there is other code."""
    if any(part.kind in {PartKind.CODE, PartKind.FOREIGN} for part in parts):
        return [*parts]
    pairs = typed_values([part.text for part in parts if part.kind is PartKind.PROSE])
    codes = [code for code, _ in pairs]
    if not codes and (call := _call_of(title)):
        codes = [call]
    if not codes:
        return [*parts]
    return [Part(PartKind.CODE, "\n".join(codes), transcript=True), *parts]


def typed_values(texts: Sequence[str]) -> list[tuple[str, str]]:
    """(code, value) of each line `I type X and get Y`."""
    lines = [line for text in texts for line in text.split("\n")]
    matches = [_TYPES.fullmatch(line[:_MOST_LINE]) for line in lines if "`" in line or _SIGNS.search(line)]
    pairs = [(match["code"].strip("`\"' "), match["value"].strip("`\"' .!")) for match in matches if match]
    return [(code, value) for code, value in pairs if _computes(code)][:_MOST_LINES]


def _call_of(title: str) -> str:
    """The call in a title whose next word says what it does."""
    line = in_english(title[:_MOST_TITLE])
    for match in _CALL.finditer(line):
        ends = [at + 1 for at in range(match.end(), len(line)) if line[at] == ")"][:_MOST_ENDS]
        for end in ends:
            code = line[match.start() : end]
            if _DOES.match(line, end) and _computes(code):
                return code
    return ""


def _computes(code: str) -> bool:
    """Whether it is one expression that works on values which stand in it."""
    tree = tree_of(code)
    if tree is None or len(tree.body) != 1 or not isinstance(tree.body[0], ast.Expr):
        return False
    nodes = list(ast.walk(tree.body[0]))
    has_value = any(isinstance(node, ast.Constant) and node.value is not Ellipsis for node in nodes)
    is_open = any(isinstance(node, ast.Constant) and node.value is Ellipsis for node in nodes)
    return has_value and not is_open and isinstance(tree.body[0].value, ast.Call | ast.BinOp | ast.Compare)
