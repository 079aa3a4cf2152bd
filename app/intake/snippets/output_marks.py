"""Finds output inside a block of code: tracebacks, and lines with a mark such as `>>` or `=>`."""

from __future__ import annotations

import re
from collections.abc import Sequence

_TRACEBACK = re.compile(
    r"\s*(?:\w+(?:Error|Exception|Warning|Interrupt|Exit)\s+)?Traceback \(most recent call last\)"
)
_RULER = re.compile(r"\s*-{20,}\s*$")
# A mark that somebody wrote before a printed value. Three signs would be a prompt.
_MARKED = re.compile(
    r"[ \t]*(?:>>(?!>)|[=-]{1,2}>(?!>)|→|⇒|⟹|➜|»|#\s?=>|#>"
    r"|\[?Out(?:put)?\]?\s?(?:\[\d+\])?:(?=\s))[ \t]*(?P<value>\S.*)$"
)
# Signs that may stand before all lines of a block: comments and quotes.
_COMMON_SIGNS = ("#>", "#", "//", "--", ">>", "=>", ">", "|")


def traceback_start(lines: Sequence[str]) -> int | None:
    """The number of the first line of the first traceback; None if there is none.

    IPython draws a line above it.
    """
    at = next((at for at, line in enumerate(lines) if _TRACEBACK.match(line)), None)
    if at is None:
        return None
    return at - 1 if at and _RULER.match(lines[at - 1]) else at


def split_marked_lines(lines: Sequence[str]) -> tuple[list[str], list[str]]:
    """The lines without marked ones, which become blank, and the values behind the marks."""
    rest: list[str] = []
    values: list[str] = []
    for line in lines:
        match = _MARKED.match(line)
        rest.append("" if match else line)
        values += [match["value"]] if match else []
    return rest, values


def without_common_sign(text: str) -> str:
    """The text without the sign that all its lines begin with, such as `# `."""
    lines = text.split("\n")
    filled = [line for line in lines if line.strip()]
    for sign in _COMMON_SIGNS:
        if filled and all(line.lstrip().startswith(sign) for line in filled):
            stripped = [line.lstrip().removeprefix(sign) for line in lines]
            space = all(line.startswith(" ") or not line for line in stripped)
            return "\n".join(line.removeprefix(" ") if space else line for line in stripped)
    return text
