"""Finds a script whose statements each stand between backticks, on a line or a list item of their own."""

from __future__ import annotations

import re
from collections.abc import Sequence

from app.intake.code.syntax import parses
from app.intake.words.vocabulary import EXCEPTION_LINE

_STATEMENT = re.compile(
    r"[ \t>]*+(?:(?:\d{1,3}[.)]|[-*+])[ \t]*+)?(?P<ticks>`{1,2})(?P<code>[^`\n]{2,1000})(?P=ticks)"
    r"[.,;:]?[ \t]*$"
)
_LEAST = 2


_SNIPPET = re.compile(r"(?<!`)`([^`\n]{2,400})`(?!`)")
_IMPORT = re.compile(r"(?:import|from) \w")


def statements_in_sentence(texts: Sequence[str]) -> tuple[int, list[str]] | None:
    """(text, statements) of the first sentence such as `Run `import math`, then `math.sqrt(-1)``.

    The first statement imports something. Snippets that are no Python end the run.
    """
    for at, text in enumerate(texts):
        snippets = [match[1].strip() for match in _SNIPPET.finditer(text)]
        start = next((place for place, snippet in enumerate(snippets) if _IMPORT.match(snippet)), None)
        if start is None:
            continue
        statements: list[str] = []
        for snippet in snippets[start:]:
            if not parses(snippet) or EXCEPTION_LINE.fullmatch(snippet):
                break
            statements.append(snippet)
        if len(statements) >= _LEAST and not all(map(_IMPORT.match, statements)):
            return at, statements
    return None


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
