"""Distances between elements, and the tolerances of `torch.testing.assert_close` that they pass.

The rounding of torch is reproduced: it computes the error and the allowed error in the dtype itself.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from app.judging.comparison.dtypes import DOUBLE_PRECISION, FLOAT32, Format, Kind, coarser, ordinal, round_to

# torch compares larger integers in float32 with rounding, which is not reproduced here.
_EXACT_INTEGER = 2**24
# In bits. Larger integers are beyond the range of floats.
LONGEST_INTEGER = 1000


@dataclass(frozen=True, slots=True)
class Pair:
    """The element at one position on both sides."""

    at: int
    baseline: complex
    candidate: complex


@dataclass(frozen=True, slots=True, kw_only=True)
class Closeness:
    """The greatest distances with their positions, and the smallest tolerances that pass.

    A tolerance is None if none passes. `rtol` is the one for `atol=0`, and `atol` the one for `rtol=0`.
    """

    absolute: float | None = None
    absolute_at: int | None = None
    relative: float | None = None
    relative_at: int | None = None
    ulp: int | None = None
    ulp_at: int | None = None
    ulp_dtype: str | None = None
    rtol: float | None = None
    atol: float | None = None
    default_rtol: float | None = None
    default_atol: float | None = None
    passes_default: bool | None = None


def closeness(pairs: Sequence[Pair], baseline: Format | None, candidate: Format | None) -> Closeness:
    """The distances of the elements that differ. A format is None for a Python int."""
    absolute, absolute_at = _greatest((_error(pair), pair.at) for pair in pairs)
    relative, relative_at = _greatest((_relative(pair), pair.at) for pair in pairs)
    working = _working(baseline, candidate)
    ulp, ulp_at, ulp_dtype = None, None, None
    if working is not None and working.inexact and pairs:
        ulp, ulp_at = _greatest((_ulp(pair, working), pair.at) for pair in pairs)
        ulp_dtype = working.name
    default_rtol, default_atol = _defaults(baseline, candidate)
    computing = _computing(baseline, candidate)
    rtol = atol = None
    if pairs and computing is not None and all(_tolerable(pair, computing) for pair in pairs):
        rtol = _smallest((_relative(pair) for pair in pairs), computing)
        atol = _smallest((_error(pair) for pair in pairs), computing)
    passes = all(_passes(pair, computing, default_rtol, default_atol) for pair in pairs)
    return Closeness(
        absolute=None if absolute is None else float(absolute),
        absolute_at=absolute_at,
        relative=None if relative is None else float(relative),
        relative_at=relative_at,
        ulp=None if ulp is None else int(ulp),
        ulp_at=ulp_at,
        ulp_dtype=ulp_dtype,
        rtol=rtol,
        atol=atol,
        default_rtol=default_rtol,
        default_atol=default_atol,
        passes_default=passes,
    )


def _greatest(distances: Iterable[tuple[float | None, int]]) -> tuple[float | None, int | None]:
    """The greatest distance and its position; None if none can be measured."""
    best: tuple[float | None, int | None] = (None, None)
    for distance, at in distances:
        if distance is not None and (best[0] is None or distance > best[0]):
            best = (distance, at)
    return best


def _error(pair: Pair) -> float | None:
    """The absolute error; None if it is not finite."""
    try:
        error = float(abs(pair.candidate - pair.baseline))
    except OverflowError:
        return None
    return error if math.isfinite(error) else None


def _relative(pair: Pair) -> float | None:
    error = _error(pair)
    try:
        size = float(abs(pair.baseline))
    except OverflowError:
        return None
    if error is None or size == 0.0 or not math.isfinite(size):
        return None
    ratio = error / size
    return ratio if math.isfinite(ratio) else None


def _ulp(pair: Pair, working: Format) -> float | None:
    """The distance in units of the last place (ULP). For a complex element it is that of the worse part."""
    if any(
        isinstance(side, int) and side.bit_length() > LONGEST_INTEGER
        for side in (pair.baseline, pair.candidate)
    ):
        return None
    distances = [
        abs(ordinal(round_to(one, working), working) - ordinal(round_to(other, working), working))
        for one, other in (
            (pair.baseline.real, pair.candidate.real),
            (pair.baseline.imag, pair.candidate.imag),
        )
        if math.isfinite(one) and math.isfinite(other)
    ]
    whole = 2 if working.kind is Kind.COMPLEX else 1
    parts = (pair.baseline.real, pair.candidate.real, pair.baseline.imag, pair.candidate.imag)
    if whole == 1 and not all(math.isfinite(part) for part in parts[:2]):
        return None
    return max(distances, default=None)


def _working(baseline: Format | None, candidate: Format | None) -> Format | None:
    """The format that defines the ULP: the coarser of the floating formats; None if there is none."""
    inexact = [form for form in (baseline, candidate) if form is not None and form.inexact]
    return coarser(inexact[0], inexact[-1]) if inexact else None


def _computing(baseline: Format | None, candidate: Format | None) -> Format | None:
    """The format in which torch computes errors; None for 8-bit floats, which it compares exactly."""
    inexact = [form for form in (baseline, candidate) if form is not None and form.inexact]
    if any(form.size == 1 for form in inexact):
        return None
    return max(inexact, key=lambda form: form.precision, default=FLOAT32)


def _defaults(baseline: Format | None, candidate: Format | None) -> tuple[float, float]:
    """The default (rtol, atol) of torch: the larger of each of the two dtypes."""
    forms = [form for form in (baseline, candidate) if form is not None]
    return max((form.rtol for form in forms), default=0.0), max((form.atol for form in forms), default=0.0)


def _tolerable(pair: Pair, computing: Format) -> bool:
    """Whether any tolerance can pass. None does if the error is not finite or beyond the dtype's range."""
    error = _error(pair)
    if error is None or round_to(error, computing) > computing.greatest:
        return False
    return (
        computing is not FLOAT32
        or not isinstance(pair.baseline, int)
        or abs(pair.baseline) + abs(pair.candidate) < _EXACT_INTEGER
    )


def _smallest(tolerances: Iterable[float | None], computing: Format) -> float | None:
    """The smallest tolerance for all elements; None if one element has none."""
    most = 0.0
    for one in tolerances:
        if one is None:
            return None
        most = max(most, one)
    if computing.kind is Kind.COMPLEX:
        # The absolute value of a complex number is rounded once more.
        most *= 1 + 2.0 ** (3 - computing.precision)
    up = math.nextafter(most, math.inf)
    if computing.precision < DOUBLE_PRECISION:
        # torch rounds the tolerance to float32 before it multiplies.
        up = round_to(most, FLOAT32)
        if up < most * (1 + 2.0**-50):
            up += math.ldexp(1.0, max(math.frexp(most)[1], FLOAT32.least + 1) - FLOAT32.precision)
    return up if math.isfinite(up) else None


def _passes(pair: Pair, computing: Format | None, rtol: float, atol: float) -> bool:
    error = _error(pair)
    if error is None or computing is None or (rtol == 0.0 and atol == 0.0):
        return False
    size = float(abs(pair.baseline))
    allowed = atol + rtol * size
    # Rounding decides only near the limit.
    slack = (error + allowed) * 2.0 ** (3 - computing.precision) + math.ldexp(
        4.0, computing.least - computing.precision
    )
    if abs(error - allowed) > slack and error <= computing.greatest:
        return error < allowed
    if round_to(error, computing) > computing.greatest:
        return False
    share = round_to(_single(_single(rtol, computing) * size, computing), computing)
    return round_to(error, computing) <= round_to(
        _single(_single(atol, computing) + share, computing), computing
    )


def _single(value: float, computing: Format) -> float:
    """The value in float32, in which torch computes for 16-bit floats."""
    return round_to(value, FLOAT32) if computing.precision < DOUBLE_PRECISION else value
