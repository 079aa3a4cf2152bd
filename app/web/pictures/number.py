"""Pictures as inline SVG: a number as a strip, and the distance of two executions as a staircase."""

from __future__ import annotations

import math
from html import escape

from app.judging.dossier.document import Divergence, NumberInQuestion, NumberSide

WIDTH, ROW, LEFT, RIGHT = 640, 26, 16, 16
# With so many sides the rows would be no strip.
MOST_SIDES = 6
STAIRS, AXIS, FLOOR = 200, 64, 24


def strip(number: NumberInQuestion) -> str:
    """An SVG without scripts: a row for the reference and one for each side. Empty if nothing can be drawn.

    Its colours are those of the text around it, so it is readable in light and dark.
    """
    sides = [
        side
        for side in number.sides[:MOST_SIDES]
        if isinstance(side.value, float) and isinstance(side.reference, float)
    ]
    if not sides or not number.judgeable:
        return ""
    marks = [(side, float(side.value) - float(side.reference), _spread(side)) for side in sides]
    reach = max(max(abs(offset), spread) for _, offset, spread in marks)
    if not reach or not math.isfinite(reach):
        return ""
    height = ROW * (len(marks) + 1) + 4
    middle = WIDTH / 2
    scale = (middle - max(LEFT, RIGHT)) / (1.1 * reach)
    band = max(1.0, max(spread for *_, spread in marks) * scale)
    place = f'x="{middle - band:.1f}" y="2" width="{2 * band:.1f}" height="{height - 4}"'
    rows = [
        f'<rect {place} fill="currentColor" opacity=".12"/>',
        f'<line x1="{middle}" x2="{middle}" y1="2" y2="{height - 2}" stroke="currentColor" opacity=".5"/>',
        f'<text x="{middle + 6}" y="{ROW - 8}" font-size="12" fill="currentColor">float64</text>',
    ]
    for at, (side, offset, _) in enumerate(marks, 1):
        x, y = middle + offset * scale, ROW * at + ROW / 2
        fill = "currentColor" if side.explained else "none"
        rows.append(
            f'<circle cx="{x:.1f}" cy="{y}" r="5" fill="{fill}" stroke="currentColor" stroke-width="2"/>'
        )
        anchor, shift = ("end", -10) if x > middle else ("start", 10)
        rows.append(
            f'<text x="{x + shift:.1f}" y="{y + 4}" font-size="12" text-anchor="{anchor}" '
            f'fill="currentColor">{escape(side.label)}</text>'
        )
    words = escape(f"{number.name}: distances to float64; the band is what rounding of the steps moves it by")
    return (
        f'<svg role="img" aria-label="{words}" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" '
        f'height="{height}">{"".join(rows)}</svg>'
    )


def _spread(side: NumberSide) -> float:
    return max(side.uncertainty or 0.0, side.rounding or 0.0)


def staircase(part: Divergence) -> str:
    """The relative distance of two executions over their operations, on a logarithmic scale.

    Dots are the distances, the line is the largest one so far, and the ring marks the step that enlarges it
    most. Empty with fewer than two points.
    """
    if len(part.curve) < 2:
        return ""
    low = math.floor(math.log10(min(point.distance for point in part.curve)))
    high = max(low + 1, math.ceil(math.log10(max(point.distance for point in part.curve))))
    first, last = part.curve[0].number, part.curve[-1].number

    def place(number: int, distance: float) -> tuple[float, float]:
        share = (number - first) / max(1, last - first)
        height = (math.log10(distance) - low) / (high - low)
        return AXIS + share * (WIDTH - AXIS - RIGHT), STAIRS - FLOOR - height * (STAIRS - FLOOR - 12)

    marks: list[str] = []
    for exponent in range(low, high + 1, max(1, (high - low) // 5)):
        y = place(first, 10.0**exponent)[1]
        marks.append(
            f'<line x1="{AXIS}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}" stroke="currentColor" '
            f'opacity=".15"/><text x="{AXIS - 6}" y="{y + 4:.1f}" font-size="12" text-anchor="end" '
            f'fill="currentColor">1e{exponent}</text>'
        )
    stairs, largest = "", 0.0
    for point in part.curve:
        x, y = place(point.number, point.distance)
        marks.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2" fill="currentColor" opacity=".5"/>')
        if point.distance > largest:
            largest = point.distance
            stairs += f"H{x:.1f}V{y:.1f}" if stairs else f"M{x:.1f} {y:.1f}"
    marks.append(f'<path d="{stairs}H{WIDTH - RIGHT}" fill="none" stroke="currentColor" stroke-width="2"/>')
    if part.grows is not None:
        x, y = place(part.grows.number, part.grows.distance)
        marks.append(
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="6" fill="none" stroke="currentColor" stroke-width="2"/>'
        )
    for number, anchor, x in ((first, "start", AXIS), (last, "end", WIDTH - RIGHT)):
        marks.append(
            f'<text x="{x}" y="{STAIRS - 6}" font-size="12" text-anchor="{anchor}" '
            f'fill="currentColor">operation {number}</text>'
        )
    words = escape(f"{part.cells[0]} against {part.cells[1]}: relative distance after each operation")
    return (
        f'<svg role="img" aria-label="{words}" viewBox="0 0 {WIDTH} {STAIRS}" width="{WIDTH}" '
        f'height="{STAIRS}">{"".join(marks)}</svg>'
    )
