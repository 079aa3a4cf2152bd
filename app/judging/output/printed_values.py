"""The printed values of an output, one for each call of print: several lines may hold one value."""

from __future__ import annotations

import re
from collections.abc import Sequence

from app.judging.output.printed_lines import Token, tokens_of

_MOST_LINES = 2_000
_QUOTED = re.compile(r"'[^'\n]{0,400}'|\"[^\"\n]{0,400}\"")
_OPEN, _CLOSE = "([{", ")]}"


def printed_values(stdout: str, count: int | None = None) -> list[str]:
    """The values, which begin where no bracket is open. `count` is that of the calls, if it is known.

    Empty if there are other many.
    """
    lines = [line for line in stdout.splitlines()[: _MOST_LINES + 1] if line.strip()]
    if len(lines) > _MOST_LINES:
        return []
    values = _by_brackets(lines)
    if count is None or len(values) == count:
        return values
    return _tables(lines, count)


def tokens_of_value(value: str) -> list[Token]:
    """The words and numbers of a value of several lines."""
    return [token for line in value.split("\n") for token in tokens_of(line)]


def _by_brackets(lines: Sequence[str]) -> list[str]:
    values: list[list[str]] = []
    depth = 0
    for line in lines:
        if depth > 0 and values:
            values[-1].append(line)
        else:
            values.append([line])
            depth = 0
        plain = _QUOTED.sub("", line)
        depth += sum(map(plain.count, _OPEN)) - sum(map(plain.count, _CLOSE))
    return ["\n".join(value) for value in values]


def _tables(lines: Sequence[str], count: int) -> list[str]:
    """The values if they are tables of as many lines, each with an indented head above its rows."""
    size = len(lines) // count
    if size < 2 or size * count != len(lines):
        return []
    tables = [lines[at : at + size] for at in range(0, len(lines), size)]
    return ["\n".join(table) for table in tables] if all(map(_has_head, tables)) else []


def _has_head(table: Sequence[str]) -> bool:
    return table[0][:1].isspace() and not any(line[:1].isspace() for line in table[1:])
