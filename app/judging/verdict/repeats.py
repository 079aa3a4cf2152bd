"""How many more attempts a job needs before its verdict is strong enough; 0 when it is decided."""

from __future__ import annotations

import re
from collections.abc import Sequence

from app.intake.claim.claims import Claim, Role
from app.intake.reading import Script
from app.judging.check.reach import NOTHING_SHOWN, TOO_FEW_ATTEMPTS
from app.judging.judgement import JobJudgement, Verdict
from app.judging.verdict.job import counted, judge_job
from app.targets.planning.plan import RepeatPlan
from app.targets.target import Target
from worker.contract import Result, Start

# Equal attempts before "always", and before "never" of something that may be random.
ALWAYS = 3
ALWAYS_RANDOM = 10
NEVER_RANDOM = 20
# Once mixed, a rate is worth knowing: 20 attempts tell it to about a fifth; not where they would take longer than this, in seconds.
MIXED = 20
MIXED_SECONDS = 300.0
# Of these so many start cold, since the interval of a rate is told of cold ones alone; the others only have to bear it out.
MIXED_COLD = 10

_SOMETIMES = re.compile(
    r"\b(?:sometimes|occasionally|intermittent(?:ly)?|flaky|random(?:ly)?|rarely|now and then|once in a while"
    r"|(?:\d+|one|two|three|four|five)\s+(?:times\s+)?(?:in|out of)\s+(?:\d+|ten|five|every)"
    r"|\d+\s*%\s+of\s+(?:the\s+)?(?:time|runs))\b",
    re.IGNORECASE,
)


def may_vary(claim: Claim, script: Script) -> bool:
    """Whether repeats may differ by chance: the script draws without a seed, or the reporter says so."""
    return script.unseeded or _is_said_to_vary(claim)


def _is_said_to_vary(claim: Claim) -> bool:
    return _SOMETIMES.search(claim.text[:20_000]) is not None


def next_attempts(
    claim: Claim, script: Script, target: Target, results: Sequence[Result], plan: RepeatPlan
) -> int:
    """How many attempts to run now, beyond the counted `results`. An exact plan gives exactly its number."""
    have = len(counted(results))
    if plan.exact:
        return max(0, plan.at_most - have)
    if "trace" in target.settings:
        # It tells how numbers come about, which is the same each time; how often is for the cell without it.
        return max(0, 1 - have)
    if not have:
        # One alone first: it tells whether this target can show anything at all.
        return 1
    judgement = judge_job(claim, script, target, results)
    if judgement.verdict is Verdict.FLAKY:
        return max(0, _wanted_of_mixed(results, plan) - have)
    return max(0, min(_wanted(judgement, claim, script, plan), _most(claim, script, plan)) - have)


def most_warm(
    claim: Claim, script: Script, target: Target, results: Sequence[Result], plan: RepeatPlan
) -> int:
    """How many of a job's attempts may start warm in all: none before cold ones alone are mixed, and none where only cold ones count."""
    if plan.exact or any(check.over_repeats for check in claim.having(Role.BUG)):
        return 0
    cold = [result for result in counted(results) if result.start is Start.COLD]
    if not cold or judge_job(claim, script, target, cold).verdict is not Verdict.FLAKY:
        return 0
    return max(0, _wanted_of_mixed(results, plan) - max(MIXED_COLD, plan.at_most))


def _most(claim: Claim, script: Script, plan: RepeatPlan) -> int:
    return max(plan.at_most, NEVER_RANDOM) if may_vary(claim, script) else plan.at_most


def _wanted_of_mixed(results: Sequence[Result], plan: RepeatPlan) -> int:
    """As many as tell the rate, as far as there is time; the plan's number in any case."""
    took = [result.observation.wall_seconds for result in counted(results)]
    mean = sum(took) / len(took)
    in_time = int(MIXED_SECONDS / mean) if mean > 0 else MIXED
    return max(plan.at_most, min(MIXED, in_time))


def _wanted(judgement: JobJudgement, claim: Claim, script: Script, plan: RepeatPlan) -> int:
    """How many counted attempts this judgement should rest on."""
    by_chance = may_vary(claim, script) and not any(check.over_repeats for check in claim.having(Role.BUG))
    match judgement.verdict:
        case Verdict.CANNOT_SHOW:
            return _wanted_of_nothing(judgement, plan, by_chance=by_chance)
        case Verdict.REPRODUCED:
            # "Always" of what is said to happen sometimes wants as much as "never".
            return (
                NEVER_RANDOM
                if by_chance and _is_said_to_vary(claim)
                else ALWAYS_RANDOM
                if by_chance
                else ALWAYS
            )
        case Verdict.NOT_REPRODUCED:
            return NEVER_RANDOM if by_chance else plan.at_most
        case Verdict.DIFFERENT:
            return NEVER_RANDOM if by_chance else ALWAYS
        case _:
            return ALWAYS


def _wanted_of_nothing(judgement: JobJudgement, plan: RepeatPlan, *, by_chance: bool) -> int:
    """A lack does not go away by repeating; too few attempts do, and silence may where chance has a part."""
    code = None if judgement.reason is None else judgement.reason.code
    if code == TOO_FEW_ATTEMPTS.code:
        return plan.at_most
    return NEVER_RANDOM if by_chance and code == NOTHING_SHOWN.code else 0
