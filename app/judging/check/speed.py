"""Claims that one side is slower than the other: the ratio of two times within one attempt, with its spread over a job's attempts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from app.intake.claim.claims import Check
from app.judging.judgement import CheckResult
from app.judging.output.durations import durations_of_sides
from worker.contract import Result

# Of two times whose ratio is below this, which is longer may be chance.
CLEARLY = 1.1
# How much of the claimed slow-down must be seen: machines differ, and half of `3 times slower` is twice.
ENOUGH_OF_THE_EXCESS = 0.5
# A spread beyond this ratio between the largest and the smallest tells nothing of how much.
MOST_SPREAD = 4.0


@dataclass(frozen=True, slots=True)
class Ratios:
    """How many times longer the slow side took, one number an attempt."""

    values: tuple[float, ...]

    def __str__(self) -> str:
        return f"{min(self.values):.3g}..{median(self.values):.3g}..{max(self.values):.3g} times"


def ratio_in(check: Check, result: Result) -> float | None:
    """How many times longer the slow side took in one attempt; None where it does not print two times."""
    if len(check.sides) != 2:
        return None
    found = durations_of_sides(result.observation.stdout, check.sides)
    slow, fast = (found.get(side) for side in check.sides)
    return slow / fast if slow and fast else None


def is_slower(ratio: float, factor: float | None) -> CheckResult:
    """What one ratio says by itself. Between equal and clearly slower it says nothing that a verdict may rest on."""
    if ratio >= _needed(factor):
        return CheckResult.MET
    return CheckResult.OTHER if ratio >= CLEARLY else CheckResult.ABSENT


def judge_ratios(ratios: Ratios, factor: float | None) -> CheckResult | None:
    """What all ratios say together; None where their spread is too large or lies across the border."""
    low, middle, high = min(ratios.values), median(ratios.values), max(ratios.values)
    if low >= _needed(factor):
        return CheckResult.MET
    if high < CLEARLY and middle <= 1:
        return CheckResult.ABSENT
    return (
        CheckResult.OTHER if low >= CLEARLY and high < _needed(factor) and high <= MOST_SPREAD * low else None
    )


def _needed(factor: float | None) -> float:
    return CLEARLY if factor is None else max(CLEARLY, 1 + (factor - 1) * ENOUGH_OF_THE_EXCESS)


def spread(values: Sequence[float]) -> Ratios:
    """The ratios of a job's attempts."""
    return Ratios(tuple(values))
