"""The result of one trial of a bisection: whether a point shows the claim, or why that is not known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from app.intake.claim.claims import CheckKind, Claim, Over, Role
from app.intake.reading import Script
from app.judging.judgement import DifferentKind, Verdict
from app.judging.verdict.job import LEAST_FOR_NEVER, judge_readings
from app.targets.planning.plan import RepeatPlan
from app.targets.target import Target
from worker.contract import Reason, Result

# A later trial would not change these reasons. Only another toolchain or machine would.
_FOR_GOOD = {
    "stale_reproducer",
    "missing_package",
    "no_gpu",
    "too_few_gpus",
    "no_kernels_for_card",
    "other_os",
    "missing_file",
}
# These are clearly not the claimed behaviour. A near value or another failure may be.
_CLEARLY_OTHER = {DifferentKind.OTHER_VALUE, DifferentKind.CLEAN_ERROR}
_UNCLEAR = Reason(code="unclear", detail="The behaviour is similar to the claim, but not the same.")


@dataclass(frozen=True, slots=True)
class Sighting:
    """Whether the claim was seen; None if that is not known.

    `reason` says why it is not known, or what was seen instead. With `for_good`, a later trial would not
    help.
    """

    seen: bool | None
    reason: Reason | None = None
    for_good: bool = False


def can_be_bisected(claim: Claim) -> bool:
    """Whether attempts on one target can show the claim."""
    return any(check.over is not Over.PAIR for check in claim.having(Role.BUG))


def attempts_of_trial(claim: Claim) -> int:
    """The number of attempts in one trial: 1, or more for claims about repeats or times."""
    several = any(check.over_repeats or check.kind is CheckKind.SLOWER for check in claim.having(Role.BUG))
    return LEAST_FOR_NEVER if several else 1


def without_versions(claim: Claim) -> Claim:
    """The claim without its version, since a bisection asks about other versions."""
    checks = tuple(
        check.model_copy(update={"where": check.where.model_copy(update={"version": None, "range": None})})
        for check in claim.checks
    )
    return claim.model_copy(update={"checks": checks})


def without_anchors(claim: Claim) -> Claim:
    """The claim without the lines of the script that it is about."""
    checks = tuple(check.model_copy(update={"at": None, "through": ()}) for check in claim.checks)
    return claim.model_copy(update={"checks": checks})


def sighting(claim: Claim, script: Script, target: Target, results: Sequence[Result]) -> Sighting:
    """Judge one trial. A bisection asks where the result changes, so it needs no passage check."""
    judgement = judge_readings(
        without_anchors(claim), script, target, results, plan=RepeatPlan(max(1, len(results)), exact=True)
    )
    reason = judgement.reason
    match judgement.verdict:
        case Verdict.REPRODUCED | Verdict.FLAKY:
            return Sighting(seen=True)
        case Verdict.NOT_REPRODUCED:
            return Sighting(seen=False)
        case Verdict.DIFFERENT if reason is not None and reason.code in _CLEARLY_OTHER:
            return Sighting(seen=False, reason=reason)
        case Verdict.DIFFERENT:
            return Sighting(seen=None, reason=reason or _UNCLEAR)
        case _:
            return Sighting(
                seen=None, reason=reason, for_good=reason is not None and reason.code in _FOR_GOOD
            )
