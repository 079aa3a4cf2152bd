"""Rates on one axis from 0 to 100 %: a dot for each version, and a whisker for what it may be in truth."""

from __future__ import annotations

from markupsafe import Markup

from app.judging.verdict.rates import homogeneity, rate_interval
from app.web.pictures.drawing import number, picture, words_at
from app.web.pictures.marks import DECIDED, Mark, Shape, Strip

_LEFT, _AXIS, _RIGHT, _ROW = 64, 188, 68, 20
WIDTH = _LEFT + _AXIS + _RIGHT
_MOST_NAME = 9


def has_rates(strip: Strip) -> bool:
    """Whether a version is flaky on this machine."""
    return any(mark.shape is Shape.PART for mark in rows_of(strip))


def rows_of(strip: Strip) -> list[Mark]:
    """The marks with counts."""
    return [mark for mark in strip.marks if mark.shape in DECIDED and mark.of and mark.matched is not None]


def rates_picture(strip: Strip) -> Markup:
    """The rates of one machine, oldest version first. The 95 % intervals hold whenever one stops."""
    rows = rows_of(strip)
    height = _ROW * len(rows) + 22
    body = [_grid_lines(height)]
    for at, mark in enumerate(rows):
        y = _ROW * at + _ROW / 2
        interval = rate_interval(mark.matched or 0, mark.of or 0)
        if interval is None:
            continue
        name = mark.version if len(mark.version) <= _MOST_NAME else f"{mark.version[: _MOST_NAME - 1]}…"
        body.append(words_at(_LEFT - 8, y + 4, name, anchor="end"))
        body.append(_whisker(y, interval.low, interval.high))
        body.append(_dot(mark, y))
        body.append(words_at(_LEFT + _AXIS + 8, y + 4, f"{mark.matched} of {mark.of}"))
    for share, anchor in ((0, "start"), (50, "middle"), (100, "end")):
        body.append(words_at(_LEFT + _AXIS * share / 100, height - 4, f"{share} %", anchor=anchor))
    label = f"{strip.name}, how often it happens: {'; '.join(_words(mark) for mark in rows)}"
    return picture(WIDTH, height, body, label=label, has_links=False)


def rates_words(strip: Strip) -> str:
    """Whether the versions differ, by a test; and one rate for all of them only if they need not differ."""
    rows = rows_of(strip)
    counts = [(mark.matched or 0, mark.of or 0) for mark in rows]
    test = homogeneity(counts)
    if test is None:
        return ""
    kind = "exact chi-square test" if test.exact else "chi-square test"
    if not test.may_be_equal:
        return f"The rate is not the same in all {len(rows)} versions ({kind}, p = {_probability(test.p)})."
    matched, of = (sum(numbers) for numbers in zip(*counts, strict=True))
    interval = rate_interval(matched, of)
    together = "" if interval is None else f" ({100 * interval.low:.0f} to {100 * interval.high:.0f} %)"
    return (
        f"No difference between the {len(rows)} versions is seen ({kind}, p = {_probability(test.p)}). "
        f"Together it happened in {matched} of {of} attempts, {100 * matched / of:.0f} %{together}."
    )


def _probability(p: float) -> str:
    return f"{p:.2f}" if p >= 0.01 else f"{p:.1g}" if p >= 1e-6 else "less than 0.000001"


def _words(mark: Mark) -> str:
    interval = rate_interval(mark.matched or 0, mark.of or 0)
    whole = "" if interval is None else f", {100 * interval.low:.0f} to {100 * interval.high:.0f} %"
    return f"{mark.version} {mark.matched} of {mark.of}{whole}"


def _x(share: float) -> float:
    return _LEFT + _AXIS * share


def _grid_lines(height: float) -> Markup:
    lines = "".join(f"M{number(_x(share))} 2v{number(height - 20)}" for share in (0, 0.25, 0.5, 0.75, 1))
    return Markup(f'<path class="ka" d="{lines}"/>')  # noqa: S704 - numbers only


def _whisker(y: float, low: float, high: float) -> Markup:
    ends = f"M{number(_x(low))} {number(y - 4)}v8m0-4H{number(_x(high))}m0-4v8"
    return Markup(f'<path class="kw" d="{ends}"/>')  # noqa: S704 - numbers only


def _dot(mark: Mark, y: float) -> Markup:
    x = _x((mark.matched or 0) / (mark.of or 1))
    kind = "kg" if mark.matched == 0 else "ks"
    return Markup(f'<circle class="{kind}" cx="{number(x)}" cy="{number(y)}" r="4"/>')  # noqa: S704
