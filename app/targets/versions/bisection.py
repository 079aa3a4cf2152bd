"""Where, in an ordered series, something begins or ceases to be seen: by Bayes' rule, so that flakiness costs attempts, not the answer.

The series has one change: on one side of it all points show something, at one rate, and on the other side none does; or it has none.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import accumulate
from operator import mul

# The probability that the answer is wrong, at most, if the series is as described.
ERROR = 0.01
# That something is seen where it is not: our own fault, or what is seen is not what was meant.
SPURIOUS = 1e-4
# The rates at which it may be seen where it is; which of them holds is learnt on the way.
_ALWAYS = 1.0 - SPURIOUS
_RATES = (*((step + 0.5) / 50 for step in range(50)), _ALWAYS)
# Before anything was tried, "every time" is as likely as all other rates together.
_LOG_PRIORS = tuple(math.log(0.5 if rate == _ALWAYS else 0.5 / (len(_RATES) - 1)) for rate in _RATES)
_LOG_YES, _LOG_NO = tuple(map(math.log, _RATES)), tuple(math.log1p(-rate) for rate in _RATES)
_LOG_SPURIOUS, _LOG_SILENT = math.log(SPURIOUS), math.log1p(-SPURIOUS)
# A point that gave so many more attempts without an answer than with one is given up.
MOST_UNTOLD = 2
# At the ends, before "it is not seen": a rate of 14 % would be missed once in twenty times by 20, one of 45 % by 5.
MOST_UNSEEN = 20
# Points between two silent ends that are tried once each: it may have come and gone.
MOST_GLANCES = 12
# How much likelier another pattern must make what was seen before "one change" is given up: it was a tenth as likely beforehand.
_MIXED_BEFOREHAND = 0.1
# Of points that may be tried next, so many are weighed, and so many attempts under way are taken into account.
_MOST_WEIGHED, _MOST_FORESEEN = 32, 3
# How likely those attempts that try a silent neighbour anew would miss it, were it seen there.
_MISSED_ANEW = 0.1


class Kind(StrEnum):
    """How the newer end of a series differs from the older."""

    APPEARED = "appeared"
    FIXED = "fixed"
    THROUGHOUT = "throughout"
    NOWHERE = "nowhere"
    MIXED = "mixed"
    UNTOLD = "untold"


_CHANGES = (Kind.APPEARED, Kind.FIXED)


@dataclass(frozen=True, slots=True)
class Found:
    """What a bisection ends with, as places in the series: the last point of the older side and the first of the newer, where it changed.

    Between them lie those that could not tell and, where attempts ran out, those that were not settled. `probability`: that it is right.
    """

    kind: Kind
    probability: float
    before: int | None = None
    after: int | None = None

    def is_exact(self) -> bool:
        """Whether a change is known to the point."""
        return self.before is not None and self.after is not None and self.after == self.before + 1


@dataclass(frozen=True, slots=True)
class _Answer:
    """Of the points that can tell, so many lie before the change."""

    kind: Kind
    before: int = 0


@dataclass(slots=True)
class Bisection:
    """Points, oldest first. Ask `wanted()` what to try, tell `observe()` or `skip()` what came of it, until `done`.

    An answer that is sure enough is tried anew on both sides of the change, by attempts that did not lead to it.
    """

    points: int
    error: float = ERROR
    most_unseen: int = MOST_UNSEEN
    _seen: list[int] = field(init=False)
    _unseen: list[int] = field(init=False)
    _untold: list[int] = field(init=False)
    _standing: _Answer | None = field(init=False, default=None)
    _sure: bool = field(init=False, default=False)
    _fresh_seen: Counter[int] = field(init=False, default_factory=Counter)
    _fresh_unseen: Counter[int] = field(init=False, default_factory=Counter)
    _known: list[list[float]] | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        if self.points < 2 or not 0 < self.error < 0.5:
            raise ValueError("A bisection needs two points or more, and an error between 0 and 0.5.")
        self._seen, self._unseen, self._untold = ([0] * self.points for _ in range(3))

    def observe(self, point: int, *, seen: bool) -> None:
        """An attempt at a point showed it, or did not although it came that far."""
        (self._seen if seen else self._unseen)[point] += 1
        (self._fresh_seen if seen else self._fresh_unseen)[point] += 1
        self._changed()

    def skip(self, point: int, *, for_good: bool = False) -> None:
        """An attempt at a point could not tell; `for_good`: no other will."""
        self._untold[point] += self.attempts(point) + MOST_UNTOLD if for_good else 1
        self._changed()

    def _changed(self) -> None:
        self._known = None
        answer, probability = self._best()
        self._sure = probability >= 1 - self.error and any(self._seen)
        # An answer that is doubted for a while and comes back was tried anew all the same.
        if answer != self._standing and (self._sure or self._standing is not None):
            self._standing = answer if self._sure else None
            self._fresh_seen.clear()
            self._fresh_unseen.clear()

    def attempts(self, point: int) -> int:
        """How many attempts at a point told something."""
        return self._seen[point] + self._unseen[point]

    def times_seen(self, point: int) -> int:
        """How many attempts at a point showed it."""
        return self._seen[point]

    def is_untold(self, point: int) -> bool:
        """Whether a point is given up."""
        return self._untold[point] >= self.attempts(point) + MOST_UNTOLD

    def _told(self) -> list[int]:
        return [point for point in range(self.points) if not self.is_untold(point)]

    # The patterns, in this order: it appeared at the points 1 to n - 1, it was fixed there, it is seen throughout, it is seen nowhere.

    def _patterns(self) -> list[_Answer]:
        """What each pattern says of the points that can tell; those between two of them make no difference."""
        told_before = [0, *accumulate(not self.is_untold(point) for point in range(self.points))]
        told = told_before[-1]

        def over(kind: Kind, at_begin: Kind, at_end: Kind) -> Iterator[_Answer]:
            for first in range(1, self.points):
                before = told_before[first]
                yield (
                    _Answer(kind, before)
                    if 0 < before < told
                    else _Answer(at_begin if before == 0 else at_end)
                )

        appeared = over(Kind.APPEARED, Kind.THROUGHOUT, Kind.NOWHERE)
        fixed = over(Kind.FIXED, Kind.NOWHERE, Kind.THROUGHOUT)
        return [*appeared, *fixed, _Answer(Kind.THROUGHOUT), _Answer(Kind.NOWHERE)]

    def _shown(self) -> list[range]:
        """The points at which each pattern shows it."""
        changes = range(1, self.points)
        everywhere = range(self.points)
        return [
            *(everywhere[first:] for first in changes),
            *(everywhere[:first] for first in changes),
            everywhere,
            range(0),
        ]

    def _weights(self) -> list[list[float]]:
        """The probability of each pattern with each rate."""
        if self._known is None:
            seen, unseen = [0, *accumulate(self._seen)], [0, *accumulate(self._unseen)]
            rows = []
            for shown, prior in zip(self._shown(), self._priors(), strict=True):
                yes, no = seen[shown.stop] - seen[shown.start], unseen[shown.stop] - unseen[shown.start]
                outside = prior + (seen[-1] - yes) * _LOG_SPURIOUS + (unseen[-1] - no) * _LOG_SILENT
                rows.append([outside + own for own in _log_likelihoods(yes, no)])
            top = max(map(max, rows))
            weights = [[math.exp(value - top) for value in row] for row in rows]
            total = math.fsum(map(math.fsum, weights))
            self._known = [[weight / total for weight in row] for row in weights]
        return self._known

    def _priors(self) -> list[float]:
        changes = 2 * (self.points - 1)
        return [math.log(0.5 / changes)] * changes + [math.log(0.25)] * 2

    def rate(self) -> float:
        """How often it is expected to be seen where it is."""
        shown = [row for row, points in zip(self._weights(), self._shown(), strict=True) if points]
        total = math.fsum(map(math.fsum, shown))
        return (
            math.fsum(weight * rate for row in shown for weight, rate in zip(row, _RATES, strict=True))
            / total
        )

    def _answers(self) -> dict[_Answer, float]:
        """The probability of each answer that attempts can tell from the others."""
        found: dict[_Answer, float] = {}
        for answer, row in zip(self._patterns(), self._weights(), strict=True):
            found[answer] = found.get(answer, 0.0) + math.fsum(row)
        return found

    def _best(self) -> tuple[_Answer, float]:
        return max(self._answers().items(), key=lambda pair: pair[1])

    def is_mixed(self) -> bool:
        """Whether what was seen is far likelier where any point may show it or not, and each at a rate of its own."""
        single = _log_sum(
            prior + own + (sum(self._seen) - yes) * _LOG_SPURIOUS + (sum(self._unseen) - no) * _LOG_SILENT
            for shown, prior in zip(self._shown(), self._priors(), strict=True)
            for yes, no in [
                (sum(self._seen[shown.start : shown.stop]), sum(self._unseen[shown.start : shown.stop]))
            ]
            for own in _log_likelihoods(yes, no)
        )
        free = 0.0
        for yes, no in zip(self._seen, self._unseen, strict=True):
            shows = _log_sum(_log_likelihoods(yes, no))
            free += _log_sum([shows, yes * _LOG_SPURIOUS + no * _LOG_SILENT]) - math.log(2)
        return free - single >= math.log((1 - self.error) / (self.error * _MIXED_BEFOREHAND))

    @property
    def done(self) -> bool:
        """Whether the answer is sure enough and was confirmed, or no attempt can bring it further."""
        told = self._told()
        if len(told) < 2:
            return True
        if not any(self._seen):
            return next(self._first_sight(told, Counter()), None) is None
        if self.is_mixed():
            return True
        return self._sure and not self._unconfirmed(Counter())

    def found(self) -> Found:
        """The answer as far as it is known."""
        told = self._told()
        if len(told) < 2:
            return Found(Kind.UNTOLD, 1.0)
        answers = self._answers()
        if not any(self._seen):
            return Found(Kind.NOWHERE, answers.get(_Answer(Kind.NOWHERE), 0.0))
        if self.is_mixed():
            return Found(Kind.MIXED, 1 - self.error)
        best, probability = self._best()
        if best.kind not in _CHANGES and probability >= 1 - self.error:
            return Found(best.kind, probability)
        return self._range(told, answers)

    def _range(self, told: Sequence[int], answers: dict[_Answer, float]) -> Found:
        """The narrowest range of changes of one kind that is sure enough; where none is, the likeliest kind over its whole range."""
        wholes = {
            kind: math.fsum(answers.get(_Answer(kind, before), 0.0) for before in range(1, len(told)))
            for kind in _CHANGES
        }
        kind = max(wholes, key=lambda each: wholes[each])
        if max(answers.get(_Answer(other), 0.0) for other in (Kind.THROUGHOUT, Kind.NOWHERE)) > wholes[kind]:
            best, probability = self._best()
            return Found(best.kind, probability)
        by_place = [answers.get(_Answer(kind, before), 0.0) for before in range(1, len(told))]
        low, high = _narrowest(by_place, 1 - self.error)
        return Found(kind, math.fsum(by_place[low:high]), before=told[low], after=told[high])

    def wanted(self, most: int = 1, *, under_way: Iterable[int] = ()) -> list[int]:
        """The points to try next beside those under way, so that `most` are; the one that tells most first. Empty when done."""
        waiting = Counter(under_way)
        wanted: list[int] = []
        if self.done:
            return wanted
        while waiting.total() < most:
            point = self._next(waiting)
            if point is None:
                break
            wanted.append(point)
            waiting[point] += 1
        return wanted

    def _next(self, waiting: Counter[int]) -> int | None:
        told = self._told()
        if not any(self._seen):
            # Until it was seen once, nothing is known of its rate, and no "not seen" means anything.
            return next(self._first_sight(told, waiting), None)
        if self._sure:
            return next(iter(self._unconfirmed(waiting)), None)
        return self._most_telling(told, waiting)

    def _first_sight(self, told: Sequence[int], waiting: Counter[int]) -> Iterator[int]:
        """The ends in turn, the newer first; where they stay silent, a glance at what lies between."""
        ends = sorted((told[-1], told[0]), key=lambda point: (self._unseen[point] + waiting[point], -point))
        short = [point for point in ends if self._unseen[point] + waiting[point] < self.most_unseen]
        yield from short
        if short or any(waiting[point] for point in ends):
            return
        inner = told[1:-1]
        step = max(1.0, len(inner) / MOST_GLANCES)
        glances = [inner[int(place * step)] for place in range(min(len(inner), MOST_GLANCES))]
        yield from (point for point in glances if not self._unseen[point] and not waiting[point])

    def _unconfirmed(self, waiting: Counter[int]) -> list[int]:
        """The neighbours of the change that were not yet tried anew often enough for the answer that stands."""
        answer = self._standing
        if answer is None or answer.kind not in _CHANGES:
            return []
        told = self._told()
        before, after = told[answer.before - 1], told[answer.before]
        shows, silent = (after, before) if answer.kind is Kind.APPEARED else (before, after)
        enough = max(1, math.ceil(math.log(_MISSED_ANEW) / math.log1p(-min(self.rate(), _ALWAYS))))
        wanted = [] if self._fresh_seen[shows] or waiting[shows] else [shows]
        return wanted + [silent] * (self._fresh_unseen[silent] + waiting[silent] < enough)

    def _most_telling(self, told: Sequence[int], waiting: Counter[int]) -> int | None:
        """The point whose attempt tells most beyond what those under way will tell."""
        patterns = [
            (math.fsum(row), math.fsum(map(mul, row, _RATES)) / (math.fsum(row) or 1.0), shown)
            for row, shown in zip(self._weights(), self._shown(), strict=True)
        ]

        def chances(point: int) -> list[float]:
            return [rate if point in shown else SPURIOUS for _, rate, shown in patterns]

        # What those under way may show, with the probability of each pattern then.
        cases = [[weight for weight, _, _ in patterns]]
        for point in list(waiting.elements())[:_MOST_FORESEEN]:
            yes = chances(point)
            no = [1 - chance for chance in yes]
            cases = [list(map(mul, case, outcome)) for case in cases for outcome in (yes, no)]
        weighed = _spread(told, [(weight, shown) for weight, _, shown in patterns])
        return max(
            weighed,
            key=lambda point: (_information(cases, chances(point)), -waiting[point], -point),
            default=None,
        )


def _spread(told: Sequence[int], patterns: Sequence[tuple[float, range]]) -> list[int]:
    """All points that can tell, or of very many those that part the probability most evenly."""
    if len(told) <= _MOST_WEIGHED:
        return list(told)
    shown = {point: math.fsum(weight for weight, points in patterns if point in points) for point in told}
    return sorted(told, key=lambda point: abs(shown[point] - 0.5))[:_MOST_WEIGHED]


def _information(cases: Sequence[Sequence[float]], chances: Sequence[float]) -> float:
    """Bits that one attempt, which shows it by these chances under each pattern, tells of which pattern holds."""
    told = 0.0
    entropies = list(map(_entropy, chances))
    for case in cases:
        total = math.fsum(case)
        if total > 0:
            told += total * _entropy(min(1.0, math.fsum(map(mul, case, chances)) / total)) - math.fsum(
                map(mul, case, entropies)
            )
    return told


def _entropy(probability: float) -> float:
    return -sum(part * math.log2(part) for part in (probability, 1 - probability) if part > 0)


def _log_likelihoods(yes: int, no: int) -> list[float]:
    """Of so many attempts that showed it and did not, at each rate, together with how likely the rate is beforehand."""
    return [
        prior + yes * log_yes + no * log_no
        for prior, log_yes, log_no in zip(_LOG_PRIORS, _LOG_YES, _LOG_NO, strict=True)
    ]


def _log_sum(logs: Iterable[float]) -> float:
    values = list(logs)
    top = max(values)
    return top + math.log(math.fsum(math.exp(value - top) for value in values))


def _narrowest(weights: Sequence[float], enough: float) -> tuple[int, int]:
    """From where to where (not included) the fewest neighbours add up to enough; all of them where they don't."""
    best = (0, len(weights))
    low, held = 0, 0.0
    for high, weight in enumerate(weights):
        held += weight
        while held - weights[low] >= enough:
            held -= weights[low]
            low += 1
        if held >= enough and high + 1 - low < best[1] - best[0]:
            best = (low, high + 1)
    return best
