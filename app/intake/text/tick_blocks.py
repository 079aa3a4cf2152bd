"""Puts a fence around code of several lines that stands between single backticks."""

from __future__ import annotations

import re
from collections.abc import Sequence

from app.intake.code.syntax import parses

_OPENS = re.compile(r"[ \t]{0,3}(?P<ticks>`{1,2})(?!`)(?P<code>[^`\n]*)$")
_CLOSES = re.compile(r"(?P<code>[^`\n]*?)(?P<ticks>`{1,2})[ \t]*$")
_LEAST_LINES = 2
_MOST_LINES = 300
_MOST_STARTS = 20


def fenced_ticks(lines: Sequence[str], inside: Sequence[bool], *, fence: str) -> list[str]:
    """The lines with such code in a fence, if it is Python. `inside`: whether a line belongs to a fence."""
    result: list[str] = []
    at = starts = 0
    while at < len(lines):
        code: list[str] | None = None
        end = at
        opening = None if inside[at] or starts >= _MOST_STARTS else _OPENS.match(lines[at])
        if opening:
            starts += 1
            code, end = _code_from(lines, inside, at, opening)
        if code is None:
            result.append(lines[at])
            at += 1
            continue
        result += ["", fence, *code, fence, ""]
        at = end + 1
    return result


def _code_from(
    lines: Sequence[str], inside: Sequence[bool], start: int, opening: re.Match[str]
) -> tuple[list[str] | None, int]:
    """The code of the lines from `start` on, and its last line; None if it never ends or is no Python."""
    code = [opening["code"]] if opening["code"].strip() else []
    for at in range(start + 1, min(start + _MOST_LINES, len(lines))):
        if inside[at]:
            break
        if "`" not in lines[at]:
            code.append(lines[at])
            continue
        closing = _CLOSES.fullmatch(lines[at])
        if closing is None or closing["ticks"] != opening["ticks"]:
            break
        code += [closing["code"]] if closing["code"].strip() else []
        is_code = sum(bool(line.strip()) for line in code) >= _LEAST_LINES and parses("\n".join(code))
        return (code if is_code else None), at
    return None, start
