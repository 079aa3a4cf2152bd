"""Bisection of an ordered series with flaky observations, by Bayes' rule.

The assumption: the series has at most one change. On one side of it all points show the behaviour at the same
rate, and on the other side none does. Flakiness costs more attempts, but does not make the answer wrong.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import accumulate
from operator import mul

from app.targets.versions.probability import (
    ALWAYS,
    LOG_SILENT,
    LOG_SPURIOUS,
    RATES,
    SPURIOUS,
    information,
    log_change_priors,
    log_likelihoods,
    log_sum,
    most_even,
    narrowest,
)

# The largest probability of a wrong answer, if the assumption holds.
ERROR = 0.01
# A point is given up when its inconclusive attempts exceed its conclusive ones by this many.
MOST_INCONCLUSIVE = 2
# Attempts at each end before "it is not seen". 20 attempts miss a rate of 14 % once in 20 times.
MOST_UNSEEN = 20
# Points that are tried once between two ends that show nothing, since the behaviour may have come and gone.
MOST_GLANCES = 12
# The prior probability that the series has more than one change.
_MIXED_PRIOR = 0.1
# Limits for the choice of the next point: candidate points, and running attempts that are taken into account.
_MOST_CANDIDATES, _MOST_RUNNING = 32, 3
# Where some points can't be tried: with less information, an attempt at another one is in vain.
_LEAST_BITS = 0.01
# Without chance: the most attempts at each of three points that contradict one change.
_MOST_IN_DOUBT = 8
# The probability that the confirming attempts at the neighbour without the behaviour miss it.
_CONFIRMATION_MISS = 0.1


class Kind(StrEnum):
    """The kind of the answer: how the newer end of a series differs from the older end."""

    APPEARED = "appeared"
    FIXED = "fixed"
    THROUGHOUT = "throughout"
    NOWHERE = "nowhere"
    MIXED = "mixed"
    INCONCLUSIVE = "untold"


_CHANGES = (Kind.APPEARED, Kind.FIXED)


@dataclass(frozen=True, slots=True)
class BisectionResult:
    """The answer of a bisection, with its probability.

    If the series has a change, `before` is the last point of the older side and `after` the first of the
    newer side. Points between them were inconclusive, or not decided because attempts ran out.
    """

    kind: Kind
    probability: float
    before: int | None = None
    after: int | None = None

    def is_exact(self) -> bool:
        """Whether the change lies between two neighbouring points."""
        return self.before is not None and self.after is not None and self.after == self.before + 1


@dataclass(frozen=True, slots=True)
class _Answer:
    """An answer: `before` is the count of conclusive points before the change."""

    kind: Kind
    before: int = 0


@dataclass(slots=True)
class Bisection:
    """The state of a bisection. Points are numbered from 0, oldest first.

    Run the points of `next_points()` and pass the observations to `observe()` or `skip()`, until `done`. An
    answer that is sure enough is confirmed by new attempts on both sides of the change.

    `by_chance`: whether chance may decide what one attempt shows.
    """

    points: int
    error: float = ERROR
    most_unseen: int = MOST_UNSEEN
    by_chance: bool = True
    _closed: set[int] = field(init=False, default_factory=set)
    _seen: list[int] = field(init=False)
    _unseen: list[int] = field(init=False)
    _inconclusive: list[int] = field(init=False)
    _candidate_answer: _Answer | None = field(init=False, default=None)
    _sure: bool = field(init=False, default=False)
    _new_seen: Counter[int] = field(init=False, default_factory=Counter)
    _new_unseen: Counter[int] = field(init=False, default_factory=Counter)
    _cached_weights: list[list[float]] | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        if self.points < 2 or not 0 < self.error < 0.5:
            raise ValueError("A bisection needs two points or more, and an error between 0 and 0.5.")
        self._seen, self._unseen, self._inconclusive = ([0] * self.points for _ in range(3))

    def observe(self, point: int, *, seen: bool) -> None:
        """Record a conclusive attempt: it showed the behaviour or not."""
        (self._seen if seen else self._unseen)[point] += 1
        (self._new_seen if seen else self._new_unseen)[point] += 1
        self._update()

    def skip(self, point: int, *, for_good: bool = False) -> None:
        """Record an inconclusive attempt. With `for_good`, the point is given up."""
        self._inconclusive[point] += self.attempts(point) + MOST_INCONCLUSIVE if for_good else 1
        self._update()

    def close(self, point: int) -> None:
        """Let no attempt at a point follow. Those that it has count as those of other points."""
        self._closed.add(point)

    def exclude_chance(self, *, most_unseen: int) -> None:
        """From now on chance decides nothing: attempts were equal where they would differ."""
        self.by_chance, self.most_unseen = False, most_unseen
        self._update()

    def _update(self) -> None:
        self._cached_weights = None
        answer, probability = self._best()
        self._sure = probability >= 1 - self.error and any(self._seen)
        # If the same answer is doubted for a while and then comes back, its confirming attempts still count.
        if answer != self._candidate_answer and (self._sure or self._candidate_answer is not None):
            self._candidate_answer = answer if self._sure else None
            self._new_seen.clear()
            self._new_unseen.clear()

    def attempts(self, point: int) -> int:
        """The count of conclusive attempts at a point."""
        return self._seen[point] + self._unseen[point]

    def times_seen(self, point: int) -> int:
        """The count of attempts at a point that showed the behaviour."""
        return self._seen[point]

    def is_given_up(self, point: int) -> bool:
        """Whether a point is given up as inconclusive."""
        return self._inconclusive[point] >= self.attempts(point) + MOST_INCONCLUSIVE

    def _usable_points(self) -> list[int]:
        return [point for point in range(self.points) if not self.is_given_up(point)]

    def _open_points(self) -> list[int]:
        """The points that can be tried."""
        return [point for point in self._usable_points() if point not in self._closed]

    # The patterns in this order: appeared at point 1 to n - 1, fixed at point 1 to n - 1, throughout,
    # nowhere.

    def _patterns(self) -> list[_Answer]:
        """The answer of each pattern.

        Patterns that differ only at points that are given up have the same answer.
        """
        usable_before = [0, *accumulate(not self.is_given_up(point) for point in range(self.points))]
        usable = usable_before[-1]

        def over(kind: Kind, at_begin: Kind, at_end: Kind) -> Iterator[_Answer]:
            for first in range(1, self.points):
                before = usable_before[first]
                yield (
                    _Answer(kind, before)
                    if 0 < before < usable
                    else _Answer(at_begin if before == 0 else at_end)
                )

        appeared = over(Kind.APPEARED, Kind.THROUGHOUT, Kind.NOWHERE)
        fixed = over(Kind.FIXED, Kind.NOWHERE, Kind.THROUGHOUT)
        return [*appeared, *fixed, _Answer(Kind.THROUGHOUT), _Answer(Kind.NOWHERE)]

    def _points_shown(self) -> list[range]:
        """The points at which each pattern shows the behaviour."""
        changes = range(1, self.points)
        everywhere = range(self.points)
        return [
            *(everywhere[first:] for first in changes),
            *(everywhere[:first] for first in changes),
            everywhere,
            range(0),
        ]

    def _weights(self) -> list[list[float]]:
        """The probability of each pattern (rows) with each rate (columns)."""
        if self._cached_weights is None:
            seen, unseen = [0, *accumulate(self._seen)], [0, *accumulate(self._unseen)]
            rows = []
            for span, prior in zip(self._points_shown(), log_change_priors(self.points), strict=True):
                yes, no = (
                    seen[span.stop] - seen[span.start],
                    unseen[span.stop] - unseen[span.start],
                )
                outside = prior + (seen[-1] - yes) * LOG_SPURIOUS + (unseen[-1] - no) * LOG_SILENT
                rows.append([outside + own for own in log_likelihoods(yes, no, by_chance=self.by_chance)])
            top = max(map(max, rows))
            weights = [[math.exp(value - top) for value in row] for row in rows]
            total = math.fsum(map(math.fsum, weights))
            self._cached_weights = [[weight / total for weight in row] for row in weights]
        return self._cached_weights

    def rate(self) -> float:
        """The expected rate at points that show the behaviour."""
        rows = [row for row, points in zip(self._weights(), self._points_shown(), strict=True) if points]
        total = math.fsum(map(math.fsum, rows))
        return (
            math.fsum(weight * rate for row in rows for weight, rate in zip(row, RATES, strict=True)) / total
        )

    def _answers(self) -> dict[_Answer, float]:
        """The probability of each answer."""
        probabilities: dict[_Answer, float] = {}
        for answer, row in zip(self._patterns(), self._weights(), strict=True):
            probabilities[answer] = probabilities.get(answer, 0.0) + math.fsum(row)
        return probabilities

    def _best(self) -> tuple[_Answer, float]:
        return max(self._answers().items(), key=lambda pair: pair[1])

    def is_mixed(self) -> bool:
        """Whether the observations are far more likely if each point has its own rate, in any order."""
        single = log_sum(
            prior + own + (sum(self._seen) - yes) * LOG_SPURIOUS + (sum(self._unseen) - no) * LOG_SILENT
            for span, prior in zip(self._points_shown(), log_change_priors(self.points), strict=True)
            for yes, no in [
                (
                    sum(self._seen[span.start : span.stop]),
                    sum(self._unseen[span.start : span.stop]),
                )
            ]
            for own in log_likelihoods(yes, no, by_chance=self.by_chance)
        )
        free = 0.0
        for yes, no in zip(self._seen, self._unseen, strict=True):
            shows = log_sum(log_likelihoods(yes, no, by_chance=self.by_chance))
            free += log_sum([shows, yes * LOG_SPURIOUS + no * LOG_SILENT]) - math.log(2)
        return free - single >= math.log((1 - self.error) / (self.error * _MIXED_PRIOR))

    @property
    def done(self) -> bool:
        """Whether the answer is sure and confirmed, or more attempts can't improve it."""
        usable = self._usable_points()
        if len(usable) < 2 or not self._open_points():
            return True
        if not any(self._seen):
            return next(self._first_sight(self._open_points(), Counter()), None) is None
        if self.is_mixed():
            return True
        if self._sure:
            return not self._points_to_confirm(Counter())
        # The rest may lie at points that can't be tried.
        return bool(self._closed) and self._next(Counter()) is None

    def result(self) -> BisectionResult:
        """The present answer."""
        usable = self._usable_points()
        if len(usable) < 2:
            return BisectionResult(Kind.INCONCLUSIVE, 1.0)
        answers = self._answers()
        if not any(self._seen):
            return BisectionResult(Kind.NOWHERE, answers.get(_Answer(Kind.NOWHERE), 0.0))
        if self.is_mixed():
            return BisectionResult(Kind.MIXED, 1 - self.error)
        best, probability = self._best()
        if best.kind not in _CHANGES and probability >= 1 - self.error:
            return BisectionResult(best.kind, probability)
        return self._range(usable, answers)

    def _range(self, usable: Sequence[int], answers: dict[_Answer, float]) -> BisectionResult:
        """The narrowest range that contains the change with enough probability, for the most likely kind."""
        wholes = {
            kind: math.fsum(answers.get(_Answer(kind, before), 0.0) for before in range(1, len(usable)))
            for kind in _CHANGES
        }
        kind = max(wholes, key=lambda each: wholes[each])
        if max(answers.get(_Answer(other), 0.0) for other in (Kind.THROUGHOUT, Kind.NOWHERE)) > wholes[kind]:
            best, probability = self._best()
            return BisectionResult(best.kind, probability)
        by_place = [answers.get(_Answer(kind, before), 0.0) for before in range(1, len(usable))]
        low, high = narrowest(by_place, 1 - self.error)
        return BisectionResult(kind, math.fsum(by_place[low:high]), before=usable[low], after=usable[high])

    def next_points(self, most: int = 1, *, under_way: Iterable[int] = ()) -> list[int]:
        """The points to try next beside those under way, so that `most` are; the one that tells most first.

        Empty when done.
        """
        waiting = Counter(under_way)
        points: list[int] = []
        if self.done:
            return points
        while waiting.total() < most:
            point = self._next(waiting)
            if point is None:
                break
            points.append(point)
            waiting[point] += 1
        return points

    def _next(self, waiting: Counter[int]) -> int | None:
        open_points = self._open_points()
        if not any(self._seen):
            # Until the behaviour was seen once, its rate is unknown, so "not seen" means nothing.
            return next(self._first_sight(open_points, waiting), None)
        if not self.by_chance and (point := self._point_in_doubt(open_points, waiting)) is not None:
            return point
        if self._sure:
            return next(iter(self._points_to_confirm(waiting)), None)
        return self._most_informative(open_points, waiting)

    def _first_sight(self, usable: Sequence[int], waiting: Counter[int]) -> Iterator[int]:
        """The points to try until the first sighting: the ends in turn, newer first, then some between."""
        ends = sorted(
            (usable[-1], usable[0]), key=lambda point: (self._unseen[point] + waiting[point], -point)
        )
        short = [point for point in ends if self._unseen[point] + waiting[point] < self.most_unseen]
        yield from short
        if short or any(waiting[point] for point in ends):
            return
        inner = usable[1:-1]
        step = max(1.0, len(inner) / MOST_GLANCES)
        glances = [inner[int(place * step)] for place in range(min(len(inner), MOST_GLANCES))]
        yield from (point for point in glances if not self._unseen[point] and not waiting[point])

    def _point_in_doubt(self, usable: Sequence[int], waiting: Counter[int]) -> int | None:
        """The least tried of three points that contradict one change. None without such ones."""
        runs: list[list[int]] = []
        for point in usable:
            if not self.attempts(point):
                continue
            if runs and (self._seen[runs[-1][0]] > 0) is (self._seen[point] > 0):
                runs[-1].append(point)
            else:
                runs.append([point])
        tried = {point: self.attempts(point) + waiting[point] for run in runs for point in run}
        best = [max(run, key=lambda point: tried[point]) for run in runs]
        triples = list(zip(best, best[1:], best[2:], strict=False))
        if not triples:
            return None
        surest = max(triples, key=lambda triple: sorted(map(tried.__getitem__, triple)))
        least = min(surest, key=lambda point: tried[point])
        return least if tried[least] < _MOST_IN_DOUBT else None

    def _points_to_confirm(self, waiting: Counter[int]) -> list[int]:
        """The neighbours of the change that need more attempts, or the nearest that can be tried."""
        answer = self._candidate_answer
        if answer is None or answer.kind not in _CHANGES:
            return []
        usable = self._usable_points()
        before = next((point for point in usable[answer.before - 1 :: -1] if point not in self._closed), None)
        after = next((point for point in usable[answer.before :] if point not in self._closed), None)
        shows, silent = (after, before) if answer.kind is Kind.APPEARED else (before, after)
        enough = max(1, math.ceil(math.log(_CONFIRMATION_MISS) / math.log1p(-min(self.rate(), ALWAYS))))
        points = [] if shows is None or self._new_seen[shows] or waiting[shows] else [shows]
        if silent is not None and self._new_unseen[silent] + waiting[silent] < enough:
            points.append(silent)
        return points

    def _most_informative(self, usable: Sequence[int], waiting: Counter[int]) -> int | None:
        """The point with the most information, given the attempts under way."""
        patterns = [
            (math.fsum(row), math.fsum(map(mul, row, RATES)) / (math.fsum(row) or 1.0), span)
            for row, span in zip(self._weights(), self._points_shown(), strict=True)
        ]

        def chances(point: int) -> list[float]:
            return [rate if point in span else SPURIOUS for _, rate, span in patterns]

        # The possible results of the attempts under way, each with the weights of the patterns.
        cases = [[weight for weight, _, _ in patterns]]
        for point in list(waiting.elements())[:_MOST_RUNNING]:
            yes = chances(point)
            no = [1 - chance for chance in yes]
            cases = [list(map(mul, case, outcome)) for case in cases for outcome in (yes, no)]
        candidates = most_even(usable, [(weight, span) for weight, _, span in patterns], _MOST_CANDIDATES)
        bits = {point: information(cases, chances(point)) for point in candidates}
        if self._closed and max(bits.values(), default=0.0) < _LEAST_BITS:
            return None
        return max(candidates, key=lambda point: (bits[point], -waiting[point], -point), default=None)
