"""The matrix of a report over versions: rows are targets, columns are versions, and results that are equal are merged."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import accumulate, chain, groupby

from packaging.version import InvalidVersion, Version

from app.judging.judgement import SIGHTINGS, Verdict
from app.runs.lookup.history import Point
from app.targets.target import label_without_toolchain
from app.web.text.untrusted import one_line

# Rows without an answer are folded where so many say the same; in a table that nobody reads row by row all others, too.
FOLDED_FROM = 4
MANY_ROWS = 24
# A page draws this many rows and cells at most, and versions, the newest first; in a table of more cells each says only what it must.
MOST_ROWS, MOST_CELLS, MOST_COLUMNS = 60, 120, 24
DENSE_FROM = 40
_RANKS = {verdict: rank for rank, verdict in enumerate(Verdict)}
_TELLS = {*SIGHTINGS, Verdict.NOT_REPRODUCED}
_WITHOUT_ANSWER = {Verdict.CANNOT_SHOW, Verdict.NO_RESULT}
# Of these what was seen is part of the result: another value is another result.
_BY_VALUE = {Verdict.DIFFERENT, Verdict.OBSERVED}


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """One version, or several neighbours that show the same on all targets."""

    package: str
    versions: tuple[str, ...]
    first_at: datetime
    last_at: datetime

    @property
    def name(self) -> str:
        """`torch 2.1 to 2.5`."""
        return package_name(self.package, self.versions)


@dataclass(frozen=True, slots=True, kw_only=True)
class GridCell:
    """A result over one column or several; `point` is the newest of them, None where nothing was tried.

    `exact` says that the jobs behind it printed the same, byte for byte, none of them now this, now that; `before` is
    what the same version showed earlier.
    """

    span: int
    versions: tuple[str, ...]
    point: Point | None
    seen: str = ""
    exact: bool = False
    times: int = 0
    runs: frozenset[str] = frozenset()
    before: Point | None = None
    # What an older version showed in the same row, where that was another result.
    older: Point | None = None

    @property
    def name(self) -> str:
        """The versions that it is about."""
        return span_name(self.versions)


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A target without its toolchain."""

    label: str
    build: str
    script: int
    hardware: tuple[str, ...]
    contributed_by: str | None
    cells: tuple[GridCell, ...]
    newest: Point


@dataclass(frozen=True, slots=True, kw_only=True)
class Fold:
    """Rows that say the same; `cells` are those of the first."""

    rows: tuple[Row, ...]
    cells: tuple[GridCell, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Grid:
    """The table. `rows` are those of this page, cut to its columns; `every` are all that are not folded, over all versions."""

    package: str
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    every: tuple[Row, ...]
    folds: tuple[Fold, ...]
    start: int = 0
    # Columns beside those of this page.
    older: int = 0
    newer: int = 0

    @property
    def dense(self) -> bool:
        """Whether cells say only what they must: what they look like, how often, and what was seen; all else is a link away."""
        return sum(len(row.cells) for row in self.rows) > DENSE_FROM

    @property
    def verdicts(self) -> list[Verdict]:
        """Those in sight, strongest first: what their words mean is said once."""
        cells = [
            *(cell for row in self.rows for cell in row.cells),
            *(cell for fold in self.folds for cell in fold.cells),
        ]
        found = {cell.point.verdict for cell in cells if cell.point is not None}
        return [verdict for verdict in Verdict if verdict in found]

    @property
    def total(self) -> int:
        """How many rows there are."""
        return len(self.every)

    @property
    def next_start(self) -> int | None:
        """Where the next page begins."""
        end = self.start + len(self.rows)
        return end if end < self.total else None


@dataclass(frozen=True, slots=True)
class _Stack:
    """All points of one row in one version, newest first; those of the result that stands, and the newest of another result."""

    standing: tuple[Point, ...]
    before: Point | None


_Key = tuple[int, str, str, str | None]


def grid(
    points: Sequence[Point], scripts: Sequence[str], *, start: int = 0, older: int = 0, each: bool = False
) -> Grid:
    """The grid of points that are newest first; `scripts` gives their numbers.

    `start` is the first row of the page, `older` how many of the newest columns it leaves out; with `each` no rows are folded.
    """
    numbers = {digest: number for number, digest in enumerate(dict.fromkeys(scripts), start=1)}
    stacks: dict[_Key, dict[str, _Stack]] = {}
    by_row: dict[_Key, list[Point]] = {}
    for point in points:
        by_row.setdefault(_row_key(point, numbers), []).append(point)
    for key, mine in by_row.items():
        per_version: dict[str, list[Point]] = {}
        for point in mine:
            per_version.setdefault(_version_name(point), []).append(point)
        stacks[key] = {version: _stack(found) for version, found in per_version.items()}
    versions = sorted({version for row in stacks.values() for version in row}, key=_in_order)
    groups = _columns_alike(versions, list(stacks.values()))
    package = points[0].package if points else "torch"
    last = max(min(len(groups), 1), len(groups) - older)
    first = max(0, last - MOST_COLUMNS)
    rows = sorted((_row(key, stacks[key], groups, by_row[key]) for key in stacks), key=_row_rank)
    every, folds = (rows, ()) if each else _fold(rows)
    return Grid(
        package=package,
        columns=tuple(_column(package, group, stacks.values()) for group in groups[first:last]),
        rows=tuple(
            _of_this_page(
                [
                    replace(row, cells=_within(row.cells, first, last))
                    for row in every[start : start + MOST_ROWS]
                ]
            )
        ),
        every=tuple(every),
        folds=tuple(replace(fold, cells=_within(fold.cells, first, last)) for fold in folds),
        start=start,
        older=first,
        newer=len(groups) - last,
    )


def _within(cells: Sequence[GridCell], first: int, last: int) -> tuple[GridCell, ...]:
    """The cells of some columns; one that goes on beyond them says so by its versions."""
    found: list[GridCell] = []
    at = 0
    for cell in cells:
        span = min(at + cell.span, last) - max(at, first)
        if span > 0:
            found.append(cell if span == cell.span else replace(cell, span=span))
        at += cell.span
    return tuple(found)


def _of_this_page(rows: Sequence[Row]) -> list[Row]:
    """As many rows as a page has cells for, and at least one."""
    sizes = accumulate(len(row.cells) for row in rows)
    return [
        row
        for number, (row, size) in enumerate(zip(rows, sizes, strict=True))
        if size <= MOST_CELLS or number == 0
    ]


def span_name(versions: Sequence[str]) -> str:
    """`2.6`, or `2.1 to 2.5`."""
    if not versions or versions == ("",):
        return "version not known"
    return versions[0] if len(versions) == 1 else f"{versions[0]} to {versions[-1]}"


def package_name(package: str, versions: Sequence[str]) -> str:
    """The same, saying what it is a version of."""
    name = span_name(versions)
    return f"{'Python' if package == 'python' else package} {name}" if name[:1].isdigit() else name


def result_key(point: Point | None) -> tuple[object, ...]:
    """What makes two results equal."""
    if point is None:
        return ("untried",)
    code = point.reason.code if point.reason is not None else ""
    seen = one_line(point.seen) if point.verdict in _BY_VALUE else ""
    return (point.verdict, code, seen)


def _row_key(point: Point, numbers: dict[str, int]) -> _Key:
    return (
        numbers.get(point.script, 0),
        label_without_toolchain(point.target),
        point.build,
        point.contributed_by,
    )


def _version_name(point: Point) -> str:
    """`2.13.0` is 2.13; what is no version stays as it is."""
    name = point.version or point.target.toolchain
    try:
        release = Version(name)
    except InvalidVersion:
        return name
    return (
        ".".join(map(str, release.release[:2]))
        if release.micro == 0 and not release.pre and not release.is_devrelease
        else name
    )


def _in_order(name: str) -> tuple[int, Version, str]:
    try:
        return (0, Version(name), "")
    except InvalidVersion:
        return (1, Version("0"), name)


def _stack(found: Sequence[Point]) -> _Stack:
    telling = [point for point in found if point.verdict is not Verdict.NO_RESULT] or list(found)
    key = result_key(telling[0])
    changed = next((point for point in telling if result_key(point) != key), None)
    until = telling.index(changed) if changed is not None else len(telling)
    return _Stack(tuple(telling[:until]), changed)


def _columns_alike(versions: Sequence[str], rows: Sequence[dict[str, _Stack]]) -> list[tuple[str, ...]]:
    """Neighbours in which no row shows anything else."""

    def key(version: str) -> tuple[object, ...]:
        return tuple(
            (result_key(stack.standing[0]) if (stack := row.get(version)) else result_key(None))
            for row in rows
        )

    return [tuple(group) for _, group in groupby(versions, key=key)]


def _column(package: str, group: tuple[str, ...], rows: Iterable[dict[str, _Stack]]) -> Column:
    moments = [
        point.at for row in rows for version in group if version in row for point in row[version].standing
    ]
    return Column(package=package, versions=group, first_at=min(moments), last_at=max(moments))


def _row(
    key: _Key, stacks: dict[str, _Stack], groups: Sequence[tuple[str, ...]], points: Sequence[Point]
) -> Row:
    cells: list[GridCell] = []
    for tried, together in groupby(groups, key=lambda group: not stacks.keys().isdisjoint(group)):
        found = list(together)
        if not tried:
            cells.append(GridCell(span=len(found), versions=tuple(chain.from_iterable(found)), point=None))
            continue
        for group in found:
            cell = _cell(group, [stacks[version] for version in group if version in stacks])
            if cells and result_key(cells[-1].point) == result_key(cell.point):
                cells[-1] = _joined(cells[-1], cell)
            else:
                last = next((one.point for one in reversed(cells) if one.point is not None), None)
                cells.append(cell if last is None else replace(cell, older=last))
    newest = next(cell.point for cell in reversed(cells) if cell.point is not None)
    hardware = tuple(dict.fromkeys(point.hardware for point in points if point.hardware))
    return Row(
        label=key[1],
        build=key[2],
        script=key[0],
        hardware=hardware,
        contributed_by=key[3],
        cells=tuple(cells),
        newest=newest,
    )


def _cell(group: tuple[str, ...], stacks: Sequence[_Stack]) -> GridCell:
    points = [point for stack in stacks for point in stack.standing]
    before = next((stack.before for stack in reversed(stacks) if stack.before is not None), None)
    newest = max(points, key=lambda point: point.at)
    return GridCell(
        span=1,
        versions=group,
        point=newest,
        seen=one_line(newest.seen),
        exact=_exact(points),
        times=len(points),
        runs=frozenset(point.run for point in points),
        before=before,
    )


def _exact(points: Sequence[Point]) -> bool:
    digests = {point.stdout_digest for point in points}
    steady = all(point.verdict is not Verdict.FLAKY for point in points)
    return steady and len(points) > 1 and len(digests) == 1 and "" not in digests


def _joined(one: GridCell, other: GridCell) -> GridCell:
    if one.point is None or other.point is None:
        raise AssertionError("what was not tried is one cell from the beginning")
    same = (
        one.point.stdout_digest == other.point.stdout_digest != "" and one.point.verdict is not Verdict.FLAKY
    )
    return GridCell(
        span=one.span + other.span,
        versions=one.versions + other.versions,
        point=other.point,
        seen=other.seen,
        exact=same and (one.exact or one.times == 1) and (other.exact or other.times == 1),
        times=one.times + other.times,
        runs=one.runs | other.runs,
        before=other.before or one.before,
        older=one.older,
    )


def _row_rank(row: Row) -> tuple[int, int, int, list[tuple[int, str]], str]:
    verdict = row.newest.verdict
    rank = _RANKS[verdict] if verdict else len(_RANKS)
    return (row.script, rank, len(row.newest.target.settings), _natural(row.label), row.contributed_by or "")


def _natural(label: str) -> list[tuple[int, str]]:
    """Sorts `threads=9` before `threads=10`."""
    return [(int(part), "") if part.isdecimal() else (0, part) for part in re.split(r"(\d+)", label)]


def _fold(rows: Sequence[Row]) -> tuple[list[Row], tuple[Fold, ...]]:
    """Put rows together where many say the same; what others contributed stands by itself."""
    alike: dict[tuple[object, ...], list[Row]] = {}
    for row in rows:
        if row.contributed_by is None:
            said = tuple(
                (cell.span, cell.seen if len(rows) > MANY_ROWS else "", *result_key(cell.point))
                for cell in row.cells
            )
            alike.setdefault((row.script, said), []).append(row)
    folds = tuple(
        Fold(rows=tuple(found), cells=found[0].cells)
        for found in alike.values()
        if len(found) >= FOLDED_FROM and (len(rows) > MANY_ROWS or _without_answer(found[0]))
    )
    folded = {id(row) for fold in folds for row in fold.rows}
    return [row for row in rows if id(row) not in folded], folds


def _without_answer(row: Row) -> bool:
    return all(cell.point is None or cell.point.verdict in _WITHOUT_ANSWER for cell in row.cells)


def since(table: Grid) -> str:
    """Since when it happens, or no longer does, in one sentence of versions and counts; empty where no row says so."""
    flips: dict[tuple[str, str, bool], int] = {}
    folded = [(fold.rows[0].cells, len(fold.rows)) for fold in table.folds]
    for cells, count in [*((row.cells, 1) for row in table.every), *folded]:
        told = [cell for cell in cells if cell.point is not None and cell.point.verdict in _TELLS]
        seen = [cell.point is not None and cell.point.verdict in SIGHTINGS for cell in told]
        if len(told) == 2 and seen[0] != seen[1]:
            before, after = (package_name(table.package, cell.versions) for cell in told)
            key = (before, after, seen[1])
            flips[key] = flips.get(key, 0) + count
    if len(flips) != 1:
        return ""
    [((before, after, happens), count)] = flips.items()
    where = f" (on {count} target{'' if count == 1 else 's'})"
    return (
        f"It did not happen in {before}, and happens in {after}{where}."
        if happens
        else f"It happened in {before}, and no longer in {after}{where}."
    )
