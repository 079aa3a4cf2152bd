"""Merges the points of a report into the columns and cells of its matrix. Only equal results are merged."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import chain, groupby

from packaging.version import Version

from app.judging.judgement import INCONCLUSIVE, Verdict
from app.judging.report.change import agree
from app.judging.verdict.rates import homogeneity
from app.runs.lookup.history import Point
from app.targets.target import label_without_toolchain
from app.web.text.short_texts import one_line
from app.web.views.grid.table import Column, GridCell, Row
from worker.contract.versions import NO_VERSION, parse_version

# Here the observed value is a part of the result: another value is another result.
_COMPARED_BY_VALUE = {Verdict.DIFFERENT, Verdict.OBSERVED}


@dataclass(frozen=True, slots=True)
class Stack:
    """The points of a row in one version: those with the current result, newest first, and the last other."""

    current: tuple[Point, ...]
    before: Point | None


# The number of the script, the label without toolchain, the build, and the contributor.
RowKey = tuple[int, str, str, str | None]


def result_key(point: Point | None) -> tuple[object, ...]:
    """Two results are equal if their keys are equal."""
    if point is None:
        return ("untried",)
    code = point.reason.code if point.reason is not None else ""
    seen = one_line(point.seen) if point.verdict in _COMPARED_BY_VALUE else ""
    return (point.verdict, code, seen)


def row_key(point: Point, numbers: dict[str, int]) -> RowKey:
    """The row of a point. `numbers` has the number of each script by its digest."""
    return (
        numbers.get(point.script, 0),
        label_without_toolchain(point.target),
        point.build,
        point.contributed_by,
    )


def stacks_of(points: Iterable[Point]) -> dict[str, Stack]:
    """The points of one row, newest first, as one stack a version."""
    by_version: dict[str, list[Point]] = {}
    for point in points:
        by_version.setdefault(version_name(point), []).append(point)
    return {version: _stack(some) for version, some in by_version.items()}


# The column of contributed runs whose version is no version.
UNKNOWN_VERSION = "another version"


def version_name(point: Point) -> str:
    """The version as all other sentences spell it. A name that is none stays, unless others chose it."""
    name = point.version or point.target.toolchain
    if parse_version(name) is None:
        return name if point.contributed_by is None else UNKNOWN_VERSION
    return name


def version_order(name: str) -> tuple[int, Version, str]:
    """Sorts versions from old to new, and other names behind them."""
    version = parse_version(name)
    return (1, NO_VERSION, name) if version is None else (0, version, "")


def _stack(points: Sequence[Point]) -> Stack:
    points = _without_short_ones(points)
    conclusive = [point for point in points if point.verdict is not Verdict.NO_RESULT] or list(points)
    key = result_key(conclusive[0])
    before = next((point for point in conclusive if result_key(point) != key), None)
    end = conclusive.index(before) if before is not None else len(conclusive)
    return Stack(tuple(conclusive[:end]), before)


def _without_short_ones(points: Sequence[Point]) -> Sequence[Point]:
    """The points without those of bisections that only say again, with fewer attempts, what another one says.

    One that contradicts the newest other result stays.
    """
    verdict = next((point.verdict for point in points if point.verdict and not point.of_bisection), None)
    if verdict is None:
        return points

    def adds_nothing(point: Point) -> bool:
        return point.of_bisection and (
            point.verdict is None or point.verdict in INCONCLUSIVE or agree(point.verdict, verdict)
        )

    return [point for point in points if not adds_nothing(point)]


def group_versions(versions: Sequence[str], rows: Sequence[dict[str, Stack]]) -> list[tuple[str, ...]]:
    """Neighbouring versions are one group if each row has the same result in all of them.

    Rates of a flaky result are the same as long as a test finds no difference.
    """

    def key(version: str) -> tuple[object, ...]:
        stacks = [row.get(version) for row in rows]
        return tuple(result_key(None if stack is None else stack.current[0]) for stack in stacks)

    groups: list[tuple[str, ...]] = []
    for _, alike in groupby(versions, key=key):
        group: tuple[str, ...] = ()
        for version in alike:
            longer = (*group, version)
            if not all(may_be_one_rate(_newest_of(row, longer)) for row in rows):
                groups.append(group)
                longer = (version,)
            group = longer
        groups.append(group)
    return groups


def _newest_of(row: dict[str, Stack], versions: Iterable[str]) -> list[Point]:
    return [row[version].current[0] for version in versions if version in row]


def may_be_one_rate(points: Sequence[Point]) -> bool:
    """Whether the flaky ones among these results may be shown as one: a test finds no difference of rates.

    Without counts nothing is tested, so nothing is merged.
    """
    rates = rates_of(points)
    if sum(point.verdict is Verdict.FLAKY for point in points) != len(rates):
        return len(points) < 2
    return _is_one_rate(rates)


def rates_of(points: Sequence[Point]) -> tuple[tuple[int, int], ...]:
    """The counts of the flaky ones among these results, as far as they are known."""
    return tuple(
        (point.matched, point.of)
        for point in points
        if point.verdict is Verdict.FLAKY and point.of and point.matched is not None
    )


def _is_one_rate(rates: Sequence[tuple[int, int]]) -> bool:
    test = homogeneity(rates)
    return test is None or test.may_be_equal


def column_of(package: str, group: tuple[str, ...], rows: Iterable[dict[str, Stack]]) -> Column:
    """The column of a group of versions, with the time of its oldest and its newest point."""
    stacks = [row[version] for row in rows for version in group if version in row]
    moments = [point.at for stack in stacks for point in stack.current]
    return Column(package=package, versions=group, first_at=min(moments), last_at=max(moments))


def row_of(
    key: RowKey, stacks: dict[str, Stack], groups: Sequence[tuple[str, ...]], points: Sequence[Point]
) -> Row:
    """One row over all groups of versions. Neighbouring cells with equal results become one."""
    cells: list[GridCell] = []
    for was_tried, together in groupby(groups, key=lambda group: not stacks.keys().isdisjoint(group)):
        neighbours = list(together)
        if not was_tried:
            versions = tuple(chain.from_iterable(neighbours))
            cells.append(GridCell(span=len(neighbours), versions=versions, point=None))
            continue
        for group in neighbours:
            _append(cells, _cell(group, [stacks[version] for version in group if version in stacks]))
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


def _append(cells: list[GridCell], cell: GridCell) -> None:
    if cells and result_key(cells[-1].point) == result_key(cell.point) and _may_join(cells[-1], cell):
        cells[-1] = _join(cells[-1], cell)
        return
    older = next((each.point for each in reversed(cells) if each.point is not None), None)
    cells.append(cell if older is None else replace(cell, older=older))


def _may_join(older: GridCell, newer: GridCell) -> bool:
    if newer.point is None or newer.point.verdict is not Verdict.FLAKY:
        return True
    return bool(older.rates and newer.rates) and _is_one_rate((*older.rates, *newer.rates))


def _cell(group: tuple[str, ...], stacks: Sequence[Stack]) -> GridCell:
    points = [point for stack in stacks for point in stack.current]
    before = next((stack.before for stack in reversed(stacks) if stack.before is not None), None)
    newest = max(points, key=lambda point: point.at)
    return GridCell(
        span=1,
        versions=group,
        point=newest,
        seen=one_line(newest.seen),
        exact=_is_exact(points),
        times=len(points),
        runs=frozenset(point.run for point in points),
        rates=rates_of([stack.current[0] for stack in stacks]),
        before=before,
    )


def _is_exact(points: Sequence[Point]) -> bool:
    digests = {point.stdout_digest for point in points}
    is_steady = all(point.verdict is not Verdict.FLAKY for point in points)
    return is_steady and len(points) > 1 and len(digests) == 1 and "" not in digests


def _join(older: GridCell, newer: GridCell) -> GridCell:
    if older.point is None or newer.point is None:
        raise AssertionError("versions that were not tried are one cell from the beginning")
    same_output = older.point.stdout_digest == newer.point.stdout_digest != ""
    both_exact = all(cell.exact or cell.times == 1 for cell in (older, newer))
    return GridCell(
        span=older.span + newer.span,
        versions=older.versions + newer.versions,
        point=newer.point,
        seen=newer.seen,
        exact=same_output and older.point.verdict is not Verdict.FLAKY and both_exact,
        times=older.times + newer.times,
        runs=older.runs | newer.runs,
        rates=older.rates + newer.rates,
        before=newer.before or older.before,
        older=older.older,
    )
