"""Puts fences that stand beside code on lines of their own, and closes those that nobody closed."""

from __future__ import annotations

import re
from collections.abc import Sequence

from app.intake.code.syntax import parses

_FENCE = re.compile(r"[ >]*+(`{3,}+(?=[^`]*$)|~{3,}+)[ \t]*+(.*)$")
# A heading, a line of nothing but bold words, and a folded section. `###output` is a comment.
_HEADING = re.compile(
    r" {0,3}#{1,6} +[^\W\d_].{0,120}$|\*\*[^*\n]{2,80}\*\*:?[ \t]*$|<details\b", re.IGNORECASE
)
# Code beside the sign that opens or closes a block: "```from sympy import *", "print(x)```".
_CODE_AFTER = re.compile(
    r" {0,3}```[ \t]*+(?P<code>(?:import|from)[ \t]+\w[^`\n]{0,200}|>>> ?[^`\n]{1,200}|[A-Za-z_][\w.]{0,60}"
    r"(?:\(| = )[^`\n]{0,200})$"
)
_CODE_BEFORE = re.compile(r"(?P<code>[^`\n]{0,400}[^`\s])```[ \t]*$")
_MOST_LINES = 300
# The parser is tried on at most this many sections, of at most this many characters.
_MOST_SECTIONS = 40
_MOST_CHARACTERS = 20_000


def closed_fences(text: str) -> str:
    """The text with a fence that stays open closed before the first section that is no Python."""
    if not ("```" in text or "~~~" in text):
        return text
    lines = text.split("\n")
    start = _open_start(lines)
    if start is None:
        return text
    match = _FENCE.match(lines[start])
    headings = [at for at in range(start + 1, len(lines)) if _HEADING.match(lines[at])]
    for at, end in zip(headings[:_MOST_SECTIONS], [*headings[1:], len(lines)], strict=False):
        if not _is_code(lines[at:end]):
            return "\n".join([*lines[:at], match[1] if match else "```", "", *lines[at:]])
    return text


def separated_fences(text: str) -> str:
    """The text with a fence that opens or closes a block of Python beside code on a line of its own."""
    if "```" not in text:
        return text
    result: list[str] = []
    opened, was_beside, tries = None, False, 0
    for line in text.split("\n"):
        if "```" not in line:
            result.append(line)
            continue
        if opened is None and (after := _CODE_AFTER.match(line)):
            opened, was_beside = len(result), True
            result += ["```", after["code"]]
            continue
        before = _CODE_BEFORE.match(line) if opened is not None else None
        if before and opened is not None and tries < _MOST_SECTIONS and len(result) - opened <= _MOST_LINES:
            tries += 1
            if was_beside or parses("\n".join([*result[opened + 1 :], before["code"]])):
                result += [before["code"], "```"]
                opened, was_beside = None, False
                continue
        if _FENCE.match(line):
            opened, was_beside = (len(result) if opened is None else None), False
        result.append(line)
    return "\n".join(result)


def _open_start(lines: Sequence[str]) -> int | None:
    """The line that opens the fence that goes on to the end of the text."""
    start, sign = None, ""
    for at, line in enumerate(lines):
        match = _FENCE.match(line) if "```" in line or "~~~" in line else None
        if match is None:
            continue
        if start is None:
            start, sign = at, match[1]
        elif match[1].startswith(sign) and not match[2].strip():
            start = None
    return start


def _is_code(section: Sequence[str]) -> bool:
    """Whether a section is Python below its heading, which is a comment then."""
    text = "\n".join(section)
    if section[0].lstrip()[:1] != "#":
        return False
    # The last section before other text of the fence may begin inside an indented block.
    first = next((line for line in section[1:] if line.strip()), "")
    indent = first[: len(first) - len(first.lstrip())]
    body = "\n".join(line.removeprefix(indent) for line in section[1:])
    return len(text) <= _MOST_CHARACTERS and (parses(text) or parses(body))
