"""Counts of attempts on both sides of an answer, with intervals of the rates."""

from __future__ import annotations

from collections.abc import Sequence

from app.judging.judgement import RateInterval
from app.judging.verdict.rates import Homogeneity, homogeneity, rate_interval, rate_upper_bound
from app.runs.run_object.document import JobPart
from app.targets.target import label_without_toolchain
from worker.contract import Start

# Rates of different cells are not merged, so a sentence names so many of them.
MOST_RATES = 3


def sighting_words(there: Sequence[JobPart], elsewhere: Sequence[JobPart]) -> str:
    """The counts where it was seen and where it was not, then the rates that they leave open."""
    free = [job for job in elsewhere if job.of and not job.matched]
    showing = [job for job in there if job.of]
    if not showing:
        return ""
    counts, low = _seen_words(showing), _least(showing)
    if not free:
        sometimes = f" If it only happens sometimes, then in at least {low} of attempts{_weakest(showing)}."
        return f"{counts}.{sometimes if low else ''}"
    high = _most(free)
    bounds = [f"in at least {low} of attempts"] if low else []
    bounds += [f"elsewhere in at most {high}{'' if low else ' of attempts'}"] if high else []
    words = f"{counts}, elsewhere {_count_of_free(free)}."
    return f"{words} It happens {', '.join(bounds)}." if bounds else words


def both_sides_words(shows: tuple[str, JobPart], free: tuple[str, JobPart]) -> str:
    """The counts of both sides of a change, each beside its version. A test says what they are worth."""
    sides = [
        f"{job.matched} of {job.of}{f' {_attempts(job.of)}' if place == 0 else ''} with {version}"
        f"{_independent_words([job])}"
        for place, (version, job) in enumerate((shows, free))
    ]
    return f"{', '.join(sides)}."


def chance_of(before: JobPart, after: JobPart) -> Homogeneity | None:
    """The test whether both sides may have one rate. None unless their attempts are independent."""
    if not (_is_cold(before) and _is_cold(after)):
        return None
    return homogeneity([(before.matched, before.of), (after.matched, after.of)])


def chance_words(chance: Homogeneity) -> str:
    """The result of the test in a sentence: whether chance may explain the difference."""
    share = f"{100 * chance.p:.0f} %" if chance.p >= 0.01 else "less than 1 %"
    if chance.may_be_equal:
        return f"That may be chance: with equal rates it would come in {share} of cases."
    return f"That is hardly chance: with equal rates it would come in {share} of cases."


def absence_words(jobs: Sequence[JobPart]) -> str:
    """The count of attempts without the claim, and what may have been missed."""
    free = [job for job in jobs if job.of]
    if not free:
        return ""
    high = _most(free)
    maybe = f" If it happens at all, then in at most {high} of attempts{_weakest(free)}."
    return f"{_count_of_free(free, noun=' attempts')}.{maybe if high else ''}"


def _seen_words(jobs: Sequence[JobPart]) -> str:
    """`3 of 3 attempts`; cells with another count than all are named one by one, each with its rate."""
    if _shows_always(jobs):
        count = sum(job.of for job in jobs)
        return f"{count} of {count} {_attempts(count)}{_places(jobs)}{_independent_words(jobs)}"
    rates = [f"{name}{_rate_words(job)}" for job, name in zip(jobs, _names(jobs), strict=True)][:MOST_RATES]
    more = len(jobs) - len(rates)
    return "; ".join(rates) + (f" and {more} more place{'' if more == 1 else 's'}" if more > 0 else "")


def _names(jobs: Sequence[JobPart]) -> list[str]:
    """The device and the settings of each cell, to stand before its count; empty for one cell.

    The toolchain is named only where the others are equal.
    """
    if len(jobs) == 1:
        return [""]
    whole = [job.target.label for job in jobs]
    short = [label_without_toolchain(job.target) for job in jobs]
    return [f"{name}: " for name in (short if len(set(short)) == len(short) else whole)]


def _shows_always(jobs: Sequence[JobPart]) -> bool:
    return all(job.matched == job.of for job in jobs)


def _rate_words(job: JobPart) -> str:
    interval = _interval(job)
    words = f"{job.matched} of {job.of} {_attempts(job.of)}"
    if interval is None:
        return words
    rate = f"in truth {100 * interval.low:.0f} to {_percent(interval.high)}"
    return f"{words}{_independent_words([job])} ({rate})"


def _count_of_free(jobs: Sequence[JobPart], *, noun: str = "") -> str:
    count = sum(job.of for job in jobs)
    where = _places(jobs) if noun else _places(jobs).removesuffix(" places")
    return f"0 of {count}{noun}{where}{_independent_words(jobs) if _most(jobs) else ''}"


def _least(jobs: Sequence[JobPart]) -> str:
    """The lower bound of the weakest place; empty without one, and where rates of their own are said."""
    lows = [interval.low for job in jobs if (interval := _interval(job)) is not None]
    return _percent(min(lows)) if _shows_always(jobs) and len(lows) == len(jobs) else ""


def _most(jobs: Sequence[JobPart]) -> str:
    """The upper bound of the weakest place; empty without one."""
    bounds = [upper for job in jobs if (upper := _upper_bound(job)) is not None]
    return _percent(max(bounds)) if bounds and len(bounds) == len(jobs) else ""


def _weakest(jobs: Sequence[JobPart]) -> str:
    """The places that a bound is for. Equal sums over places have other bounds if one has fewer attempts."""
    if len(jobs) < 2:
        return ""
    return (
        " in each place" if len({job.of for job in jobs}) == 1 else " in the place with the fewest attempts"
    )


def _places(jobs: Sequence[JobPart]) -> str:
    """Words for a count over several cells; empty for one."""
    return f" in {len(jobs)} places" if len(jobs) > 1 else ""


def _interval(job: JobPart) -> RateInterval | None:
    return job.rate_interval or (rate_interval(job.matched, job.of) if _is_cold(job) else None)


def _upper_bound(job: JobPart) -> float | None:
    return job.rate_upper_bound or (rate_upper_bound(job.of) if _is_cold(job) else None)


def _is_cold(job: JobPart) -> bool:
    """Whether the attempts are independent, so that an interval may be computed."""
    return all(attempt.start == "cold" for attempt in job.attempts if attempt.counted)


def _independent_words(jobs: Sequence[JobPart]) -> str:
    """The count on which the bound of a rate rests, if that is not the count beside it."""
    starts = [one.start for job in jobs for one in job.attempts if one.counted and one.outcome]
    cold = starts.count(Start.COLD)
    return "" if cold == len(starts) else f", {cold} of them independent"


def _percent(rate: float) -> str:
    return f"{100 * rate:.0f} %"


def _attempts(count: int) -> str:
    return "attempt" if count == 1 else "attempts"
