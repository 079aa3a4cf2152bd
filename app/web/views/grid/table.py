"""The parts of the matrix: columns, cells, rows, folded rows, and the names of versions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from app.judging.judgement import Verdict
from app.judging.verdict.rates import homogeneity, rate_interval
from app.runs.lookup.history import Point

# A table with more cells than this is dense: each cell says only what it must.
DENSE_FROM = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """One version, or several neighbouring versions with the same result on all targets."""

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
    """One result over one column or more. `point` is its newest point, None where nothing was tried."""

    span: int
    versions: tuple[str, ...]
    point: Point | None
    seen: str = ""
    # Every job behind this cell printed the same bytes, and none was flaky.
    exact: bool = False
    times: int = 0
    runs: frozenset[str] = frozenset()
    # The counts of a flaky result in the newest job of each version. A test found no difference.
    rates: tuple[tuple[int, int], ...] = ()
    # An earlier, other result of the same version.
    before: Point | None = None
    # The result of the next older version in this row, if it is another one.
    older: Point | None = None

    @property
    def name(self) -> str:
        """The versions of this cell."""
        return span_name(self.versions)

    @property
    def rate_words(self) -> str:
        """How often a flaky result was seen, over all versions of this cell, with its interval."""
        matched, of = (sum(numbers) for numbers in zip(*self.rates, strict=True)) if self.rates else (0, 0)
        interval = rate_interval(matched, of)
        if interval is None:
            return ""
        test = homogeneity(self.rates)
        over = f" over {len(self.rates)} versions, which differ no more than by chance" if test else ""
        return f"{matched} of {of} ({100 * interval.low:.0f} to {100 * interval.high:.0f} %){over}"


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
    """Rows with equal results, shown as one. `cells` are those of the first row."""

    rows: tuple[Row, ...]
    cells: tuple[GridCell, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Grid:
    """The table.

    `rows` are the rows of this page, cut to its columns. `every` has all rows that are not folded, with all
    versions.
    """

    package: str
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    every: tuple[Row, ...]
    folds: tuple[Fold, ...]
    start: int = 0
    # The numbers of columns that are older and newer than those of this page.
    older: int = 0
    newer: int = 0

    @property
    def labels(self) -> list[str]:
        """The targets of the rows that the page shows, folded ones too."""
        folded = [row.label for fold in self.folds for row in fold.rows]
        return [*(row.label for row in self.rows), *folded]

    @property
    def dense(self) -> bool:
        """True if a cell shows only its verdict, how often, and the observation. The rest is on its page."""
        return sum(len(row.cells) for row in self.rows) > DENSE_FROM

    @property
    def verdicts(self) -> list[Verdict]:
        """The verdicts on this page, strongest first. The page explains each of them once."""
        cells = [
            *(cell for row in self.rows for cell in row.cells),
            *(cell for fold in self.folds for cell in fold.cells),
        ]
        present = {cell.point.verdict for cell in cells if cell.point is not None}
        return [verdict for verdict in Verdict if verdict in present]

    @property
    def total(self) -> int:
        """The number of rows that are not folded."""
        return len(self.every)

    @property
    def next_start(self) -> int | None:
        """The first row of the next page. None on the last page."""
        end = self.start + len(self.rows)
        return end if end < self.total else None


def span_name(versions: Sequence[str]) -> str:
    """`2.6`, or `2.1 to 2.5`."""
    if not versions or versions == ("",):
        return "version not known"
    return versions[0] if len(versions) == 1 else f"{versions[0]} to {versions[-1]}"


def package_name(package: str, versions: Sequence[str]) -> str:
    """The versions with the name of their package: `torch 2.6`."""
    name = span_name(versions)
    return f"{'Python' if package == 'python' else package} {name}" if name[:1].isdigit() else name
