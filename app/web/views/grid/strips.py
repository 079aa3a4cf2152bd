"""The data of the pictures over versions, from the history of a report. Only our own runs are drawn."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from app.judging.judgement import Verdict
from app.runs.lookup.history import Point
from app.targets.target import label_without_toolchain
from app.web.pictures.marks import DECIDED, Mark, Shape, Strip
from app.web.text.labels import look
from app.web.text.short_texts import one_line
from app.web.views.grid.merging import Stack, stacks_of, version_order
from app.web.views.grid.table import package_name

# The newest versions that are drawn. With more machines, or more marks on all of them, there are no strips.
MOST_VERSIONS, MOST_STRIPS, MOST_MARKS = 24, 6, 72
SHAPES = {
    Verdict.REPRODUCED: Shape.FULL,
    Verdict.FLAKY: Shape.PART,
    Verdict.NOT_REPRODUCED: Shape.EMPTY,
    Verdict.DIFFERENT: Shape.OTHER,
    Verdict.CANNOT_SHOW: Shape.HATCHED,
    Verdict.NO_RESULT: Shape.HATCHED,
}
_RANKS = {shape: rank for rank, shape in enumerate(Shape)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Strips:
    """The machines, those with an answer first; the versions, oldest first; and how many older ones are cut.

    `versions` are all that some machine has tried. Each strip has a mark for each of them.
    """

    package: str
    versions: tuple[str, ...]
    strips: tuple[Strip, ...]
    older: int = 0

    @property
    def are_worth_a_picture(self) -> bool:
        """Whether something is decided, in several versions, and few enough marks for a strip a machine."""
        marks = [mark for strip in self.strips for mark in strip.marks]
        is_decided = any(mark.shape in DECIDED for mark in marks)
        are_few = len(self.strips) <= MOST_STRIPS and len(marks) <= MOST_MARKS
        return is_decided and len(self.versions) > 1 and are_few

    @property
    def shapes(self) -> list[Shape]:
        """The shapes that are drawn, for the legend."""
        drawn = {mark.shape for strip in self.strips for mark in strip.marks}
        return [each for each in Shape if each in drawn]


def strips_of(points: Sequence[Point], scripts: Sequence[str], *, most: int = MOST_VERSIONS) -> Strips:
    """The strips of a report's history, newest point first. `scripts` are digests by number.

    A machine is a target without its toolchain, on one kind of processor or card. Where several scripts ran,
    each has strips of its own.
    """
    numbers = {digest: number for number, digest in enumerate(dict.fromkeys(scripts), start=1)}
    own = [point for point in points if point.contributed_by is None and point.verdict in SHAPES]
    rows: dict[tuple[int, str], list[Point]] = defaultdict(list)
    for point in own:
        rows[numbers.get(point.script, 0), label_without_toolchain(point.target)].append(point)
    stacks = {
        (*key, hardware): stacks_of(some)
        for key, of_row in rows.items()
        for hardware, some in _by_hardware(of_row).items()
    }
    every = sorted({version for row in stacks.values() for version in row}, key=version_order)
    versions = tuple(every[-most:])
    package = points[0].package if points else "torch"
    several = len({number for number, _ in rows}) > 1
    shared = Counter((number, label) for number, label, _ in stacks)
    names = {version: package_name(package, [version]) for version in versions}
    untried = {
        version: Mark(version=version, shape=Shape.UNTRIED, words=f"{name}: not tried")
        for version, name in names.items()
    }
    strips = [
        _strip(
            f"script {number}, {label}" if several else label,
            hardware,
            row,
            Columns(names=names, untried=untried, names_hardware=shared[number, label] > 1),
        )
        for (number, label, hardware), row in stacks.items()
        if not row.keys().isdisjoint(versions)
    ]
    strips.sort(key=_rank)
    return Strips(package=package, versions=versions, strips=tuple(strips), older=len(every) - len(versions))


def _by_hardware(points: Sequence[Point]) -> Mapping[str, list[Point]]:
    """The points by their processor or card. Those that never ran belong to the only one, if it is one."""
    names = list(dict.fromkeys(point.hardware for point in points if point.hardware))
    without = names[0] if len(names) == 1 else ""
    parts: dict[str, list[Point]] = defaultdict(list)
    for point in points:
        parts[point.hardware or without].append(point)
    return parts


@dataclass(frozen=True, slots=True, kw_only=True)
class Columns:
    """The versions of a picture, with their names and the mark of a machine without a result there.

    `names_hardware`: several machines share the target, so words say which.
    """

    names: Mapping[str, str]
    untried: Mapping[str, Mark]
    names_hardware: bool


def _strip(label: str, hardware: str, row: Mapping[str, Stack], columns: Columns) -> Strip:
    name = one_line(f"{label}, {hardware}" if hardware and columns.names_hardware else label, 60)
    marks = [
        _mark(version, row[version].current[0], f"{called}, {name}")
        if version in row
        else columns.untried[version]
        for version, called in columns.names.items()
    ]
    return Strip(label=one_line(label, 80), hardware=one_line(hardware, 80), marks=tuple(marks))


def _mark(version: str, point: Point, name: str) -> Mark:
    counts = f", {point.matched} of {point.of}" if point.of else ""
    return Mark(
        version=version,
        shape=SHAPES[point.verdict] if point.verdict else Shape.HATCHED,
        words=f"{name}: {look(point.verdict).name}{counts}",
        href=f"/jobs/{point.job}",
        matched=point.matched,
        of=point.of,
    )


def _rank(strip: Strip) -> tuple[int, int, str]:
    """Machines where it flips come first, then those that show it."""
    newest = min((_RANKS[mark.shape] for mark in strip.marks), default=len(_RANKS))
    return (0 if strip.flips else 1, newest, strip.name)
