"""Estimates how long a cell and a plan take, from the durations of earlier attempts, or by a guess. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import TYPE_CHECKING

from app.runs.estimates.attempt_budget import GROWN
from app.runs.run_object.parts.estimates import Basis, CellEstimatePart, RangePart
from app.targets.planning.plan import RepeatPlan
from app.targets.target import Target, target_of
from worker.contract import Device

if TYPE_CHECKING:
    from app.storage.queries.queue.queue_position import AttemptDuration

# Beyond the script itself: the sandbox, the probe of the environment, and the messages.
OVERHEAD_SECONDS = 10.0
GUESSED = {Device.CPU: (1.0, 5.0), Device.CUDA: (3.0, 10.0)}
# From this many attempts on, their extremes are the range. With fewer attempts it is widened by these
# factors.
ENOUGH = 3
LESS, MORE = 0.5, 3.0
_RANKS: dict[Basis, int] = {"measured": 0, "script": 1, "recent": 2, "guess": 3}


@dataclass(frozen=True, slots=True)
class Seconds:
    """The duration of one attempt, and the basis of the estimate."""

    range: RangePart
    basis: Basis


@dataclass(frozen=True, slots=True, kw_only=True)
class Durations:
    """Durations of earlier attempts: of the scripts in question, and of any recent attempts."""

    wall_seconds: float
    scripts: Sequence[AttemptDuration] = ()
    recent: Sequence[AttemptDuration] = ()
    _answers: dict[tuple[str, str], Seconds] = field(default_factory=dict)

    def of(self, script: str, target: Target) -> Seconds:
        """The duration of one attempt of a script on a target. Other scripts get that of recent attempts."""
        key = (script, target.label())
        if key not in self._answers:
            self._answers[key] = self._of(script, target)
        return self._answers[key]

    def _of(self, script: str, target: Target) -> Seconds:
        of_script = [one for one in self.scripts if one.script == script]
        same_target = [one.seconds for one in of_script if target_of(one).label() == target.label()]
        same_device = [one.seconds for one in of_script if one.target.get("device") == target.device]
        recent = [one.seconds for one in self.recent if one.target.get("device") == target.device]
        most = _round(self.wall_seconds + OVERHEAD_SECONDS)
        if same_target:
            return Seconds(_range(same_target, most, widened=len(same_target) < ENOUGH), "measured")
        if same_device:
            return Seconds(_range(same_device, most, widened=True), "script")
        if recent:
            # Another script may take as long as the time limit.
            return Seconds(
                _range(recent, most, widened=True).model_copy(update={"at_most": _round(most)}), "recent"
            )
        low, about = GUESSED[target.device]
        return Seconds(RangePart(at_least=low, about=about, at_most=most), "guess")


def _range(seconds: Sequence[float], most: float, *, widened: bool) -> RangePart:
    low, high = (min(seconds) * LESS, max(seconds) * MORE) if widened else (min(seconds), max(seconds))
    about = min(max(0.0, median(seconds)), most)
    return RangePart(
        at_least=_round(max(0.0, min(low, about))),
        about=_round(about),
        at_most=_round(max(about, min(high, most))),
    )


def _round(seconds: float) -> float:
    return round(seconds, 1)


def attempts_of(repeats: RepeatPlan) -> tuple[int, int, int]:
    """The attempts of a cell: at least, about and at most.

    One attempt can show that a target can't run the script. Mixed results need more attempts than planned.
    """
    if repeats.exact:
        return repeats.at_most, repeats.at_most, repeats.at_most
    return 1, repeats.at_most, max(repeats.at_most, GROWN)


def cell_estimate(repeats: RepeatPlan, seconds: Seconds) -> CellEstimatePart:
    """The estimate of one cell."""
    least, _about, most = attempts_of(repeats)
    return CellEstimatePart(
        attempts_at_least=least, attempts_at_most=most, seconds=seconds.range, basis=seconds.basis
    )


def machine_seconds(repeats: RepeatPlan, cells: Iterable[Seconds]) -> RangePart:
    """The seconds of all attempts of all cells together."""
    least, about, most = attempts_of(repeats)
    ranges = [cell.range for cell in cells]
    return RangePart(
        at_least=_round(sum(one.at_least * least for one in ranges)),
        about=_round(sum(one.about * about for one in ranges)),
        at_most=_round(sum((one.at_most or 0.0) * most for one in ranges)),
    )


def weakest(cells: Iterable[Seconds]) -> Basis:
    """The basis of an estimate over several cells: the weakest of theirs."""
    return max((cell.basis for cell in cells), key=lambda basis: _RANKS[basis], default="guess")
