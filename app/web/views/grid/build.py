"""Builds the matrix of a report: merges results, folds equal rows, and cuts the table to one page."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import accumulate

from app.judging.judgement import Verdict
from app.runs.lookup.history import Point
from app.web.views.grid.merging import (
    RowKey,
    column_of,
    group_versions,
    result_key,
    row_key,
    row_of,
    stacks_of,
    version_order,
)
from app.web.views.grid.table import Fold, Grid, GridCell, Row

# So many rows without an answer that say the same are folded.
FOLDED_FROM = 4
# Nobody reads a larger table row by row: here all rows that say the same are folded.
MANY_ROWS = 24
# The limits of one page: rows, cells, and columns (the newest ones).
MOST_ROWS, MOST_CELLS, MOST_COLUMNS = 60, 120, 24
_RANKS = {verdict: rank for rank, verdict in enumerate(Verdict)}
_WITHOUT_ANSWER = {Verdict.CANNOT_SHOW, Verdict.NO_RESULT}


def build_grid(
    points: Sequence[Point], scripts: Sequence[str], *, start: int = 0, older: int = 0, each: bool = False
) -> Grid:
    """The matrix of `points`, which are newest first. `scripts` has digests in the order of their numbers.

    The page begins with row `start` and leaves out the `older` newest columns. With `each` no row is folded.
    """
    numbers = {digest: number for number, digest in enumerate(dict.fromkeys(scripts), start=1)}
    by_row: dict[RowKey, list[Point]] = {}
    for point in points:
        by_row.setdefault(row_key(point, numbers), []).append(point)
    stacks = {key: stacks_of(row_points) for key, row_points in by_row.items()}
    versions = sorted({version for row in stacks.values() for version in row}, key=version_order)
    groups = group_versions(versions, list(stacks.values()))
    package = points[0].package if points else "torch"
    last = max(min(len(groups), 1), len(groups) - older)
    first = max(0, last - MOST_COLUMNS)
    rows = sorted((row_of(key, stacks[key], groups, by_row[key]) for key in stacks), key=_row_rank)
    every, folds = (rows, ()) if each else _fold(rows)
    page_rows = [replace(row, cells=_cut(row.cells, first, last)) for row in every[start : start + MOST_ROWS]]
    return Grid(
        package=package,
        columns=tuple(column_of(package, group, stacks.values()) for group in groups[first:last]),
        rows=tuple(_with_few_cells(page_rows)),
        every=tuple(every),
        folds=tuple(replace(fold, cells=_cut(fold.cells, first, last)) for fold in folds),
        start=start,
        older=first,
        newer=len(groups) - last,
    )


def _cut(cells: Sequence[GridCell], first: int, last: int) -> tuple[GridCell, ...]:
    """The cells of the columns `first` to `last - 1`. A cell that goes on beyond them keeps its versions."""
    inside: list[GridCell] = []
    column = 0
    for cell in cells:
        span = min(column + cell.span, last) - max(column, first)
        if span > 0:
            inside.append(cell if span == cell.span else replace(cell, span=span))
        column += cell.span
    return tuple(inside)


def _with_few_cells(rows: Sequence[Row]) -> list[Row]:
    """The first rows, as long as a page has room for their cells; at least one."""
    sizes = accumulate(len(row.cells) for row in rows)
    return [
        row
        for number, (row, size) in enumerate(zip(rows, sizes, strict=True))
        if size <= MOST_CELLS or number == 0
    ]


def _row_rank(row: Row) -> tuple[int, int, int, list[tuple[int, str]], str]:
    verdict = row.newest.verdict
    rank = _RANKS[verdict] if verdict else len(_RANKS)
    settings = len(row.newest.target.settings)
    return (row.script, rank, settings, natural_order(row.label), row.contributed_by or "")


def natural_order(label: str) -> list[tuple[int, str]]:
    """Sorts `threads=9` before `threads=10`."""
    return [
        (int(part), "") if part.isdecimal() and len(part) < 10 else (0, part)
        for part in re.split(r"(\d+)", label)
    ]


def _fold(rows: Sequence[Row]) -> tuple[list[Row], tuple[Fold, ...]]:
    """Fold rows that say the same, where there are many of them. Contributed rows are never folded."""
    are_many = len(rows) > MANY_ROWS
    alike: dict[tuple[object, ...], list[Row]] = {}
    for row in rows:
        if row.contributed_by is None:
            results = tuple(
                (cell.span, cell.seen if are_many else "", *result_key(cell.point)) for cell in row.cells
            )
            alike.setdefault((row.script, results), []).append(row)
    folds = tuple(
        Fold(rows=tuple(group), cells=group[0].cells)
        for group in alike.values()
        if len(group) >= FOLDED_FROM and (are_many or _is_without_answer(group[0]))
    )
    folded = {id(row) for fold in folds for row in fold.rows}
    return [row for row in rows if id(row) not in folded], folds


def _is_without_answer(row: Row) -> bool:
    return all(cell.point is None or cell.point.verdict in _WITHOUT_ANSWER for cell in row.cells)
