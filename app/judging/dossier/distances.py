"""The distance of two executions of a script, operation by operation, by samples of their results."""

from __future__ import annotations

import base64
import binascii
import math
import re
import struct
from collections.abc import Sequence

from app.judging.dossier.document import Distance

# The numbers of a sample: elements, then the sum and the sum of absolute values.
_ELEMENTS, _FORM = 6, struct.Struct("<8d")
# A curve has at most so many points; where there are more, the largest of neighbours stay.
MOST_POINTS = 200
# A factor below this is no growth: results of one size differ by as much from step to step.
LEAST_GROWTH = 4.0
_EPS = {"float16": 2.0**-10, "bfloat16": 2.0**-7, "float64": 2.0**-52, "complex128": 2.0**-52}
_SINGLE = 2.0**-23
_TYPE = re.compile(r"\b(?:" + "|".join(_EPS) + r")\b")


def numbers_of(sample: str) -> tuple[float, ...] | None:
    """The eight numbers of a sample; None if there is none, or if it can't be read."""
    try:
        data = base64.b64decode(sample, validate=True)
    except (binascii.Error, ValueError):
        return None
    return _FORM.unpack(data) if len(data) == _FORM.size else None


def relative_distance(one: str, other: str) -> float | None:
    """The larger one of the distance of elements and that of sums, relative to their sizes.

    It is no more than the true one. None if nothing is known, or if only elements without a sample differ;
    infinite if a number is finite on one side only.
    """
    left, right = numbers_of(one), numbers_of(other)
    if left is None or right is None:
        return None
    pairs = list(zip(left[:_ELEMENTS], right[:_ELEMENTS], strict=True))
    if any(math.isfinite(a) is not math.isfinite(b) for a, b in pairs):
        return math.inf
    finite = [(a, b) for a, b in pairs if math.isfinite(a)]
    size = max((max(abs(a), abs(b)) for a, b in finite), default=0.0)
    parts = [max((abs(a - b) for a, b in finite), default=0.0) / size] if size else []
    total = max(left[-1], right[-1])
    if math.isfinite(total) and total:
        parts.append(abs(left[-2] - right[-2]) / total)
    distance = max(parts, default=0.0)
    return distance if distance > 0 else None


def ulps_between(kind: str, one: str, other: str) -> float | None:
    """The largest distance of sampled elements in units in the last place of the operation's type.

    None if none of them differs, or if it isn't finite.
    """
    left, right = numbers_of(one), numbers_of(other)
    if left is None or right is None:
        return None
    type_name = _TYPE.search(kind)
    eps = _SINGLE if type_name is None else _EPS[type_name[0]]
    units = [
        abs(a - b) / math.ldexp(eps, math.frexp(max(abs(a), abs(b)))[1] - 1)
        for a, b in zip(left[:_ELEMENTS], right[:_ELEMENTS], strict=True)
        if a != b and math.isfinite(a) and math.isfinite(b)
    ]
    return max(units, default=None)


def curve_of(pairs: Sequence[tuple[int, str, str, str]]) -> list[Distance]:
    """The finite distances of differing pairs, each given by number, operation and both samples."""
    points = [
        Distance(number=number, operation=operation, distance=distance)
        for number, operation, one, other in pairs
        if (distance := relative_distance(one, other)) is not None and math.isfinite(distance)
    ]
    share = math.ceil(len(points) / MOST_POINTS) or 1
    return [
        max(points[at : at + share], key=lambda point: point.distance) for at in range(0, len(points), share)
    ]


def growth_in(curve: Sequence[Distance]) -> tuple[Distance | None, float | None]:
    """The point that enlarges the largest distance before it the most, and its factor; None if none does."""
    largest, best, factor = 0.0, None, LEAST_GROWTH
    for point in curve:
        if largest and point.distance / largest >= factor:
            best, factor = point, point.distance / largest
        largest = max(largest, point.distance)
    return best, None if best is None else factor
