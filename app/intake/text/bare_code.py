"""Puts a fence around a program that was pasted without one.

Markdown would take it apart at its indents and comments.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from app.intake.code.syntax import parses

_START = re.compile(r"(?:import [\w., ]+|from [\w.]+ import .+)$")
# Below such a heading, a program may lack its imports.
_CODE_HEADING = re.compile(
    r"(?:#{1,6} |\*\*)(?!.{0,60}\b(?:outputs?|results?|logs?|errors?|versions?)\b)"
    r".{0,60}\b(?:code|example|repro\w{0,12}|snippet|script|mwe)\b.{0,40}$",
    re.IGNORECASE,
)
_STATEMENT = re.compile(r"[A-Za-z_][\w.]{0,60}(?:\(| = |, \w{1,30} = )")
_HEADING = re.compile(r"#{2,6} \S|#{1,6} [A-Z][\w ]{2,40}:?$")
# `cc @someone @someone-else` would be a product of matrices.
_COPY_TO = re.compile(r"[ \t]*cc:? @\w", re.IGNORECASE)
# Markdown takes an indented line for a block of its own, and a comment for a heading.
_TAKEN_APART = re.compile(r"[ \t]+\S|# \S")
_QUOTED = re.compile(r"> ?")
_TRACEBACK = re.compile(r"-{20,}\s*$|Traceback \(most recent call last\)")
# The parser is tried on at most this many beginnings, of at most this many lines and characters.
_MOST_STARTS = 6
_MOST_SHORTER = 30
_MOST_LINES = 1_500
_MOST_LINE = 200
_MOST_CHARACTERS = 60_000


def fenced_bare_code(text: str, *, fence: str) -> str:
    """The text with its first bare program in a fence, if the program has an indented line or a comment."""
    lines = _without_quotation(text.split("\n"))
    starts = [at for at, line in enumerate(lines) if _START.match(line) or _begins_section(lines, at)]
    tries, end_of_last = 0, -1
    for start in starts:
        if tries == _MOST_STARTS:
            break
        if start <= end_of_last:
            continue
        tries += 1
        end_of_last = _end_of_section(lines, start)
        end = _end_of_program(lines, start, end_of_last, lacks_imports=_START.match(lines[start]) is None)
        if end is not None:
            return "\n".join(
                [*lines[:start], "", f"{fence}python", *lines[start:end], fence, "", *lines[end:]]
            )
    return text


def _without_quotation(lines: list[str]) -> list[str]:
    """The lines, in which a quotation of a program has lost its signs."""
    plain = list(lines)
    at = 0
    while at < len(lines):
        end = at
        while end < len(lines) and _QUOTED.match(lines[end]):
            end += 1
        quotation = [_QUOTED.sub("", line) for line in lines[at:end]]
        if any(map(_START.match, quotation)):
            plain[at:end] = quotation
        at = max(end, at + 1)
    return plain


def _end_of_section(lines: Sequence[str], start: int) -> int:
    limit = min(len(lines), start + _MOST_LINES)
    return next(
        (at for at in range(start, limit) if _HEADING.match(lines[at]) or _COPY_TO.match(lines[at])), limit
    )


def _begins_section(lines: Sequence[str], at: int) -> bool:
    """Whether the line looks like a statement, and is the first one below a heading for code."""
    above = next((line for line in reversed(lines[max(0, at - 3) : at]) if line.strip()), "")
    return (
        _STATEMENT.match(lines[at][:_MOST_LINE]) is not None
        and len(above) <= _MOST_LINE
        and _CODE_HEADING.match(above) is not None
    )


def _end_of_program(lines: Sequence[str], start: int, end: int, *, lacks_imports: bool = False) -> int | None:
    """The line after the longest beginning that is Python; None if Markdown would leave it whole."""
    breaks = [
        at
        for at in range(end, start, -1)
        if at == end or not lines[at].strip() or _TRACEBACK.match(lines[at])
    ]
    for at in breaks[:_MOST_SHORTER]:
        program = "\n".join(lines[start:at])
        if not lacks_imports and not any(_TAKEN_APART.match(line) for line in lines[start:at]):
            return None
        if len(program) <= _MOST_CHARACTERS and parses(program):
            return at
    return None
