"""Durations that a script prints beside the names of two sides, in seconds."""

from __future__ import annotations

import re
from collections.abc import Sequence
from statistics import median

from app.judging.output.numbers import Number, numbers_in
from app.judging.output.printed_lines import MOST_CHARACTERS
from app.judging.output.sides import name_of

_SECONDS = {
    "n": 1e-9,
    "u": 1e-6,
    "µ": 1e-6,
    "μ": 1e-6,
    "mi": 1e-3,
    "ms": 1e-3,
    "mic": 1e-6,
    "s": 1.0,
    "min": 60.0,
    "h": 3600.0,
}
_UNIT = re.compile(
    r"\s?(?:(?P<time>ns|nanosecs?|nanoseconds?|[uµμ]s(?:ec)?|microsecs?|microseconds?|ms(?:ec)?s?|millisecs?|milliseconds?|s|secs?|seconds?|min(?:ute)?s?|h(?:ours?)?)"
    r"|(?P<rate>(?:it|iter|iteration|step|sample|image|img|token|call|batch|op)(?:e?s)?\s?/\s?(?:s|sec|second)))(?![\w/])",
    re.IGNORECASE,
)
_UNIT_AHEAD = re.compile(r"[(\[_ ](?P<time>ns|[uµμ]s|ms|s|sec|seconds)[)\]:= ]", re.IGNORECASE)
# The spread that a timer prints beside its mean.
_SPREAD = re.compile(r"(?:±|\+/?-|\bstd\b[^\d]{0,10}|\bstdev\b[^\d]{0,10})\s*$", re.IGNORECASE)
_MOST_LINES = 2_000


def durations_of_sides(stdout: str, sides: Sequence[str]) -> dict[str, float]:
    """The median duration of each side that has one.

    An empty side is the one line of durations that names no other.
    """
    measured: dict[str, list[float]] = {side: [] for side in sides}
    bare: dict[str, list[float]] = {side: [] for side in sides}
    nameless: list[list[float]] = []
    heading: str | None = None
    for line in stdout.splitlines()[:_MOST_LINES]:
        named = _named(line[:MOST_CHARACTERS], sides)
        found = _durations(line[:MOST_CHARACTERS])
        numbers = found or [
            (number.start, abs(number.value)) for number in _plain(line[:MOST_CHARACTERS], sides)
        ]
        if not numbers:
            heading = named[0][1] if len(named) == 1 else heading
            continue
        if not named and heading is None:
            nameless.append([value for _, value in found])
            continue
        for at, value in numbers:
            side = _side_at(at, named) if named else heading
            if side is not None:
                (measured if found else bare)[side].append(value)
        heading = None
    if "" in measured and len(shown := [each for each in nameless if each]) == 1:
        measured[""] = shown[0]
    chosen = (
        measured
        if any(measured.values())
        else bare
        if all(len(each) == 1 for each in bare.values())
        else measured
    )
    return {side: median(values) for side, values in chosen.items() if values}


def all_durations(stdout: str) -> list[float]:
    """Every duration of an output, whatever stands beside it."""
    return [
        value for line in stdout.splitlines()[:_MOST_LINES] for _, value in _durations(line[:MOST_CHARACTERS])
    ]


def _named(line: str, sides: Sequence[str]) -> list[tuple[int, str]]:
    """Where a line names which side, left to right."""
    return sorted(
        (found.start(), side) for side in sides if side for found in name_of(side, sides).finditer(line)
    )


def _side_at(at: int, named: Sequence[tuple[int, str]]) -> str:
    """The side whose name stands before a place, else the first after it."""
    before = [side for start, side in named if start < at]
    return before[-1] if before else named[0][1]


def _durations(line: str) -> list[tuple[int, float]]:
    """(place, seconds) of each number that has a unit of time or of a rate."""
    numbers = numbers_in(_spaced(line))
    found: list[tuple[int, float]] = []
    for number in numbers:
        unit = _UNIT.match(_spaced(line), number.end)
        if unit and number.value > 0 and not _SPREAD.search(line[max(0, number.start - 14) : number.start]):
            found.append(
                (number.start, number.value * _worth(unit["time"]) if unit["time"] else 1 / number.value)
            )
    ahead = _UNIT_AHEAD.search(line)
    if not found and ahead and len(numbers) == 1 and numbers[0].value > 0:
        return [(numbers[0].start, numbers[0].value * _worth(ahead["time"]))]
    return found


# `12ms` is a number and its unit.
_GLUED = re.compile(r"(?<=\d)(?=(?:ns|us|µs|μs|ms|msec|s|sec|secs|seconds|it/s|min)\b)", re.IGNORECASE)


def _spaced(line: str) -> str:
    return _GLUED.sub(" ", line)


def _worth(unit: str) -> float:
    word = unit.lower()
    begin = next(
        begin for begin in ("mic", "min", "ms", "mi", "n", "u", "µ", "μ", "h", "s") if word.startswith(begin)
    )
    return _SECONDS[begin]


def _plain(line: str, sides: Sequence[str]) -> list[Number]:
    """Numbers without a unit, on a line that names a side; those of the name itself are none."""
    inside = [found.span() for side in sides if side for found in name_of(side, sides).finditer(line)]
    if not inside:
        return []
    return [
        number
        for number in numbers_in(line)
        if number.value > 0 and not any(start <= number.start < end for start, end in inside)
    ]
