"""Which group of reports that want attention a report is in: from its standing verdict and the cells of its matrix."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from app.judging.judgement import SIGHTINGS, Defect, Scope, Verdict


class Attention(StrEnum):
    """What a report waits for."""

    STILL_BROKEN = "still_broken"
    FIXED = "fixed"
    ASK = "ask"
    NOT_AS_REPORTED = "not_as_reported"
    NEEDS_HUMAN = "needs_human"


@dataclass(frozen=True, slots=True)
class Line:
    """The verdicts of one script on one device with one choice of settings, oldest toolchain first: only those that tell something."""

    verdicts: tuple[Verdict, ...]


def attention_of(
    verdict: Verdict | None,
    scope: Scope | None,
    lines: Sequence[Line],
    *,
    defect: Defect | None = None,
    ran: bool = False,
) -> Attention | None:
    """The group; None while no run has ended. `verdict`, `scope` and `defect` are those of the run that stands.

    `ran` says that the script ran to its end on a target of that run, though it shows nothing of a claim there.
    """
    if verdict is None or verdict is Verdict.NEEDS_INFO:
        return None if verdict is None else Attention.ASK
    told = [line.verdicts for line in lines if line.verdicts]
    seen_before = [verdicts[-1] for verdicts in told if SIGHTINGS.intersection(verdicts)]
    # Where no cell shows what a run has seen, it was seen of a pair of targets.
    if SIGHTINGS.intersection(seen_before) or (verdict in SIGHTINGS and not seen_before):
        # What a test has explained without a bug is not broken: somebody has to say so to the reporter.
        return Attention.NEEDS_HUMAN if defect is Defect.NO else Attention.STILL_BROKEN
    if seen_before:
        # No longer as claimed; where something else happens now, nobody has shown that it is mended.
        return (
            Attention.FIXED
            if all(last is Verdict.NOT_REPRODUCED for last in seen_before)
            else Attention.NEEDS_HUMAN
        )
    if (verdict is Verdict.CANNOT_SHOW and not ran) or (
        verdict is Verdict.NOT_REPRODUCED and scope is not Scope.AS_REPORTED
    ):
        return Attention.NOT_AS_REPORTED
    return Attention.NEEDS_HUMAN


def attention_said(word: Verdict) -> Attention | None:
    """The group by a maintainer's word; None where that leaves nothing to wait for."""
    match word:
        case Verdict.REPRODUCED | Verdict.FLAKY:
            return Attention.STILL_BROKEN
        case Verdict.NEEDS_INFO:
            return Attention.ASK
        case Verdict.CANNOT_SHOW:
            return Attention.NOT_AS_REPORTED
        case Verdict.NOT_REPRODUCED:
            return None
        case _:
            return Attention.NEEDS_HUMAN
