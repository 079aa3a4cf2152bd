"""Where, in an ordered series, something begins to be seen: by Bayes' rule, so that a flaky reproducer costs attempts and not the answer."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

# The probability that the answer is wrong, at most, under the assumptions in `Bisection`.
ERROR = 0.01
# That something is seen where it is not: crosstalk, a cosmic ray, our own fault.
SPURIOUS = 1e-4
# The rates at which it may be seen where it is; which of them holds is learnt on the way.
_RATES = tuple((step + 0.5) / 50 for step in range(50)) + (1.0 - SPURIOUS,)
# Before anything was tried, "every time" is as likely as all other rates together.
_PRIOR_ALWAYS = 0.5
_LOGS = tuple(
    (math.log(_PRIOR_ALWAYS if rate == _RATES[-1] else (1 - _PRIOR_ALWAYS) / (len(_RATES) - 1)), math.log(rate), math.log1p(-rate))
    for rate in _RATES
)
# A version that was tried so often without an answer gives none.
MOST_UNTOLD = 2
# At the newest point that can tell, before "it is not seen any more": a rate of 14 % would be missed once in twenty times.
MOST_UNSEEN = 20


@dataclass(frozen=True, slots=True)
class Found:
    """What a bisection ends with, as places in the series.

    `first_seen` is the first point at which it is seen, `last_unseen` the one before; either is None where the series does not hold it.
    With untold points between them, the answer is the range from `last_unseen` to `first_seen`. `probability`: that it is right.
    """

    last_unseen: int | None
    first_seen: int | None
    probability: float
    untold: tuple[int, ...] = ()


@dataclass(slots=True)
class Bisection:
    """A series of points, oldest first, of which all before some point don't show something and all from there on show it at one rate.

    Ask `wanted()` what to try, tell `observe()` or `skip()` what came of it, until `done`.
    """

    points: int
    error: float = ERROR
    _seen: list[int] = field(init=False)
    _unseen: list[int] = field(init=False)
    _untold: list[int] = field(init=False)

    def __post_init__(self) -> None:
        if self.points < 2 or not 0 < self.error < 0.5:
            raise ValueError("A bisection needs two points or more, and an error between 0 and 0.5.")
        self._seen, self._unseen, self._untold = ([0] * self.points for _ in range(3))

    def observe(self, point: int, *, seen: bool) -> None:
        """An attempt at a point showed it, or did not although it came that far."""
        (self._seen if seen else self._unseen)[point] += 1

    def skip(self, point: int) -> None:
        """An attempt at a point could not tell."""
        self._untold[point] += 1

    def is_untold(self, point: int) -> bool:
        """Whether a point is given up: it never told anything."""
        return self._untold[point] >= MOST_UNTOLD and not (self._seen[point] or self._unseen[point])

    def posterior(self) -> list[float]:
        """The probability that it is first seen at each point; the last is that of none of them."""
        return [math.fsum(row) for row in self._joint()]

    def rate(self) -> float:
        """How often it is expected to be seen where it is."""
        joint = self._joint()
        return math.fsum(weight * rate for row in joint for weight, rate in zip(row, _RATES, strict=True))

    def _joint(self) -> list[list[float]]:
        """The probability of each first point with each rate."""
        seen, unseen = sum(self._seen), sum(self._unseen)
        before_seen = before_unseen = 0
        logs: list[list[float]] = []
        for first in range(self.points + 1):
            before = before_seen * math.log(SPURIOUS) + before_unseen * math.log1p(-SPURIOUS)
            after_seen, after_unseen = seen - before_seen, unseen - before_unseen
            logs.append([before + prior + after_seen * yes + after_unseen * no for prior, yes, no in _LOGS])
            if first < self.points:
                before_seen += self._seen[first]
                before_unseen += self._unseen[first]
        top = max(map(max, logs))
        weights = [[math.exp(value - top) for value in row] for row in logs]
        total = math.fsum(math.fsum(row) for row in weights)
        return [[weight / total for weight in row] for row in weights]

    def _mass(self) -> list[tuple[range, float]]:
        """Runs of answers that no further attempt can tell apart, because the points between them tell nothing, with their probability."""
        found: list[tuple[range, float]] = []
        begin = 0
        probabilities = self.posterior()
        for first in range(self.points + 1):
            # The answers `first` and `first + 1` differ only in what the point `first` shows.
            if first < self.points and self.is_untold(first):
                continue
            found.append((range(begin, first + 1), math.fsum(probabilities[begin : first + 1])))
            begin = first + 1
        return found

    @property
    def done(self) -> bool:
        """Whether the answer is sure enough, or no point is left to try."""
        if not any(self._seen):
            last = self._last_told()
            return last is None or self._unseen[last] >= MOST_UNSEEN
        return self._best()[1] >= 1 - self.error

    def _last_told(self) -> int | None:
        return max((point for point in range(self.points) if not self.is_untold(point)), default=None)

    def _best(self) -> tuple[range, float]:
        return max(self._mass(), key=lambda pair: pair[1])

    def found(self) -> Found:
        """The answer as far as it is known."""
        answers, probability = self._best()
        told = [point for point in range(self.points) if not self.is_untold(point)]
        last = max((point for point in told if point < answers.start or (point == answers.start - 1)), default=None)
        first = answers.stop - 1 if answers.stop - 1 < self.points else None
        untold = tuple(point for point in range(answers.start, answers.stop - 1))
        return Found(last_unseen=last, first_seen=first, probability=probability, untold=untold)

    def wanted(self, most: int = 1) -> list[int]:
        """The points to try next, side by side, the one that tells most first. Empty when done."""
        if self.done:
            return []
        last = self._last_told()
        if last is not None and not any(self._seen):
            # Until it was seen once, nothing is known of its rate, and no "not seen" means anything.
            return [last]
        probabilities, rate = self.posterior(), self.rate()
        told = [point for point in range(self.points) if not self.is_untold(point)]
        seen_here = {point: math.fsum(probabilities[: point + 1]) for point in told}
        return sorted(told, key=lambda point: (-_information(seen_here[point], rate), point))[:most]


def _information(chance: float, rate: float) -> float:
    """Bits that one attempt tells of whether a point is past the first, which it is by chance, and then shows it at a rate."""
    return _entropy(chance * rate) - chance * _entropy(rate)


def _entropy(probability: float) -> float:
    rest = 1 - probability
    return -sum(part * math.log2(part) for part in (probability, rest) if part > 0)
