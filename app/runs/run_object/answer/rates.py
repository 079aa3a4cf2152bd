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
    """The counts where it was seen against those where it was not, with 95 % intervals of the rates."""
    free = [job for job in elsewhere if job.of and not job.matched]
    words = _seen_words([job for job in there if job.of])
    if not words:
        return ""
    return f"{words} against {_free_words(free)}." if free else f"{words}."


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
    return f"{_free_words(free, noun=' attempts')}." if free else ""


def _seen_words(jobs: Sequence[JobPart]) -> str:
    """`3 of 3 attempts (true rate at least 27 %)`; cells with another count than all are named one by one."""
    if jobs and all(job.matched == job.of for job in jobs):
        count = sum(job.of for job in jobs)
        lows = [interval.low for job in jobs if (interval := _interval(job)) is not None]
        where, each = _places(jobs)
        bound = f" (true rate at least {_percent(min(lows))}{each})" if len(lows) == len(jobs) else ""
        return f"{count} of {count} {_attempts(count)}{where}{_independent_words(jobs)}{bound}"
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


def _rate_words(job: JobPart) -> str:
    interval = _interval(job)
    words = f"{job.matched} of {job.of} {_attempts(job.of)}"
    if interval is None:
        return words
    rate = f"true rate {100 * interval.low:.0f} to {_percent(interval.high)}"
    return f"{words}{_independent_words([job])} ({rate})"


def _free_words(jobs: Sequence[JobPart], *, noun: str = "") -> str:
    count = sum(job.of for job in jobs)
    bounds = [upper for job in jobs if (upper := _upper_bound(job)) is not None]
    where, each = _places(jobs)
    limit = f" (true rate at most {_percent(max(bounds))}{each})" if len(bounds) == len(jobs) else ""
    return f"0 of {count}{noun}{where}{_independent_words(jobs) if limit else ''}{limit}"


def _places(jobs: Sequence[JobPart]) -> tuple[str, str]:
    """Words for a count over several cells; empty for one."""
    return (f" in {len(jobs)} places", " in each") if len(jobs) > 1 else ("", "")


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
