"""How long a cell and a plan would take, from how long attempts took before; a guess where nothing is known, and said to be one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from statistics import median

from app.runs.estimates.attempt_budget import GROWN
from app.runs.run_object.document import Basis, CellEstimatePart, RangePart
from app.storage.queries.queue.queue_position import AttemptDuration
from app.targets.planning.plan import RepeatPlan
from app.targets.target import Target, target_of
from worker.contract import Device

# On top of what the script takes: the sandbox, the probe of the environment, the way there and back.
OVERHEAD_SECONDS = 10.0
GUESSED = {Device.CPU: (1.0, 5.0), Device.CUDA: (3.0, 10.0)}
# Enough attempts that their extremes are a range; fewer are widened by these.
ENOUGH = 3
LESS, MORE = 0.5, 3.0
_RANKS: dict[Basis, int] = {"measured": 0, "script": 1, "recent": 2, "guess": 3}


@dataclass(frozen=True, slots=True)
class Seconds:
    """How long one attempt would take, and what that rests on."""

    range: RangePart
    basis: Basis


@dataclass(frozen=True, slots=True, kw_only=True)
class Durations:
    """How long attempts took: of the scripts asked about, and of any lately."""

    wall_seconds: float
    scripts: Sequence[AttemptDuration] = ()
    lately: Sequence[AttemptDuration] = ()
    _answers: dict[tuple[str, str], Seconds] = field(default_factory=dict)

    def of(self, script: str, target: Target) -> Seconds:
        """One attempt of a script on a target; of a script that was not asked about, what attempts take here lately."""
        key = (script, target.label())
        if key not in self._answers:
            self._answers[key] = self._of(script, target)
        return self._answers[key]

    def _of(self, script: str, target: Target) -> Seconds:
        mine = [one for one in self.scripts if one.script == script]
        here = [one.seconds for one in mine if target_of(one).label() == target.label()]
        alike = [one.seconds for one in mine if one.target.get("device") == target.device]
        lately = [one.seconds for one in self.lately if one.target.get("device") == target.device]
        most = _rounded(self.wall_seconds + OVERHEAD_SECONDS)
        if here:
            return Seconds(_range(here, most, widened=len(here) < ENOUGH), "measured")
        if alike:
            return Seconds(_range(alike, most, widened=True), "script")
        if lately:
            # Another script may take as long as any may.
            return Seconds(
                _range(lately, most, widened=True).model_copy(update={"at_most": _rounded(most)}), "recent"
            )
        low, about = GUESSED[target.device]
        return Seconds(RangePart(at_least=low, about=about, at_most=most), "guess")


def _range(seconds: Sequence[float], most: float, *, widened: bool) -> RangePart:
    low, high = (min(seconds) * LESS, max(seconds) * MORE) if widened else (min(seconds), max(seconds))
    about = min(max(0.0, median(seconds)), most)
    return RangePart(
        at_least=_rounded(max(0.0, min(low, about))),
        about=_rounded(about),
        at_most=_rounded(max(about, min(high, most))),
    )


def _rounded(seconds: float) -> float:
    return round(seconds, 1)


def attempts_of(repeats: RepeatPlan) -> tuple[int, int, int]:
    """How many attempts a cell has at least, about and at most: one shows whether the target can show anything, a mixed one gets more."""
    if repeats.exact:
        return repeats.at_most, repeats.at_most, repeats.at_most
    return 1, repeats.at_most, max(repeats.at_most, GROWN)


def cell_estimate(repeats: RepeatPlan, seconds: Seconds) -> CellEstimatePart:
    """What one cell would take."""
    least, _about, most = attempts_of(repeats)
    return CellEstimatePart(
        attempts_at_least=least, attempts_at_most=most, seconds=seconds.range, basis=seconds.basis
    )


def machine_seconds(repeats: RepeatPlan, cells: Iterable[Seconds]) -> RangePart:
    """Of all attempts of all cells together."""
    least, about, most = attempts_of(repeats)
    ranges = [cell.range for cell in cells]
    return RangePart(
        at_least=_rounded(sum(one.at_least * least for one in ranges)),
        about=_rounded(sum(one.about * about for one in ranges)),
        at_most=_rounded(sum((one.at_most or 0.0) * most for one in ranges)),
    )


def weakest(cells: Iterable[Seconds]) -> Basis:
    """What an estimate of several cells rests on: the weakest of theirs."""
    return max((cell.basis for cell in cells), key=lambda basis: _RANKS[basis], default="guess")
