"""Measures whether the time of a pattern grows faster than its input.

A slow match is interrupted: Python looks for signals while it matches.
"""

from __future__ import annotations

import re
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

from conventions.pattern_inputs import Bait, Inputs

# A first look at short inputs tells the few that deserve a long one. A linear pattern takes four times as
# long for four times the input; a quadratic one sixteen times.
SHORT, LONG = 400, 1_600
SUSPICIOUS = 6.0
# Less says nothing of growth.
LEAST_SECONDS = 0.000_2
# The second look. It is longer than any bounded repeat of ours, so that only unbounded ones still grow.
SECOND_SHORT, SECOND_LONG = 2_000, 8_000
MOST_GROWTH = 9.0
MOST_TRIES = 3
SAMPLE_SECONDS = 0.05
# Even a quadratic pattern takes less for these inputs.
MOST_SECONDS = 2.0
# An exponential pattern is seen at an input of so many characters.
TINY = 24
TINY_SECONDS = 0.3


class TooSlowError(Exception):
    """A match took too long and was interrupted."""


@contextmanager
def at_most(seconds: float) -> Iterator[None]:
    """Interrupt what runs inside after so many processor seconds, with TooSlowError."""

    def interrupt(_number: int, _frame: FrameType | None) -> None:
        raise TooSlowError

    before = signal.signal(signal.SIGVTALRM, interrupt)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def applied(pattern: re.Pattern[str], method: str) -> Callable[[str], object]:
    """The pattern as a function of a text, which goes through the whole text."""
    match method:
        case "finditer" | "findall":
            return lambda text: sum(1 for _ in pattern.finditer(text))
        case "sub" | "subn":
            return lambda text: pattern.sub("", text)
        case _:
            return getattr(pattern, method)  # type: ignore[no-any-return]


def wall_seconds(call: Callable[[str], object], text: str) -> float:
    """The seconds of one application. Never too few, but too many while others use the processor."""
    started = time.perf_counter()
    call(text)
    return time.perf_counter() - started


def processor_seconds(call: Callable[[str], object], text: str) -> float:
    """The processor seconds of one application, as the mean of many: some machines count in coarse steps."""
    count, started, until = 0, time.process_time(), time.perf_counter() + SAMPLE_SECONDS
    while count == 0 or time.perf_counter() < until:
        call(text)
        count += 1
    return (time.process_time() - started) / count


def worst_growth(pattern: str, flags: int, methods: frozenset[str] | set[str]) -> tuple[str, Bait] | None:
    """The method and the input with which the time of a pattern grows too fast. None if there are none."""
    compiled = re.compile(pattern, flags)
    for bait in Inputs(pattern, flags).baits():
        for method in sorted(methods):
            if _grows(applied(compiled, method), bait):
                return method, bait
    return None


def _grows(call: Callable[[str], object], bait: Bait) -> bool:
    try:
        with at_most(TINY_SECONDS):
            call(bait.text(TINY))
        with at_most(MOST_SECONDS):
            long = wall_seconds(call, bait.text(LONG))
        if long < LEAST_SECONDS:
            return False
        short = min(wall_seconds(call, bait.text(SHORT)) for _ in range(3))
        if long < SUSPICIOUS * short or _is_dispelled(call, bait.text(LONG), SUSPICIOUS * short):
            return False
        return all(_second_look(call, bait) for _ in range(MOST_TRIES))
    except TooSlowError:
        return True


def _is_dispelled(call: Callable[[str], object], text: str, seconds: float) -> bool:
    """Whether one of a few applications takes less. Others use the processor, and cause most suspicions."""
    return any(wall_seconds(call, text) < seconds for _ in range(MOST_TRIES))


def _second_look(call: Callable[[str], object], bait: Bait) -> bool:
    short, long = bait.text(SECOND_SHORT), bait.text(SECOND_LONG)
    with at_most(MOST_SECONDS):
        # A sample takes longer than a few applications.
        if wall_seconds(call, long) < SUSPICIOUS * min(wall_seconds(call, short) for _ in range(3)):
            return False
        return processor_seconds(call, long) > MOST_GROWTH * processor_seconds(call, short)
