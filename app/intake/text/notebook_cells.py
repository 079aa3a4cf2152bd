"""Makes sessions of IPython of cells that were pasted as `In [1]:` or `In:` above or beside code."""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Sequence

from app.intake.code.syntax import tree_of

_IN = re.compile(r"[\s*_>`#-]{0,8}In ?\[(?P<number>[\d *]{1,6})\][\s*_`]{0,4}:?[\s*_`:]{0,6}$")
_OUT = re.compile(r"[\s*_>`#-]{0,8}Out ?\[[\d *]{1,6}\][\s*_`]{0,4}:?[\s*_:]{0,6}(?P<value>.*)$")
# `_in:_ f(1)` above `_out:_ 2`.
_LABELLED_IN = re.compile(
    r"[\s*_>-]{0,8}in(?:put)?[\s*_]{0,4}:[\s*_]{1,6}(?P<tick>`?)(?P<code>[^`\n]{2,400})(?P=tick)[ \t]*$",
    re.IGNORECASE,
)
_LABELLED_OUT = re.compile(
    r"[\s*_>-]{0,8}out(?:put)?[\s*_]{0,4}:[\s*_]{1,6}(?P<tick>`?)(?P<value>[^`\n]{1,400})(?P=tick)[ \t]*$",
    re.IGNORECASE,
)
_INDENTED = re.compile(r"(?: {4}|\t)")
_FENCE = re.compile(r"[ >]{0,8}(?:`{3,}|~{3,})")
_MOST_CELLS = 200


def sessions_of_cells(lines: Sequence[str], inside: Sequence[bool], *, fence: str) -> list[str]:
    """The lines with each run of cells and their outputs as one session in a fence."""
    result: list[str] = []
    at = 0
    while at < len(lines):
        session, end = ([], at) if inside[at] else _session(lines, inside, at)
        if session:
            result += ["", f"{fence}ipython", *session, fence, ""]
            at = end
        else:
            result.append(lines[at])
            at += 1
    return result


def _session(lines: Sequence[str], inside: Sequence[bool], start: int) -> tuple[list[str], int]:
    """The session that begins at a line, and the line behind it."""
    session: list[str] = []
    at = start
    for number in range(1, _MOST_CELLS):
        first = _next_line(lines, at) if session else at
        if first >= len(lines) or inside[first]:
            break
        cell, end = _cell(lines, inside, first)
        if not cell:
            cell, end = _labelled_pair(lines, inside, first, number)
        if not cell:
            break
        session += cell
        at = end
    return session, at


def _cell(lines: Sequence[str], inside: Sequence[bool], at: int) -> tuple[list[str], int]:
    """A cell below its label, with its outputs."""
    label = _IN.fullmatch(lines[at])
    code, end = _block(lines, inside, at + 1) if label else ([], at)
    if not label or not code or tree_of("\n".join(code)) is None:
        return [], at
    cell = [f"In [{label['number']}]: {code[0]}", *(f"   ...: {line}" for line in code[1:])]
    while end < len(lines):
        below = _next_line(lines, end)
        if below >= len(lines):
            break
        out = None if inside[below] else _OUT.fullmatch(lines[below])
        if out and out["value"].strip(" `*_"):
            cell, end = [*cell, out["value"].strip(" `*_")], below + 1
            continue
        if not out and not _INDENTED.match(lines[below]):
            break
        output, after = _block(lines, inside, below + 1 if out else below)
        if not output:
            break
        cell, end = [*cell, *output], after
    return cell, end


def _block(lines: Sequence[str], inside: Sequence[bool], start: int) -> tuple[list[str], int]:
    """The indented or fenced lines that begin at a line or below blank ones, and the line behind them."""
    at = _next_line(lines, start)
    end = at
    if at < len(lines) and inside[at] and _FENCE.match(lines[at]):
        end += 1
        while end < len(lines) and inside[end] and not _FENCE.match(lines[end]):
            end += 1
        return _bare(lines[at + 1 : end]), end + 1
    while end < len(lines) and not inside[end] and (_INDENTED.match(lines[end]) or not lines[end].strip()):
        end += 1
    return _bare(lines[at:end]), end


def _labelled_pair(
    lines: Sequence[str], inside: Sequence[bool], at: int, number: int
) -> tuple[list[str], int]:
    """A statement beside its label, with the value beside the label on the next line."""
    code = _LABELLED_IN.fullmatch(lines[at])
    below = _next_line(lines, at + 1) if code else at
    out = _LABELLED_OUT.fullmatch(lines[below]) if code and below < len(lines) and not inside[below] else None
    if code is None or out is None or not _computes(code["code"].strip()):
        return [], at
    return [f"In [{number}]: {code['code'].strip()}", out["value"].strip()], below + 1


def _computes(code: str) -> bool:
    """Whether it is an expression that computes something: no name and no value."""
    tree = tree_of(code)
    body = tree.body if tree is not None else []
    return (
        len(body) == 1
        and isinstance(body[0], ast.Expr)
        and isinstance(body[0].value, ast.Call | ast.BinOp | ast.Compare | ast.Subscript | ast.Attribute)
    )


def _bare(lines: Sequence[str]) -> list[str]:
    """The lines without their common indent and without blank lines around them."""
    return textwrap.dedent("\n".join(lines)).strip("\n").split("\n") if any(map(str.strip, lines)) else []


def _next_line(lines: Sequence[str], at: int) -> int:
    """The first line from here on that is not blank."""
    while at < len(lines) and not lines[at].strip():
        at += 1
    return at
