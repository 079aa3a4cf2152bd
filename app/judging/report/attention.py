"""The attention that a report needs, by its current verdict and the cells of its matrix."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from app.judging.judgement import SIGHTINGS, Scope, Verdict
from app.judging.report.owner import NOTHING_TO_MEND, Owner


class Attention(StrEnum):
    """The action that a report waits for."""

    STILL_BROKEN = "still_broken"
    FIXED = "fixed"
    ASK = "ask"
    NOT_AS_REPORTED = "not_as_reported"
    NEEDS_HUMAN = "needs_human"
    EXPLAINED = "explained"


@dataclass(frozen=True, slots=True)
class VersionRow:
    """The conclusive verdicts of one script on one device with the same settings, oldest toolchain first."""

    verdicts: tuple[Verdict, ...]


def attention_of(
    verdict: Verdict | None,
    scope: Scope | None,
    rows: Sequence[VersionRow],
    *,
    owner: Owner | None = None,
    ran: bool = False,
) -> Attention | None:
    """The attention that a report needs; None while no run has ended.

    `verdict` and `scope` are those of the report's current run. `owner` is the one that the report's page
    names. `ran` is True if the script ran to its end on a target of that run.
    """
    if verdict is None or verdict is Verdict.NEEDS_INFO:
        return None if verdict is None else Attention.ASK
    # The newest verdict of each row that has a sighting.
    newest = [row.verdicts[-1] for row in rows if SIGHTINGS.intersection(row.verdicts)]
    # A sighting that no cell shows is one of a pair of targets.
    if SIGHTINGS.intersection(newest) or (verdict in SIGHTINGS and not newest):
        if owner not in NOTHING_TO_MEND:
            return Attention.STILL_BROKEN
        # There is nothing to mend and nothing to decide: the answer says why. If the current run saw
        # something else, somebody has to look.
        return Attention.EXPLAINED if verdict in SIGHTINGS else Attention.NEEDS_HUMAN
    if newest:
        # If something else happens now, it is not known whether the bug is fixed.
        return (
            Attention.FIXED
            if all(last is Verdict.NOT_REPRODUCED for last in newest)
            else Attention.NEEDS_HUMAN
        )
    if (verdict is Verdict.CANNOT_SHOW and not ran) or (
        verdict is Verdict.NOT_REPRODUCED and scope is not Scope.AS_REPORTED
    ):
        return Attention.NOT_AS_REPORTED
    return Attention.NEEDS_HUMAN


def attention_of_overruling(verdict: Verdict) -> Attention | None:
    """The attention after a maintainer overruled the verdict; None if nothing is left to do."""
    match verdict:
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
