"""Printed durations of two sides, in seconds."""

from __future__ import annotations

import re
from collections.abc import Sequence
from statistics import median

from app.judging.output.printed_lines import MOST_CHARACTERS
from app.judging.output.printed_numbers import Number, numbers_in
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
    r"\s?(?:(?P<time>ns|nanosecs?|nanoseconds?|[uµμ]s(?:ec)?|microsecs?|microseconds?"
    r"|ms(?:ec)?s?|millisecs?|milliseconds?|s|secs?|seconds?|min(?:ute)?s?|h(?:ours?)?)"
    r"|(?P<rate>(?:it|iter|iteration|step|sample|image|img|token|call|batch|op)(?:e?s)?"
    r"\s?/\s?(?:s|sec|second)))(?![\w/])",
    re.IGNORECASE,
)
_UNIT_AHEAD = re.compile(r"[(\[_ ](?P<time>ns|[uµμ]s|ms|s|sec|seconds)[)\]:= ]", re.IGNORECASE)
# The spread that a timer prints next to its mean. It is no duration.
_SPREAD = re.compile(r"(?:±|\+/?-|\bstd\b[^\d]{0,10}|\bstdev\b[^\d]{0,10})\s*$", re.IGNORECASE)
_MOST_LINES = 2_000


def durations_of_sides(stdout: str, sides: Sequence[str]) -> dict[str, float]:
    """The median duration of each side that has one.

    The empty side gets the only line of durations without a name.
    """
    measured: dict[str, list[float]] = {side: [] for side in sides}
    bare: dict[str, list[float]] = {side: [] for side in sides}
    nameless: list[list[float]] = []
    heading: str | None = None
    for line in stdout.splitlines()[:_MOST_LINES]:
        named = _named_sides(line[:MOST_CHARACTERS], sides)
        durations = _durations(line[:MOST_CHARACTERS])
        numbers = durations or [
            (number.start, abs(number.value)) for number in _plain(line[:MOST_CHARACTERS], sides)
        ]
        if not numbers:
            heading = named[0][1] if len(named) == 1 else heading
            continue
        if not named and heading is None:
            nameless.append([value for _, value in durations])
            continue
        for at, value in numbers:
            side = _side_at(at, named) if named else heading
            if side is not None:
                (measured if durations else bare)[side].append(value)
        heading = None
    timed = [values for values in nameless if values]
    if "" in measured and len(timed) == 1:
        measured[""] = timed[0]
    chosen = (
        measured
        if any(measured.values())
        else bare
        if all(len(each) == 1 for each in bare.values())
        else measured
    )
    return {side: median(values) for side, values in chosen.items() if values}


def all_durations(stdout: str) -> list[float]:
    """All durations of an output."""
    return [
        value for line in stdout.splitlines()[:_MOST_LINES] for _, value in _durations(line[:MOST_CHARACTERS])
    ]


def _named_sides(line: str, sides: Sequence[str]) -> list[tuple[int, str]]:
    """(position, side) of each name of a side in a line, left to right."""
    return sorted(
        (match.start(), side) for side in sides if side for match in name_of(side, sides).finditer(line)
    )


def _side_at(at: int, named: Sequence[tuple[int, str]]) -> str:
    """The side whose name is the last before a position, else the first after it."""
    before = [side for start, side in named if start < at]
    return before[-1] if before else named[0][1]


def _durations(line: str) -> list[tuple[int, float]]:
    """(position, seconds) of each number with a unit of time or rate."""
    numbers = numbers_in(_split_units(line))
    durations: list[tuple[int, float]] = []
    for number in numbers:
        unit = _UNIT.match(_split_units(line), number.end)
        if unit and number.value > 0 and not _SPREAD.search(line[max(0, number.start - 14) : number.start]):
            durations.append(
                (number.start, number.value * _seconds_in(unit["time"]) if unit["time"] else 1 / number.value)
            )
    ahead = _UNIT_AHEAD.search(line)
    if not durations and ahead and len(numbers) == 1 and numbers[0].value > 0:
        return [(numbers[0].start, numbers[0].value * _seconds_in(ahead["time"]))]
    return durations


# The place between a number and its unit, as in `12ms`.
_GLUED = re.compile(r"(?<=\d)(?=(?:ns|us|µs|μs|ms|msec|s|sec|secs|seconds|it/s|min)\b)", re.IGNORECASE)


def _split_units(line: str) -> str:
    return _GLUED.sub(" ", line)


def _seconds_in(unit: str) -> float:
    word = unit.lower()
    begin = next(
        begin for begin in ("mic", "min", "ms", "mi", "n", "u", "µ", "μ", "h", "s") if word.startswith(begin)
    )
    return _SECONDS[begin]


def _plain(line: str, sides: Sequence[str]) -> list[Number]:
    """The positive numbers of a line that names a side, without numbers inside the name."""
    inside = [match.span() for side in sides if side for match in name_of(side, sides).finditer(line)]
    if not inside:
        return []
    return [
        number
        for number in numbers_in(line)
        if number.value > 0 and not any(start <= number.start < end for start, end in inside)
    ]
