"""The pictures on the page of a report, and the picture of a report as a file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from app.runs.lookup.history import Point
from app.runs.run_object.bisection_document import BisectionDocument, PointPart
from app.runs.run_object.document import JobPart, RunDocument
from app.targets.target import label_without_toolchain
from app.web.pictures.heat_map import heat_map_of, heat_map_picture
from app.web.pictures.marks import Mark, Shape, Strip, legend, strip_words
from app.web.pictures.rates import has_rates, rates_picture, rates_words
from app.web.pictures.strip import strip_picture, strips_file
from app.web.text.labels import look
from app.web.text.short_texts import one_line
from app.web.text.text_budget import take_bytes
from app.web.views.grid.build import natural_order
from app.web.views.grid.strips import SHAPES, strips_of
from app.web.views.runs import label_of

# More results than these are a heat map, and so many versions are drawn in it.
MANY, MOST_VERSIONS = 20, 40
# A heat map with more bytes is only on a page of its own.
MOST_BYTES = 2_500
# The most points of a bisection that are drawn: those that were tried go first.
MOST_POINTS = 24
# The most machines whose rates are drawn.
MOST_WITH_RATES = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class MachinePicture:
    """One machine: its strip and its rates, and the same in words. Empty where there is nothing to draw."""

    label: str
    hardware: str
    strip: Markup
    words: str
    rates: Markup
    rates_words: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MapPicture:
    """The heat map of many results, and what its shapes mean; both are empty for few results.

    `older` versions and `more` targets are not drawn.
    """

    heat_map: str = ""
    legend: str = ""
    older: int = 0
    more: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportPictures:
    """The machines with strips or rates, what the shapes of strips mean, and the heat map.

    `older` versions are not drawn in the strips.
    """

    machines: tuple[MachinePicture, ...]
    legend: str
    older: int
    map: MapPicture

    @property
    def fits(self) -> bool:
        """Whether the page has room for the heat map. It has a page of its own in any case."""
        return 0 < len(self.map.heat_map) <= MOST_BYTES


def report_pictures(points: Sequence[Point], scripts: Sequence[str]) -> ReportPictures:
    """The pictures of a history, newest point first. `scripts` has digests in the order of their numbers."""
    strips = strips_of(points, scripts)
    has_strips = strips.are_worth_a_picture
    rated = [strip for strip in strips.strips if has_rates(strip)][:MOST_WITH_RATES]
    drawn = strips.strips if has_strips else rated
    machines = tuple(_machine(strip, with_strip=has_strips, with_rates=strip in rated) for strip in drawn)
    pictures = ReportPictures(
        machines=machines,
        legend=legend(strips.shapes) if has_strips else "",
        older=strips.older,
        map=MapPicture() if has_strips else report_map(points, scripts),
    )
    # A page with a large picture shows less of long texts.
    take_bytes(sum(len(one.strip) + len(one.rates) for one in machines))
    take_bytes(len(pictures.map.heat_map) if pictures.fits else 0)
    return pictures


def report_map(points: Sequence[Point], scripts: Sequence[str]) -> MapPicture:
    """The heat map of a history with many results."""
    strips = strips_of(points, scripts, most=MOST_VERSIONS)
    return _map(strips.strips, strips.versions, older=strips.older)


def _map(strips: Sequence[Strip], columns: Sequence[str], *, older: int = 0) -> MapPicture:
    drawn = [mark.shape for strip in strips for mark in strip.marks if mark.shape is not Shape.UNTRIED]
    if len(drawn) <= MANY:
        return MapPicture()
    heat_map = heat_map_of(strips, columns)
    words = legend([each for each in Shape if each in set(drawn)])
    return MapPicture(heat_map=heat_map_picture(heat_map), legend=words, older=older, more=heat_map.more)


def run_picture(run: RunDocument) -> MapPicture:
    """The cells of a run: targets without their toolchains are rows, toolchains are columns."""
    toolchains = tuple(sorted({job.target.toolchain for job in run.jobs}, key=natural_order)[-MOST_VERSIONS:])
    numbers = {script.digest: number for number, script in enumerate(run.report.scripts, start=1)}
    rows: dict[str, dict[str, Mark]] = {}
    for job in run.jobs:
        label = label_without_toolchain(job.target)
        label = f"script {numbers.get(job.script, 0)}, {label}" if len(numbers) > 1 else label
        rows.setdefault(label, {})[job.target.toolchain] = _cell_mark(job)
    strips = [
        Strip(
            label=one_line(label, 80),
            hardware="",
            marks=tuple(
                marks.get(name) or Mark(version=name, shape=Shape.UNTRIED, words="") for name in toolchains
            ),
        )
        for label, marks in rows.items()
    ]
    return _map(strips, toolchains)


def _cell_mark(job: JobPart) -> Mark:
    """One cell. It is not drawn before it is judged, and without a claim."""
    counts = f", {job.matched} of {job.of}" if job.of else ""
    return Mark(
        version=job.target.toolchain,
        shape=SHAPES.get(job.verdict, Shape.UNTRIED) if job.verdict else Shape.UNTRIED,
        words=one_line(f"{label_of(job)}: {look(job.verdict).name}{counts}", 120),
        href=f"/jobs/{job.id}",
        matched=job.matched,
        of=job.of,
    )


def _machine(strip: Strip, *, with_strip: bool, with_rates: bool) -> MachinePicture:
    return MachinePicture(
        label=strip.label,
        hardware=strip.hardware,
        strip=strip_picture(strip) if with_strip else Markup(),
        words=strip_words(strip) if with_strip else "",
        rates=rates_picture(strip) if with_rates else Markup(),
        rates_words=rates_words(strip) if with_rates else "",
    )


def bisection_picture(bisection: BisectionDocument) -> MachinePicture | None:
    """The strip of a bisection's points, oldest or lowest first. None before anything was measured."""
    points = bisection.points
    if len(points) > MOST_POINTS:
        points = [point for point in points if point.of or point.untold][-MOST_POINTS:]
    marks = tuple(_point_mark(bisection.axis, point) for point in points)
    if all(mark.shape in {Shape.UNTRIED, Shape.HATCHED} for mark in marks):
        return None
    strip = Strip(label=one_line(bisection.axis, 80), hardware="", marks=marks)
    return _machine(strip, with_strip=True, with_rates=False)


def _point_mark(axis: str, point: PointPart) -> Mark:
    shape = Shape.HATCHED if point.untold or point.given_up else Shape.UNTRIED
    if point.of:
        shape = Shape.FULL if point.seen == point.of else Shape.PART if point.seen else Shape.EMPTY
    counts = f"{point.seen} of {point.of}" if point.of else "no answer" if point.untold else "not tried"
    return Mark(
        version=one_line(point.value, 30),
        shape=shape,
        words=one_line(f"{axis} {point.value}: {counts}", 120),
        matched=point.seen if point.of else None,
        of=point.of or None,
    )


def report_picture_file(what: str, points: Sequence[Point], scripts: Sequence[str]) -> str:
    """The strips of a report as a file of its own, under one sentence of ours.

    The report's own text is not in it.
    """
    strips = strips_of(points, scripts)
    return strips_file(one_line(what, 200), strips.strips, package=strips.package)
