"""Mends a slip in code that can't be parsed: the last bracket, or the indent of a line.

Lines keep their numbers.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence

from app.intake.code.syntax import error_line, parses, tree_of

_MOST_CHARACTERS = 20_000
_MOST_LINES = 400
# The indents of so many places are mended.
_MOST_PLACES = 3
_OPENS_BLOCK = re.compile(
    r"(?:if|elif|else|for|while|with|try|except|finally|def|class|async)\b[^\n]{0,300}:[ \t]*(?:#.*)?$"
)
_LAST_CALL = re.compile(r"[ \t]*(?:[A-Za-z_]\w{0,60} ?= ?)?[A-Za-z_][\w.]{0,80}\(")
_MADE = (ast.Import, ast.ImportFrom, ast.Assign, ast.FunctionDef, ast.ClassDef)


def with_last_bracket(text: str) -> tuple[str, bool]:
    """The text with the bracket that its last line lacks, or without the one that it has too many."""
    lines = text.rstrip().split("\n")
    last = lines[-1]
    if len(text) > _MOST_CHARACTERS or not _LAST_CALL.match(last[:400]) or not _is_program(lines):
        return text, False
    missing = last.count("(") - last.count(")"), last.count("[") - last.count("]")
    bracket = {(1, 0): ")", (0, 1): "]"}.get(missing)
    if bracket and not last.rstrip().endswith((",", "=", "(", "[")):
        mended = f"{last}{bracket}"
    elif missing == (-1, 0) and last.endswith(")"):
        mended = last[:-1]
    else:
        return text, False
    result = "\n".join([*lines[:-1], mended]) + "\n"
    return (result, True) if parses(result) else (text, False)


def _is_program(lines: Sequence[str]) -> bool:
    """Whether the lines above the last one are code, or the only line prints."""
    above = tree_of("\n".join(lines[:-1]))
    is_code = above is not None and any(isinstance(each, _MADE) for each in above.body)
    return is_code or (not "".join(lines[:-1]).strip() and lines[-1].lstrip().startswith("print("))


def with_right_indents(text: str) -> tuple[str, int]:
    """The text in which lines whose indent can't be right have that of the line above, and their number."""
    lines = text.split("\n")
    if len(text) > _MOST_CHARACTERS or len(lines) > _MOST_LINES:
        return text, 0
    for place in range(1, _MOST_PLACES + 1):
        at = error_line("\n".join(lines))
        if at is None or not _mend(lines, at - 1):
            break
        mended = "\n".join(lines)
        if parses(mended):
            return mended, place
    return text, 0


def _mend(lines: list[str], at: int) -> bool:
    """Give a line the indent that it has to have; False if another thing is wrong there."""
    if not 0 < at < len(lines) or not lines[at].strip():
        return False
    above = next((line for line in reversed(lines[:at]) if line.strip()), "")
    indent, of_above = _indent(lines[at]), _indent(above)
    opens = _OPENS_BLOCK.match(above.strip()) is not None
    if opens and indent <= of_above and _is_last(lines, at):
        lines[at] = f"{' ' * (of_above + 4)}{lines[at].strip()}"
        return True
    if opens or indent == of_above or not above.strip():
        return False
    if indent > of_above:
        return _move(lines, at, of_above - indent)
    # The indent is that of no line above.
    levels = {_indent(line) for line in lines[:at] if line.strip()}
    if indent in levels:
        return False
    return _move(lines, at, min(levels, key=lambda level: abs(level - indent)) - indent)


def _move(lines: list[str], start: int, by: int) -> bool:
    """Move a line, and those below it that are indented as far."""
    indent = _indent(lines[start])
    at = start
    while at < len(lines) and (not lines[at].strip() or _indent(lines[at]) >= indent):
        if lines[at].strip():
            lines[at] = f"{' ' * (_indent(lines[at]) + by)}{lines[at].lstrip()}"
        at += 1
    return True


def _is_last(lines: Sequence[str], at: int) -> bool:
    """Whether a blank line or the end is below: otherwise nobody knows how many lines belong to the block."""
    return at + 1 >= len(lines) or not lines[at + 1].strip()


def _indent(line: str) -> int:
    return len(line.expandtabs(4)) - len(line.expandtabs(4).lstrip())
