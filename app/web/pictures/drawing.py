"""Elements of SVG: the shapes of marks, texts, and the picture around them. Every text is escaped."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

from markupsafe import Markup

from app.web.pictures.marks import Mark, Shape

# About the width of a character in a font of 11 pixels.
CHARACTER = 6.3
# A picture that stands alone has no style sheet of ours. These are the colours of app.css for its classes.
_LIGHT = {
    "panel": "#fff",
    "ink": "#1b1c1e",
    "soft": "#575c63",
    "line": "#8a8f96",
    "s": "#b3261e",
    "g": "#1f6f43",
    "p": "#7a5000",
    "c": "#53585f",
}
_DARK = {
    "panel": "#1b1d20",
    "ink": "#e9eaec",
    "soft": "#a4aab2",
    "line": "#767c85",
    "s": "#ff9b92",
    "g": "#82d6a6",
    "p": "#f0c36a",
    "c": "#aab0b8",
}


def number(value: float) -> str:
    """A coordinate without digits that nobody sees: `12`, `12.5`."""
    return f"{value:.1f}".removesuffix(".0")


def shape(mark: Mark, x: float, y: float, radius: float) -> Markup:
    """The shape of a mark around its middle."""
    return shape_of(mark.shape, mark.rate, x, y, radius)


def shape_of(kind: Shape, rate: float, x: float, y: float, radius: float) -> Markup:
    """A ring, a full or partly filled one, a diamond, a hatched square, or a dot."""
    place = f'cx="{number(x)}" cy="{number(y)}"'
    r = number(radius)
    match kind:
        case Shape.FULL:
            return Markup(f'<circle class="ks" {place} r="{r}"/>')  # noqa: S704 - numbers only
        case Shape.EMPTY:
            return Markup(f'<circle class="kg" {place} r="{r}"/>')  # noqa: S704
        case Shape.PART:
            ring = f'<circle class="ks0" {place} r="{r}"/>'
            return Markup(f'{ring}<path class="ks" d="{_segment(rate, x, y, radius)}"/>')  # noqa: S704
        case Shape.OTHER:
            tips = f"M{number(x)} {number(y - radius)}l{r} {r}-{r} {r}-{r}-{r}z"
            return Markup(f'<path class="kp" d="{tips}"/>')  # noqa: S704
        case Shape.HATCHED:
            half = radius * 0.85
            side, corner = number(2 * half), f"{number(x - half)} {number(y + half)}"
            lines = f"M{corner}l{side}-{side}m-{side} {number(half)}l{number(half)}-{number(half)}"
            lines += f"m0 {side}l{number(half)}-{number(half)}"
            box = f'x="{number(x - half)}" y="{number(y - half)}" width="{side}" height="{side}"'
            return Markup(f'<rect class="kc" {box}/><path class="kc" d="{lines}"/>')  # noqa: S704
        case Shape.UNTRIED:
            return Markup(f'<circle class="ku" {place} r="1.3"/>')  # noqa: S704


def _segment(rate: float, x: float, y: float, radius: float) -> str:
    """The lower part of a circle, as high as the rate."""
    up = radius - 2 * radius * min(max(rate, 0.06), 0.94)
    half = math.sqrt(radius**2 - up**2)
    large = int(up < 0)
    r = number(radius)
    return f"M{number(x - half)} {number(y + up)}A{r} {r} 0 {large} 0 {number(x + half)} {number(y + up)}z"


def words_at(x: float, y: float, text: str, *, anchor: str = "start", kind: str = "") -> Markup:
    """A text."""
    more = Markup(' class="{}"').format(kind) if kind else Markup()
    more += Markup(' text-anchor="{}"').format(anchor) if anchor != "start" else Markup()
    return Markup('<text x="{}" y="{}"{}>{}</text>').format(number(x), number(y), more, text)


def link(href: str, words: str, drawn: Markup) -> Markup:
    """A link around a shape. Its words are its name, and the hint under the mouse."""
    if not href:
        return Markup("<g><title>{}</title>{}</g>").format(words, drawn)
    return Markup('<a href="{}"><title>{}</title>{}</a>').format(href, words, drawn)


def picture(
    width: float, height: float, body: Iterable[Markup], *, label: str, has_links: bool = True
) -> Markup:
    """A picture inside of a page. With links inside it is a group, else an image."""
    size = f'viewBox="0 0 {number(width)} {number(height)}" width="{number(width)}" height="{number(height)}"'
    return Markup('<svg class="pic" role="{}" aria-label="{}" {}>{}</svg>').format(
        "group" if has_links else "img",
        label,
        Markup(size),  # noqa: S704 - numbers only
        Markup().join(body),
    )


def standing_alone(width: float, height: float, body: Iterable[Markup], *, title: str, words: str) -> str:
    """A picture as a file: without links, with its colours inside, light and dark.

    Each shape has its light colours as attributes, too: some hosts take style sheets out.
    """
    drawn = str(Markup().join(body))
    for name, attributes in _PAINTS.items():
        # A quotation mark of a text is escaped, so this finds no text.
        drawn = drawn.replace(f'class="{name}"', f'class="{name}" {attributes}')
    size = f'viewBox="0 0 {number(width)} {number(height)}" width="{number(width)}" height="{number(height)}"'
    return str(
        Markup(
            '<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-labelledby="t d" {}>'
            '<title id="t">{}</title><desc id="d">{}</desc><style>{}</style>'
            '<rect class="card" x=".5" y=".5" width="{}" height="{}" rx="8" {}/>{}</svg>'
        ).format(
            Markup(size),  # noqa: S704 - numbers only
            title,
            words,
            Markup(STYLE),  # noqa: S704 - ours
            number(width - 1),
            number(height - 1),
            Markup(_CARD),  # noqa: S704 - ours
            Markup(drawn),  # noqa: S704 - escaped above
        )
    )


def _style(colours: Mapping[str, str]) -> str:
    rules = [f".card{{fill:{colours['panel']};stroke:{colours['line']}}}text{{fill:{colours['soft']}}}"]
    rules += [f".ink{{fill:{colours['ink']}}}.kl{{stroke:{colours['ink']}}}.ku,.kn{{fill:{colours['line']}}}"]
    rules += [f".ks0,.kg,.kp,.kc{{fill:{colours['panel']}}}.ks{{fill:{colours['s']}}}"]
    rules += [f".ks,.ks0{{stroke:{colours['s']}}}"]
    rules += [f".k{name}{{stroke:{colours[name]}}}" for name in ("g", "p", "c")]
    return "".join(rules)


_FONT = "text{font:12px system-ui,sans-serif}.ink{font-weight:600}"
STYLE = f"{_FONT}{_style(_LIGHT)}@media(prefers-color-scheme:dark){{{_style(_DARK)}}}"
_CARD = f'fill="{_LIGHT["panel"]}" stroke="{_LIGHT["line"]}"'
_PAINTS = {
    "ks": f'fill="{_LIGHT["s"]}" stroke="{_LIGHT["s"]}"',
    **{
        f"k{name}": f'fill="{_LIGHT["panel"]}" stroke="{_LIGHT[name[0]]}" stroke-width="1.6"'
        for name in ("s0", "g", "p", "c")
    },
    "ku": f'fill="{_LIGHT["line"]}"',
    "kl": f'stroke="{_LIGHT["ink"]}" stroke-width="1.5"',
    "kn": f'fill="{_LIGHT["line"]}" opacity=".25"',
    "ink": f'fill="{_LIGHT["ink"]}" font-weight="600"',
}
