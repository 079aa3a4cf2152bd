"""The number of attempts that a job needs for a reliable verdict."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from app.intake.claim.claims import CheckKind, Claim, Role
from app.intake.code.hash_order import depends_on_hashes
from app.intake.needs.card_use import is_about_the_process
from app.intake.reading import Script
from app.judging.cause.cures import needed_for_cure, varies
from app.judging.check.reach import NOTHING_SHOWN, TOO_FEW_ATTEMPTS
from app.judging.judgement import JobJudgement, StoppingRule, Verdict
from app.judging.output.printed_numbers import numbers_in
from app.judging.verdict.facets import facets_of
from app.judging.verdict.frequency import (
    LEAST_FOR_SOMETIMES,
    has_own_repeats,
    is_about_frequency,
    needs_many,
)
from app.judging.verdict.job import LEAST_FOR_NEVER, evidence_of, judge_job, judge_observed
from app.judging.verdict.passage import needs_another_check, passages_in, points_to_pass
from app.judging.verdict.rates import attempts_to_exclude
from app.judging.verdict.variation import unlike_cold
from app.targets.planning.plan import RepeatPlan
from app.targets.target import Target
from worker.contract import AttemptKind, Result, Start

RULE = StoppingRule()
# Attempts with the same result before "always" and, where chance plays a part, before "always" and "never".
ALWAYS = attempts_to_exclude(RULE.always)
ALWAYS_RANDOM = attempts_to_exclude(RULE.always_by_chance)
NEVER_RANDOM = attempts_to_exclude(RULE.never_by_chance)
# Attempts of a cell that fixes a source of variation.
FIXED = 12
# Without a claim: as many as three plain ones that all differ need.
FIXED_UNCLAIMED = 4
# The most attempts when results are mixed, unless the rate is known well enough before, and the most time for
# them in seconds.
MIXED = 20
MIXED_SECONDS = 300.0
# The kinds of claims about printed numbers, and the least digits that hardly agree by chance.
_OF_NUMBERS = {CheckKind.VALUE, CheckKind.OUTPUT, CheckKind.DIFFERS}
_MANY_DIGITS = 6
_MOST_CHARACTERS = 20_000
# At least this many of them start cold, since the interval of a rate uses cold attempts only.
MIXED_COLD = 10
# The verdicts of a cold attempt that warm ones may repeat. The others say that the bug did not show itself,
# and the bound of its rate counts cold attempts only.
_REPEATED_WARM = frozenset({Verdict.REPRODUCED, Verdict.OBSERVED})


def contrast_plan(plan: RepeatPlan) -> RepeatPlan:
    """The attempts of a cell that looks for a contrast: as many as a "no" needs at least."""
    return RepeatPlan(min(plan.at_most, LEAST_FOR_NEVER), exact=plan.exact)


def may_vary(claim: Claim, script: Script) -> bool:
    """Whether repeats may differ by chance: no seed, the order of a set, or the report says so.

    Each run of a script that repeats the failing statement itself is many.
    """
    if has_own_repeats(claim, script):
        return False
    is_random = any(check.random for check in claim.having(Role.BUG))
    return script.unseeded or is_random or is_about_frequency(claim) or depends_on_hashes(script.script)


def next_attempts(
    claim: Claim,
    script: Script,
    target: Target,
    results: Sequence[Result],
    plan: RepeatPlan,
    *,
    plain: Sequence[Result] | None = None,
) -> int:
    """The number of attempts to run now, in addition to the counted `results`. 0 if the job is decided.

    With an exact plan it is the number that is missing to the plan. `plain` are the results of the cell that
    this one tests for a cause, once it has ended.
    """
    claims = facets_of(claim).values() or (claim,)
    return max(_next_of_one(one, script, target, results, plan, plain=plain) for one in claims)


def _next_of_one(
    claim: Claim,
    script: Script,
    target: Target,
    results: Sequence[Result],
    plan: RepeatPlan,
    *,
    plain: Sequence[Result] | None,
) -> int:
    have = len(evidence_of(results))
    if plan.exact:
        return max(0, plan.at_most - have)
    if "trace" in target.settings or "compile" in target.settings:
        # These show how numbers are computed, which is the same each time. The cell without them gives the
        # rate.
        return max(0, 1 - have)
    if "fix" in target.settings:
        return max(0, _needed_for_cause(claim, script, results, plan, plain=plain) - have)
    if not have:
        # The first attempt alone shows whether this target can show the claim at all.
        return 1
    claim = _before_check(claim)
    judgement = judge_job(claim, script, target, results)
    if judgement.verdict is Verdict.FLAKY or judge_observed(claim, script, target, results) is not None:
        # "Sometimes" stays: further attempts only give the rate.
        needed = plan.at_most if _is_rate_known(judgement) else _needed_for_rate(results, plan)
        return max(0, needed - have)
    by_chance = _is_by_chance(claim, script) and not draws_do_not_show(claim, script, results)
    required = _required_attempts(judgement, claim, script, plan, by_chance=by_chance)
    required = min(required, most_attempts(claim, script, plan))
    about_repeats = any(check.over_repeats for check in claim.having(Role.BUG))
    if about_repeats and plain is not None and not varies(plain) and not needs_many(claim, script):
        # Nothing varies without the setting either, so there is nothing to remove.
        required = min(required, LEAST_FOR_NEVER)
    if required == LEAST_FOR_SOMETIMES:
        required = min(required, _in_time(results, plan))
    return max(0, required - have + unlike_cold(evidence_of(results)))


def _needed_for_cause(
    claim: Claim,
    script: Script,
    results: Sequence[Result],
    plan: RepeatPlan,
    *,
    plain: Sequence[Result] | None,
) -> int:
    """The attempts, in all, of a cell that fixes a source of variation."""
    # So many that they hardly agree by chance.
    most = min(FIXED if claim.having(Role.BUG) else FIXED_UNCLAIMED, most_attempts(claim, script, plan))
    if plain is not None:
        return needed_for_cure(plain, results, most=most)
    return 0 if varies(results) else most


def most_warm(
    claim: Claim, script: Script, target: Target, results: Sequence[Result], plan: RepeatPlan
) -> int:
    """The number of attempts of a job that may start warm. 0 if only cold attempts count.

    After the first cold one all may, until a warm one shows something else. If the cold ones alone are mixed,
    all may that come after those which the interval of the rate needs.
    """
    if facets := facets_of(claim):
        return min(most_warm(one, script, target, results, plan) for one in facets.values())
    if plan.exact or any(check.over_repeats for check in claim.having(Role.BUG)):
        return 0
    cold = [result for result in evidence_of(results) if result.start is Start.COLD]
    if not cold:
        return 0
    verdict = judge_job(claim, script, target, cold).verdict
    if verdict is Verdict.FLAKY:
        return max(0, _needed_for_rate(results, plan) - max(MIXED_COLD, plan.at_most))
    if verdict not in _REPEATED_WARM or _is_to_repeat_cold(claim, script, target) or _is_one_unlike(results):
        return 0
    return most_attempts(claim, script, plan) - 1


def _is_one_unlike(results: Sequence[Result]) -> bool:
    """Whether a warm attempt shows something else than the cold ones, also one that shared its card."""
    repeats = [
        result for result in results if result.outcome.is_evidence and result.kind is AttemptKind.REPEAT
    ]
    return unlike_cold(repeats) > 0


def _is_to_repeat_cold(claim: Claim, script: Script, target: Target) -> bool:
    """Whether repeats may differ by chance, or claim or script are about time, a crash or host memory."""
    if may_vary(claim, script) or has_own_repeats(claim, script):
        return True
    varies = any(check.kind is CheckKind.VARIES for check in claim.checks)
    return varies or is_about_the_process(claim, script.script, on_card=target.cards_needed > 0)


def needs_passage(
    claim: Claim, script: Script, target: Target, results: Sequence[Result], plan: RepeatPlan
) -> bool:
    """Whether a job that is decided by these results needs an attempt that observes the passage first.

    `results` are the counted ones, and those of passage checks. Cells that only test for a cause need none.
    A check that the machine may have ended, as by a time limit under load, is made once more.
    """
    if facets := facets_of(claim):
        return any(needs_passage(one, script, target, results, plan) for one in facets.values())
    if not results or {"trace", "fill", "fix", "compile"}.intersection(target.settings):
        return False
    counted, passages = evidence_of(results), passages_in(results)
    if not needs_another_check(passages, counted) or not points_to_pass(claim, script, target, counted):
        return False
    if passages and judge_observed(claim, script, target, results) is not None:
        return False
    repeats = [result for result in results if result.kind is not AttemptKind.PASSAGE]
    judgement = judge_job(_before_check(claim), script, target, repeats, plan=plan)
    return judgement.verdict is Verdict.NOT_REPRODUCED


def _before_check(claim: Claim) -> Claim:
    """The claim as it is judged before the passage check: that a corrected one has none yet is no lack."""
    return claim.model_copy(update={"corrected": False})


@dataclass(frozen=True, slots=True)
class MissingAttempts:
    """The attempts that a job needs now."""

    attempts: int = 0
    # So many of them may start warm.
    most_warm: int = 0
    # Whether one more has to observe the passage, since all others have ended.
    passage: bool = False
    # The most attempts that the job may have in all.
    most: int = 0


def needed_attempts(
    claim: Claim,
    script: Script,
    target: Target,
    results: Sequence[Result],
    plan: RepeatPlan,
    *,
    plain: Sequence[Result] | None = None,
) -> MissingAttempts:
    """`next_attempts`, `most_warm` and `needs_passage`, for the same results."""
    attempts = next_attempts(claim, script, target, results, plan, plain=plain)
    return MissingAttempts(
        attempts=attempts,
        most_warm=most_warm(claim, script, target, results, plan),
        passage=attempts == 0 and needs_passage(claim, script, target, results, plan),
        most=most_attempts(claim, script, plan),
    )


def most_attempts(claim: Claim, script: Script, plan: RepeatPlan) -> int:
    """The most attempts that a job may need, whatever they show."""
    if facets := facets_of(claim):
        return max(most_attempts(one, script, plan) for one in facets.values())
    if plan.exact:
        return plan.at_most
    if needs_many(claim, script):
        return max(plan.at_most, LEAST_FOR_SOMETIMES)
    return max(plan.at_most, NEVER_RANDOM) if may_vary(claim, script) else plan.at_most


def _needed_for_rate(results: Sequence[Result], plan: RepeatPlan) -> int:
    """The attempts for a rate, as far as time allows; at least the number of the plan."""
    return max(plan.at_most, min(MIXED, _in_time(results, plan)))


def _in_time(results: Sequence[Result], plan: RepeatPlan) -> int:
    """The number of attempts that the time for many attempts allows; at least the number of the plan."""
    took = [result.observation.wall_seconds for result in evidence_of(results)]
    mean = sum(took) / len(took)
    return max(plan.at_most, int(MIXED_SECONDS / mean) if mean > 0 else LEAST_FOR_SOMETIMES)


def _is_rate_known(judgement: JobJudgement) -> bool:
    """Whether the rate of a mixed job is known well enough. The interval holds whenever one stops."""
    interval = judgement.rate_interval
    return interval is not None and interval.high - interval.low <= RULE.rate_width


def _is_by_chance(claim: Claim, script: Script) -> bool:
    """Whether chance may decide what one attempt shows."""
    return may_vary(claim, script) and not any(check.over_repeats for check in claim.having(Role.BUG))


def draws_do_not_show(claim: Claim, script: Script, results: Sequence[Result]) -> bool:
    """Whether the draws of a script without a seed do not reach the numbers that the claim is about.

    The attempts print equal numbers with many digits then, which do not stand in the script. A claim that it
    happens sometimes, and the order of a set, are other kinds of chance.
    """
    bugs = claim.having(Role.BUG)
    evidence = evidence_of(results)
    if (
        len(evidence) < ALWAYS
        or varies(evidence)
        or is_about_frequency(claim)
        or needs_many(claim, script)
        or depends_on_hashes(script.script)
        or any(check.random or check.kind not in _OF_NUMBERS for check in bugs)
    ):
        return False
    texts = {
        number.text.lstrip("+-"): number.shortest
        for number in numbers_in(evidence[0].observation.stdout[:_MOST_CHARACTERS])
        if math.isfinite(number.value) and not number.whole
    }
    return sum(digits for text, digits in texts.items() if text not in script.script) >= _MANY_DIGITS


def _required_attempts(
    judgement: JobJudgement, claim: Claim, script: Script, plan: RepeatPlan, *, by_chance: bool
) -> int:
    """The number of counted attempts that this judgement needs."""
    match judgement.verdict:
        case Verdict.CANNOT_SHOW:
            return _needed_without_evidence(
                judgement, plan, by_chance=by_chance, many=needs_many(claim, script)
            )
        case Verdict.REPRODUCED:
            # If the report says "sometimes", an "always" needs as many attempts as a "never".
            return (
                NEVER_RANDOM
                if by_chance and is_about_frequency(claim)
                else ALWAYS_RANDOM
                if by_chance
                else ALWAYS
            )
        case Verdict.NOT_REPRODUCED if needs_many(claim, script):
            return LEAST_FOR_SOMETIMES
        case Verdict.NOT_REPRODUCED:
            return NEVER_RANDOM if by_chance else plan.at_most
        case Verdict.DIFFERENT:
            return NEVER_RANDOM if by_chance else ALWAYS
        case _:
            return ALWAYS


def _needed_without_evidence(
    judgement: JobJudgement, plan: RepeatPlan, *, by_chance: bool, many: bool
) -> int:
    """More attempts do not help against a lack. They help against too few attempts, and against chance."""
    code = None if judgement.reason is None else judgement.reason.code
    if code == TOO_FEW_ATTEMPTS.code:
        return LEAST_FOR_SOMETIMES if many else plan.at_most
    return NEVER_RANDOM if by_chance and code == NOTHING_SHOWN.code else 0
