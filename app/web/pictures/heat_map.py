"""The heat map: many machines and versions as small marks. Machines with equal results share a row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from app.web.pictures.drawing import CHARACTER, link, number, picture, shape_of, words_at
from app.web.pictures.marks import Mark, Shape, Strip
from app.web.pictures.strip import TextLine

# The most marks on one page. Rows that do not fit are counted.
MOST_MARKS = 400
# Without many versions the machines stand side by side, so many in a line.
IN_LINE, _NARROW = 20, 3
_PITCH, _TOP = 15, 16
# A map of few rows and columns has larger marks, and room for the name of each version.
_FEW_ROWS, _FEW_COLUMNS, _LARGE, _WIDEST = 12, 8, 22, 46
# With five short versions it fits on a phone.
_MOST_NAME = 26
# A partly filled mark has one of these fillings, so that the map is light.
_FILLINGS = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class HeatRow:
    """Machines with equal results, by the first of them."""

    strip: Strip
    times: int

    @property
    def name(self) -> str:
        """The name of the first machine, and how many more there are."""
        return self.strip.label if self.times == 1 else f"{self.strip.label} and {self.times - 1} more"


@dataclass(frozen=True, slots=True, kw_only=True)
class HeatMap:
    """The rows that are drawn. `more` machines are left out, and `older` versions."""

    rows: tuple[HeatRow, ...]
    versions: tuple[str, ...]
    more: int = 0
    older: int = 0


def heat_map_of(strips: Sequence[Strip], versions: Sequence[str], *, older: int = 0) -> HeatMap:
    """Machines with the same shapes in all versions are one row."""
    alike: dict[tuple[Shape, ...], list[Strip]] = {}
    for strip in strips:
        alike.setdefault(tuple(mark.shape for mark in strip.marks), []).append(strip)
    rows: list[HeatRow] = []
    left, more = MOST_MARKS, 0
    for some in alike.values():
        drawn = sum(mark.shape is not Shape.UNTRIED for mark in some[0].marks)
        if drawn > left:
            more += len(some)
            continue
        left -= drawn
        rows.append(HeatRow(strip=some[0], times=len(some)))
    return HeatMap(rows=tuple(rows), versions=tuple(versions), more=more, older=older)


def heat_map_picture(heat_map: HeatMap) -> Markup:
    """Each mark is a link with its words."""
    rows, count = heat_map.rows, len(heat_map.versions)
    label = (
        f"Results of {sum(row.times for row in rows)} targets in {count} version{'s' if count > 1 else ''}"
    )
    if count <= _NARROW and len(rows) > IN_LINE:
        return _side_by_side(heat_map, label)
    names = [_short(row) for row in rows]
    left = 12 + CHARACTER * max(map(len, names), default=0)
    large = len(rows) <= _FEW_ROWS and count <= _FEW_COLUMNS
    longest = CHARACTER * max(map(len, heat_map.versions), default=0) + 6
    high, wide = (_LARGE, min(_WIDEST, max(_LARGE, longest))) if large else (_PITCH, _PITCH)
    body = [_definitions(rows, radius=7 if large else 5), *_version_names(heat_map.versions, left, wide)]
    for at, (row, name) in enumerate(zip(rows, names, strict=True)):
        y = _TOP + at * high + high / 2
        body.append(words_at(left - 6, y + 4, name, anchor="end"))
        body += [
            _place_mark(mark, row, left + (at_column + 0.5) * wide, y)
            for at_column, mark in enumerate(row.strip.marks)
        ]
    return picture(left + count * wide + 4, _TOP + len(rows) * high + 4, body, label=label)


def _short(row: HeatRow) -> str:
    """The name of a row in a few characters: the number of its machines is never cut off."""
    label = row.strip.label
    most = _MOST_NAME - (len(row.name) - len(label))
    return row.name if len(label) <= most else f"{label[: most - 1]}…{row.name[len(label) :]}"


def _side_by_side(heat_map: HeatMap, label: str) -> Markup:
    """The marks of all machines, line by line."""
    marks = [
        (mark, row) for row in heat_map.rows for mark in row.strip.marks if mark.shape is not Shape.UNTRIED
    ]
    body = [_definitions(heat_map.rows)]
    for at, (mark, row) in enumerate(marks):
        body.append(_place_mark(mark, row, (at % IN_LINE + 0.5) * _PITCH, (at // IN_LINE + 0.5) * _PITCH))
    lines = -(-len(marks) // IN_LINE)
    return picture(IN_LINE * _PITCH, lines * _PITCH, body, label=label)


def _version_names(versions: Sequence[str], left: float, wide: float) -> list[Markup]:
    """The versions above their marks: the newest and the oldest, and the others where there is room."""
    line = TextLine(left, 11, len(versions) * wide)
    for at in dict.fromkeys((len(versions) - 1, 0, *range(len(versions)))):
        line.write(left + (at + 0.5) * wide, versions[at], "middle")
    return line.texts


def _definitions(rows: Sequence[HeatRow], *, radius: float = 5) -> Markup:
    """The shapes that are used, each once."""
    kinds = dict.fromkeys(
        (mark.shape, _filling(mark))
        for row in rows
        for mark in row.strip.marks
        if mark.shape is not Shape.UNTRIED
    )
    shapes = [
        Markup('<g id="{}">{}</g>').format(
            _id(kind, filling), shape_of(kind, filling / _FILLINGS, 0, 0, radius)
        )
        for kind, filling in kinds
    ]
    return Markup("<defs>{}</defs>").format(Markup().join(shapes))


def _filling(mark: Mark) -> int:
    """Quarters; at least one and at most three, since some attempts show it and some don't."""
    return min(_FILLINGS - 1, max(1, round(mark.rate * _FILLINGS))) if mark.shape is Shape.PART else 0


def _id(kind: Shape, filling: int) -> str:
    """Short, and no other id of a page."""
    return f"h{kind[0]}{filling or ''}"


def _place_mark(mark: Mark, row: HeatRow, x: float, y: float) -> Markup:
    if mark.shape is Shape.UNTRIED:
        return Markup()
    drawn = Markup('<use href="#{}" x="{}" y="{}"/>').format(
        _id(mark.shape, _filling(mark)), number(x), number(y)
    )
    words = mark.words if row.times == 1 else f"{mark.words}; {row.times - 1} more targets alike"
    return link(mark.href, words, drawn)
