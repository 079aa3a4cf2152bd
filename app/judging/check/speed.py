"""Claims that one side is slower: ratios of two printed times, in one attempt and over a whole job."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from app.intake.claim.claims import Check
from app.judging.judgement import CheckResult
from app.judging.output.durations import durations_of_sides
from worker.contract import Result

# Below this ratio, chance may decide which time is longer.
CLEARLY = 1.1
# The share of the claimed slow-down that must be seen, since machines differ. Half of "3 times slower" is 2
# times.
ENOUGH_OF_THE_EXCESS = 0.5
# So small a share of the claimed slow-down is nothing of it, if it makes less than twice the time.
NOTHING_OF_THE_EXCESS = 0.05
# If the largest ratio is more than this many times the smallest, the size of the slow-down is not known.
MOST_SPREAD = 4.0


@dataclass(frozen=True, slots=True)
class Ratios:
    """The time of the slow side divided by that of the fast side, one number for each attempt."""

    values: tuple[float, ...]

    def __str__(self) -> str:
        return f"{min(self.values):.3g}..{median(self.values):.3g}..{max(self.values):.3g} times"


def ratio_in(check: Check, result: Result) -> float | None:
    """The time of the slow side divided by that of the fast side; None if the attempt does not print both."""
    if len(check.sides) != 2:
        return None
    durations = durations_of_sides(result.observation.stdout, check.sides)
    slow, fast = (durations.get(side) for side in check.sides)
    return slow / fast if slow and fast else None


def is_slower(ratio: float, factor: float | None) -> CheckResult:
    """The result for one ratio: MET if large enough, OTHER if clearly above 1 but too small, else ABSENT."""
    if ratio >= _required_ratio(factor):
        return CheckResult.MET
    return CheckResult.OTHER if ratio >= _lowest_rest(factor) else CheckResult.ABSENT


def judge_ratios(ratios: Ratios, factor: float | None) -> CheckResult | None:
    """The result for all ratios together; None if they vary too much or lie on both sides of a limit."""
    low, middle, high = min(ratios.values), median(ratios.values), max(ratios.values)
    if low >= _required_ratio(factor):
        return CheckResult.MET
    rest = _lowest_rest(factor)
    if high < rest and (middle <= 1 or rest > CLEARLY):
        return CheckResult.ABSENT
    return (
        CheckResult.OTHER
        if low >= rest and high < _required_ratio(factor) and high <= MOST_SPREAD * low
        else None
    )


def _lowest_rest(factor: float | None) -> float:
    """The lowest ratio that is still something of the claimed slow-down: chance, or little of a large one."""
    return CLEARLY if factor is None else max(CLEARLY, min(2.0, 1 + (factor - 1) * NOTHING_OF_THE_EXCESS))


def _required_ratio(factor: float | None) -> float:
    return CLEARLY if factor is None else max(CLEARLY, 1 + (factor - 1) * ENOUGH_OF_THE_EXCESS)


def spread(values: Sequence[float]) -> Ratios:
    """The ratios of a job's attempts."""
    return Ratios(tuple(values))
