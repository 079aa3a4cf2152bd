"""What one trial of a bisection tells: whether the claim was seen at a point, or why that can't be told."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from app.intake.claim.claims import CheckKind, Claim, Over, Role, Where
from app.intake.reading import Script
from app.judging.judgement import DifferentKind, Verdict
from app.judging.verdict.job import LEAST_FOR_NEVER, judge_job
from app.targets.planning.plan import RepeatPlan
from app.targets.target import Target
from worker.contract import Reason, Result

# Not a later try, but another toolchain or another machine would change these.
_FOR_GOOD = {
    "stale_reproducer",
    "missing_package",
    "no_gpu",
    "too_few_gpus",
    "no_kernels_for_card",
    "other_os",
    "missing_file",
}
# Another value, or a proper error in the place of a crash, is not what is claimed; a near value or another failure may be.
_NOT_IT = {DifferentKind.OTHER_VALUE, DifferentKind.CLEAN_ERROR}
_UNCLEAR = Reason(code="unclear", detail="Something like the claim happened, and not the same.")


@dataclass(frozen=True, slots=True)
class Sighting:
    """`seen` is None where the trial could not tell. `reason`: why not, or what was there in the place of the claim."""

    seen: bool | None
    reason: Reason | None = None
    for_good: bool = False


def can_be_bisected(claim: Claim) -> bool:
    """Whether attempts on one target alone can show what is claimed."""
    return any(check.over is not Over.PAIR for check in claim.having(Role.BUG))


def attempts_of_trial(claim: Claim) -> int:
    """How many attempts it takes to see the claim or not: one, but for what is told of repeats or of times."""
    several = any(check.over_repeats or check.kind is CheckKind.SLOWER for check in claim.having(Role.BUG))
    return LEAST_FOR_NEVER if several else 1


def anywhere(claim: Claim) -> Claim:
    """The claim without the version that it was made of: the others are what is asked about."""
    checks = tuple(
        check.model_copy(
            update={"where": Where.model_validate({**check.where.model_dump(), "version": None})}
        )
        for check in claim.checks
    )
    return claim.model_copy(update={"checks": checks})


def sighting(claim: Claim, script: Script, target: Target, results: Sequence[Result]) -> Sighting:
    """Judge one trial."""
    judgement = judge_job(claim, script, target, results, plan=RepeatPlan(max(1, len(results)), exact=True))
    reason = judgement.reason
    match judgement.verdict:
        case Verdict.REPRODUCED | Verdict.FLAKY:
            return Sighting(seen=True)
        case Verdict.NOT_REPRODUCED:
            return Sighting(seen=False)
        case Verdict.DIFFERENT if reason is not None and reason.code in _NOT_IT:
            return Sighting(seen=False, reason=reason)
        case Verdict.DIFFERENT:
            return Sighting(seen=None, reason=reason or _UNCLEAR)
        case _:
            return Sighting(
                seen=None, reason=reason, for_good=reason is not None and reason.code in _FOR_GOOD
            )
