"""The sizes of the reports of a set of data.

A small set of data with the usual reports would have so few of them that its lists are shorter than a page.
So most reports of a small set (`FEW`) have one cell, and every fourth of these has a change.
"""

from __future__ import annotations

# Reports by size and frequency: runs, and cells of each run.
SIZES = ((1, 4), (1, 4), (1, 4), (1, 4), (1, 4), (1, 4), (1, 4), (2, 6), (2, 6), (4, 9))
BUSY, BUSIEST, WIDEST = (10, 12), (40, 12), (1, 400)
# A set with fewer attempts is small. From this number on, its reports have one cell; those before have four.
FEW, ONE_CELL_FROM = 100_000, 102
DAYS = 560
REPEATS = 5


def size_of(number: int, *, is_small: bool) -> tuple[int, int]:
    """The runs of a report and the cells of each: mostly one run; one report has many, one has 400 cells."""
    if number < 2:
        return (BUSIEST, WIDEST)[number]
    if is_small:
        return (1, 4) if number < ONE_CELL_FROM else (2, 1) if number % 4 == 0 else (1, 1)
    return BUSY if number % 100 == 50 else SIZES[number % len(SIZES)]


def has_change(number: int, *, is_small: bool) -> bool:
    """Whether the last two runs of a report show a change."""
    runs, _ = size_of(number, is_small=is_small)
    return runs > 1 and (number % 5 == 0 or is_small)


def sizes_until(attempts: int) -> list[tuple[int, int]]:
    """The sizes of as many reports as have that many attempts, and no report more."""
    sizes, left = list[tuple[int, int]](), attempts
    while left > 0:
        runs, cells = size_of(len(sizes), is_small=attempts < FEW)
        sizes.append((runs, cells))
        left -= runs * cells * REPEATS
    return sizes
