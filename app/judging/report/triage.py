"""The groups of regressions, by what is left to do about them."""

from __future__ import annotations

from enum import StrEnum


class TriageGroup(StrEnum):
    """The group of a regression, the most urgent one first."""

    UNEXPLAINED = "unexplained"
    # An older version warned of it.
    ANNOUNCED = "announced"
    # A maintainer closed the report or overruled its verdict, it was withdrawn, a test shows that it is no
    # defect, or it no longer happens.
    SETTLED = "settled"
