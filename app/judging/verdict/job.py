"""A job's verdict: the claim against the counted attempts on one target."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from app.intake.claim.claims import Check, CheckKind, Claim, Over, Role
from app.intake.reading import Script, ScriptRole
from app.judging.check.checks import SILENT, judge_check
from app.judging.check.guards import left_out
from app.judging.check.places import excluded
from app.judging.check.reach import NO_SIDES, NOT_ADDED, TOO_FEW_ATTEMPTS, TOO_NOISY, commonest, lack_of
from app.judging.check.speed import judge_ratios, ratio_in, spread
from app.judging.judgement import CheckResult, DifferentKind, Finding, JobJudgement, Verdict
from app.judging.output.numbers import near, numbers_in
from app.judging.verdict.rates import rate_interval, rate_upper_bound
from app.judging.verdict.variation import Variation, judge_repeats
from app.targets.planning.plan import RepeatPlan
from app.targets.target import Target
from worker.contract import AttemptKind, Outcome, Reason, Result, Start

# Trouble of ours: no evidence of anything.
# Attempts before "never", unless fewer were asked for.
LEAST_FOR_NEVER = 3
# What says most about a job, first.
_STRONGEST = (CheckResult.MET, CheckResult.OTHER, CheckResult.ABSENT, CheckResult.UNREACHED)
_MOST_DETAIL = 300


@dataclass(frozen=True, slots=True)
class Step:
    """What became of the bug in one attempt."""

    result: Result
    found: CheckResult
    reasons: tuple[Reason, ...]

    @property
    def cold(self) -> bool:
        """Whether the attempt started by itself."""
        return self.result.start is Start.COLD


def counted(results: Sequence[Result]) -> list[Result]:
    """The attempts that are evidence, in an order that does not depend on when they came in."""
    kept = [
        result for result in results if result.outcome.is_evidence and result.kind is not AttemptKind.PREVIEW
    ]
    return sorted(kept, key=lambda result: result.attempt_id)


def judge_job(
    claim: Claim, script: Script, target: Target, results: Sequence[Result], *, plan: RepeatPlan | None = None
) -> JobJudgement:
    """Judge the counted attempts of one job. Total: any results give a judgement. The plan says how few may have been asked for."""
    judgement = _judge(claim, script, target, results, plan=plan)
    return _of_control(judgement) if script.role is ScriptRole.CONTROL else judgement


def _of_control(judgement: JobJudgement) -> JobJudgement:
    """A control shows how things should be: that it does not show what is claimed of another script is a fact, and no "no"."""
    if judgement.verdict not in {Verdict.DIFFERENT, Verdict.NOT_REPRODUCED}:
        return judgement
    return JobJudgement(verdict=Verdict.OBSERVED, of=judgement.of)


def _judge(
    claim: Claim, script: Script, target: Target, results: Sequence[Result], *, plan: RepeatPlan | None
) -> JobJudgement:
    evidence = counted(results)
    cold = [result for result in evidence if result.start is Start.COLD]
    if not cold:
        reason = _trouble(results)
        if reason is not None and reason.code == NOT_ADDED.code:
            # Not trouble: the script was not begun because it could not have run.
            return JobJudgement(verdict=Verdict.CANNOT_SHOW, reason=NOT_ADDED)
        return JobJudgement(verdict=Verdict.NO_RESULT, reason=reason)
    bugs = [check for check in claim.having(Role.BUG) if check.over is not Over.PAIR]
    over_repeats = [check for check in bugs if check.over_repeats]
    in_attempt = [
        check
        for check in bugs
        if not check.over_repeats and (check.kind is not CheckKind.DIFFERS or check.sides)
    ]
    others = [
        check
        for check in claim.checks
        if check.role is not Role.BUG and not check.over_repeats and check.over is not Over.PAIR
    ]
    expected = claim.having(Role.EXPECTED)

    def judged(checks: Sequence[Check], result: Result) -> list[Finding]:
        return [
            judge_check(check, result, expected=expected, script=script, target=target) for check in checks
        ]

    rows = [judged(in_attempt, result) for result in evidence]
    details = _merged([judged(others, result) for result in evidence])
    least = _least(plan, asked=len(cold))
    if over_repeats:
        variation = judge_repeats(over_repeats[0], cold, script=script, target=target)
        return _by_repeats(variation, (*_merged(rows), *details), least=least)
    slower = [check for check in in_attempt if check.kind is CheckKind.SLOWER]
    if slower:
        return _by_ratio(
            slower[0], list(zip(rows, evidence, strict=True)), (*_merged(rows), *details), least=least
        )
    if not in_attempt or _unreadable(in_attempt, rows, evidence):
        return _without_claim(script, target, evidence, (*_merged(rows), *details), readable=not in_attempt)
    steps = [_step(in_attempt, row, result, target) for row, result in zip(rows, evidence, strict=True)]
    return _by_attempts(steps, (*_merged(rows), *details), claim, least=least)


def _least(plan: RepeatPlan | None, *, asked: int) -> int:
    """How many cold attempts a "never" needs. Without a plan, all that counted are all that were asked for."""
    return min(LEAST_FOR_NEVER, asked if plan is None else plan.at_most)


def _trouble(results: Sequence[Result]) -> Reason | None:
    """What went wrong on our side; a node's words, cut short."""
    reason = commonest(
        [result.reason for result in results if result.reason is not None and not result.outcome.is_evidence]
    )
    return None if reason is None else reason.model_copy(update={"detail": reason.detail[:_MOST_DETAIL]})


def _merged(rows: Sequence[Sequence[Finding]]) -> tuple[Finding, ...]:
    """One finding a check: of all attempts, the one that says most."""
    return tuple(
        min(column, key=lambda finding: _STRONGEST.index(finding.result))
        for column in zip(*rows, strict=True)
    )


def _unreadable(
    checks: Sequence[Check], rows: Sequence[Sequence[Finding]], evidence: Sequence[Result]
) -> bool:
    """Whether the claim is only of a difference and the script, though it ended, never printed two sides."""
    ended = [row for row, result in zip(rows, evidence, strict=True) if result.outcome is Outcome.COMPLETED]
    differences = all(check.kind is CheckKind.DIFFERS for check in checks)
    return differences and bool(ended) and all(finding.reason == NO_SIDES for row in ended for finding in row)


def _without_claim(
    script: Script,
    target: Target,
    evidence: Sequence[Result],
    findings: tuple[Finding, ...],
    *,
    readable: bool,
) -> JobJudgement:
    """No bug check: what was seen is a fact, unless this target could not even show that."""
    lacks = [lack_of(result, script, target) or _left_out(result, script, target) for result in evidence]
    # Nothing is claimed of a GPU, so it is no lack that none was used.
    known = [lack for lack in lacks if lack is not None and lack.code not in SILENT]
    if len(known) == len(evidence):
        return JobJudgement(verdict=Verdict.CANNOT_SHOW, reason=commonest(known), findings=findings)
    return JobJudgement(
        verdict=Verdict.OBSERVED, reason=None if readable else NO_SIDES, of=len(evidence), findings=findings
    )


def _left_out(result: Result, script: Script, target: Target) -> Reason | None:
    """What is not printed was not seen; what is, is a fact."""
    said = result.outcome is Outcome.COMPLETED and result.observation.stdout.strip()
    return None if said else left_out(result, script, target)


def _by_repeats(variation: Variation, details: tuple[Finding, ...], *, least: int) -> JobJudgement:
    finding, of = variation.finding, variation.of
    findings = (finding, *details)
    if finding.result is CheckResult.UNREACHED:
        return JobJudgement(verdict=Verdict.CANNOT_SHOW, reason=finding.reason, findings=findings)
    if finding.result is CheckResult.MET:
        verdict = Verdict.REPRODUCED if variation.differing == of else Verdict.FLAKY
        return JobJudgement(verdict=verdict, matched=variation.differing, of=of, findings=findings)
    if of < least:
        return JobJudgement(verdict=Verdict.CANNOT_SHOW, reason=TOO_FEW_ATTEMPTS, of=of, findings=findings)
    # The first attempt is what the others are held against.
    return JobJudgement(
        verdict=Verdict.NOT_REPRODUCED, of=of, rate_upper_bound=rate_upper_bound(of - 1), findings=findings
    )


def _by_ratio(
    check: Check,
    rows: Sequence[tuple[Sequence[Finding], Result]],
    findings: tuple[Finding, ...],
    *,
    least: int,
) -> JobJudgement:
    """A claim of speed: the ratio in each cold attempt, all of them together."""
    cold = [(row, result) for row, result in rows if result.start is Start.COLD]
    timed = [
        ratio
        for row, result in cold
        if all(finding.result is not CheckResult.UNREACHED for finding in row)
        and (ratio := ratio_in(check, result)) is not None
    ]
    of = len(timed)
    if not timed:
        reason = commonest(
            [finding.reason for row, _ in cold for finding in row if finding.reason is not None]
        )
        return JobJudgement(verdict=Verdict.CANNOT_SHOW, reason=reason, findings=findings)
    if of < least:
        return JobJudgement(verdict=Verdict.CANNOT_SHOW, reason=TOO_FEW_ATTEMPTS, of=of, findings=findings)
    ratios = spread(timed)
    found = judge_ratios(ratios, check.factor)
    first = findings[0].model_copy(
        update={"observed": str(ratios), **({} if found is None else {"result": found})}
    )
    findings = (first, *findings[1:])
    match found:
        case CheckResult.MET:
            return JobJudgement(verdict=Verdict.REPRODUCED, matched=of, of=of, findings=findings)
        case CheckResult.ABSENT:
            return JobJudgement(verdict=Verdict.NOT_REPRODUCED, of=of, findings=findings)
        case CheckResult.OTHER:
            reason = Reason(code=DifferentKind.OTHER_VALUE, detail=_KINDS[DifferentKind.OTHER_VALUE])
            return JobJudgement(verdict=Verdict.DIFFERENT, reason=reason, of=of, findings=findings)
        case _:
            return JobJudgement(verdict=Verdict.CANNOT_SHOW, reason=TOO_NOISY, of=of, findings=findings)


def _step(checks: Sequence[Check], row: Sequence[Finding], result: Result, target: Target) -> Step:
    """What became of the bug in one attempt: every check that speaks of this target must agree."""
    spoken = [finding for check, finding in zip(checks, row, strict=True) if excluded(check, target) is None]
    reasons = tuple(finding.reason for finding in row if finding.reason is not None)
    found = {finding.result for finding in spoken}
    if not found or CheckResult.UNREACHED in found:
        return Step(result, CheckResult.UNREACHED, reasons)
    return Step(result, found.pop() if len(found) == 1 else CheckResult.OTHER, reasons)


def _by_attempts(
    steps: Sequence[Step], findings: tuple[Finding, ...], claim: Claim, *, least: int
) -> JobJudgement:
    reached = _reached(steps)
    if not reached:
        reason = commonest([reason for step in steps for reason in step.reasons])
        return JobJudgement(verdict=Verdict.CANNOT_SHOW, reason=reason, findings=findings)
    met = [step for step in reached if step.found is CheckResult.MET]
    cold = sum(step.cold for step in reached)
    of = len(reached)
    interval = rate_interval(sum(step.cold for step in met), cold)
    if met:
        verdict = Verdict.REPRODUCED if len(met) == of else Verdict.FLAKY
        return JobJudgement(
            verdict=verdict, matched=len(met), of=of, rate_interval=interval, findings=findings
        )
    bound = rate_upper_bound(cold)
    others = [step for step in reached if step.found is CheckResult.OTHER]
    if others:
        kind = _kind(others[0].result, claim, findings)
        return JobJudgement(
            verdict=Verdict.DIFFERENT,
            reason=kind,
            of=of,
            rate_upper_bound=bound,
            rate_interval=interval,
            findings=findings,
        )
    if cold < least:
        return JobJudgement(verdict=Verdict.CANNOT_SHOW, reason=TOO_FEW_ATTEMPTS, of=cold, findings=findings)
    return JobJudgement(
        verdict=Verdict.NOT_REPRODUCED,
        of=cold,
        rate_upper_bound=bound,
        rate_interval=interval,
        findings=findings,
    )


def _reached(steps: Sequence[Step]) -> list[Step]:
    """The steps that are evidence of the claim. A warm attempt is, where a cold one said the same, and never towards "never"."""
    if any(step.found is CheckResult.MET for step in steps if step.cold):
        # Beside attempts that showed it, one that showed nothing is one that did not.
        steps = [Step(step.result, CheckResult.ABSENT, ()) if _silent(step) else step for step in steps]
    said_cold = {step.found for step in steps if step.cold}
    # That it did not happen is no "never" where cold attempts say that it happens: left out, it would make a rate look higher.
    borne_out = said_cold if CheckResult.MET in said_cold else said_cold - {CheckResult.ABSENT}
    return [
        step
        for step in steps
        if step.found is not CheckResult.UNREACHED and (step.cold or step.found in borne_out)
    ]


def _silent(step: Step) -> bool:
    return (
        step.found is CheckResult.UNREACHED
        and bool(step.reasons)
        and all(reason.code in SILENT for reason in step.reasons)
    )


_KINDS = {
    DifferentKind.CLEAN_ERROR: "The script raises an error instead of what is claimed.",
    DifferentKind.OTHER_FAILURE: "The script fails in another way than claimed.",
    DifferentKind.NEAR_VALUE: "The value is close to the claimed one, and not the same.",
    DifferentKind.OTHER_VALUE: "Another value than the claimed one is printed.",
}
_FAILURES = {CheckKind.EXCEPTION, CheckKind.EXIT_STATUS}


def _kind(result: Result, claim: Claim, findings: Sequence[Finding]) -> Reason:
    """How what was seen differs from the claim: a crash or a wrong value that is now an error, another failure, another value."""
    of_failure = any(check.kind in _FAILURES for check in claim.having(Role.BUG))
    if result.outcome is Outcome.RAISED and not of_failure:
        kind = DifferentKind.CLEAN_ERROR
    elif result.outcome is not Outcome.COMPLETED or of_failure:
        kind = DifferentKind.OTHER_FAILURE
    elif any(_is_near(finding) for finding in findings if finding.result is CheckResult.OTHER):
        kind = DifferentKind.NEAR_VALUE
    else:
        kind = DifferentKind.OTHER_VALUE
    return Reason(code=kind, detail=_KINDS[kind])


def _is_near(finding: Finding) -> bool:
    """Whether the claimed numbers and those in their place differ by little."""
    claimed, seen = numbers_in(finding.text), numbers_in(finding.observed)
    return 0 < len(claimed) == len(seen) and all(
        near(one.value, other.value) for one, other in zip(claimed, seen, strict=True)
    )
