"""The picture of a number as a strip: its sides, and the reference with its uncertainty. Inline SVG."""

from __future__ import annotations

import math
from html import escape

from app.judging.dossier.document import NumberInQuestion, NumberSide

WIDTH, ROW, LEFT, RIGHT = 640, 26, 16, 16
# With so many sides the rows would be no strip.
MOST_SIDES = 6


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
