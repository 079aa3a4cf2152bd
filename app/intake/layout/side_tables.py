"""Reads Markdown tables with a column for what is expected, or with a row or column for each device."""

from __future__ import annotations

import re
from collections.abc import Sequence

from app.intake.layout.labelled_blocks import EXPECTED, SEEN, side_of_label
from app.intake.snippets.parts import Part, PartKind
from app.intake.words.vocabulary import is_printed_line, strip_quotes

_RULE = re.compile(r"[ \t]*+\|?(?:[ \t]*+:?-++:?[ \t]*+\|?)++[ \t]*+")
_DEVICE = re.compile(r"[\s`*]*(?P<side>cpu|cuda|gpu|eager|compiled|inductor)(?::0)?[\s`*]*", re.IGNORECASE)
_ARROW = re.compile(r"\S[ \t]{1,40}(?:<[-=]{1,8}|←|⟵)[ \t]{0,8}[A-Za-z]")
_MOST_LINE = 1_000
_MOST_ROWS = 40
_MOST_LINES = 2_000

Table = list[list[str]]


def with_tables_of_sides(parts: Sequence[Part]) -> list[Part]:
    """The parts, with outputs behind each table that shows two sides of the script."""
    code = "\n".join(part.text for part in parts if part.kind is PartKind.CODE)
    result: list[Part] = []
    for part in parts:
        result.append(part)
        if part.kind is PartKind.PROSE and "|" in part.text and code:
            table = table_of(part.text)
            outputs = _of_devices(table) or _of_code(table, code) or _of_remarks(table)
            result += [Part(PartKind.OUTPUT, text, part.heading, caption) for caption, text in outputs]
    return result


def table_of(text: str) -> Table:
    """The cells of the first Markdown table of a text, its head included; empty if it has none."""
    lines = text.split("\n")[:_MOST_LINES]
    for at in range(1, len(lines)):
        if "|" in lines[at] and "|" in lines[at - 1] and _RULE.fullmatch(lines[at][:_MOST_LINE]):
            end = at + 1
            while end < len(lines) and "|" in lines[end]:
                end += 1
            rows = [_cells(lines[at - 1]), *map(_cells, lines[at + 1 : end][:_MOST_ROWS])]
            return rows if len({len(row) for row in rows}) == 1 else []
    return []


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in line[:_MOST_LINE].strip().strip("|").split("|")]


def _of_devices(table: Table) -> list[tuple[str, str]]:
    """The one value of each device, as lines `cpu 1.0` and `cuda 2.0`."""
    columns = [list(column) for column in zip(*table, strict=True)]
    for rows in (table[1:], columns[1:]):
        matches = [_DEVICE.fullmatch(row[0]) for row in rows]
        sides = [match["side"].lower() for match in matches if match]
        if len(rows) == len(sides) == len(set(sides)) == 2 and all(len(row) == 2 for row in rows):
            return [
                (
                    SEEN,
                    "\n".join(
                        f"{side} {strip_quotes(row[1])}" for side, row in zip(sides, rows, strict=True)
                    ),
                )
            ]
    return []


def _of_code(table: Table, code: str) -> list[tuple[str, str]]:
    """The sides of a table whose head has one expected column, and one with words of the code: `np.rint`."""
    heads = table[0] if table else []
    right = [at for at, head in enumerate(heads) if side_of_label(head) == EXPECTED]
    seen = [at for at, head in enumerate(heads) if _is_code(head, code)]
    is_labelled = any(side_of_label(head) == SEEN for head in heads)
    if len(right) != 1 or len(seen) != 1 or is_labelled or len(table) < 2:
        return []
    inputs = [at for at in range(len(heads)) if at not in {*right, *seen}]
    if not all(is_printed_line(row[at]) for row in table[1:] for at in (*right, *seen)):
        return []
    return [
        (caption, "\n".join(" ".join(strip_quotes(row[at]) for at in (*inputs, own)) for row in table[1:]))
        for caption, own in ((SEEN, seen[0]), (EXPECTED, right[0]))
    ]


def _of_remarks(table: Table) -> list[tuple[str, str]]:
    """The rows of a table that somebody printed, if a row has an arrow with a remark behind it."""
    rows = [" | ".join(row) for row in table]
    return [(SEEN, "\n".join(rows))] if any(map(_ARROW.search, rows[1:])) else []


def _is_code(head: str, code: str) -> bool:
    name = head.strip("`* ")
    return ("." in name or "(" in name) and name.partition("(")[0] in code
