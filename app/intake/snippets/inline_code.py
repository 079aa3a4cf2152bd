"""Finds a script whose statements each stand between backticks, on a line or a list item of their own."""

from __future__ import annotations

import re
from collections.abc import Sequence

_STATEMENT = re.compile(
    r"[ \t>]*+(?:(?:\d{1,3}[.)]|[-*+])[ \t]*+)?(?P<ticks>`{1,2})(?P<code>[^`\n]{2,1000})(?P=ticks)"
    r"[.,;:]?[ \t]*$"
)
_LEAST = 2


def inline_statements(texts: Sequence[str]) -> tuple[int, int, list[str]] | None:
    """(first text, text after the last, statements) of the first run of such lines; None without any.

    `texts` are paragraphs that follow each other. Only whole paragraphs count, so that prose keeps its place.
    """
    start: int | None = None
    statements: list[str] = []
    for at, text in enumerate([*texts, ""]):
        lines = [line for line in text.split("\n") if line.strip()]
        matches = [_STATEMENT.match(line) for line in lines]
        if lines and all(matches):
            start = at if start is None else start
            statements += [match["code"] for match in matches if match]
        elif start is not None:
            if len(statements) >= _LEAST:
                return start, at, statements
            start, statements = None, []
    return None
