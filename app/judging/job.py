"""A job's verdict: the claim against the counted attempts on one target."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from app.intake.claims import Check, CheckKind, Claim, Role
from app.intake.reading import Script
from app.judging.checks import excluded, is_over_repeats, judge_check, judge_repeats
from app.judging.judgement import CheckResult, DifferentKind, Finding, JobJudgement, Verdict
from app.judging.numbers import number_of, numbers_in
from app.judging.reach import NO_SIDES, lack_of
from app.targets.target import Target
from worker.contract import Outcome, Reason, Result, Start

# Trouble of ours: no evidence of anything.
UNCOUNTED = {Outcome.LOST, Outcome.CANCELLED, Outcome.SETUP_FAILED}
NEAR = 1e-3
# What says most about a job, first.
_STRONGEST = (CheckResult.MET, CheckResult.OTHER, CheckResult.ABSENT, CheckResult.UNREACHED)


def counted(results: Sequence[Result]) -> list[Result]:
    """The attempts that are evidence."""
    return [result for result in results if result.outcome not in UNCOUNTED]


def rate_upper_bound(cold: int) -> float | None:
    """With none met in n cold attempts, the rate that 95 % of such series would have shown: 45 % at 5, 5 % at 59."""
    return None if cold < 1 else round(1 - 0.05 ** (1 / cold), 4)


def judge_job(claim: Claim, script: Script, target: Target, results: Sequence[Result]) -> JobJudgement:
    """Judge the counted attempts of one job. Total: any results give a judgement."""
    evidence = counted(results)
    cold = [result for result in evidence if result.start is Start.COLD]
    if not cold:
        return JobJudgement(verdict=Verdict.NO_RESULT, reason=_trouble(results))
    bugs = [check for check in claim.having(Role.BUG) if check.kind is not CheckKind.DIFFERS or check.sides]
    over_repeats = [check for check in bugs if is_over_repeats(check)]
    in_attempt = [check for check in bugs if not is_over_repeats(check)]
    others = [check for check in claim.checks if check.role is not Role.BUG and not is_over_repeats(check)]
    expected = claim.having(Role.EXPECTED)

    def judged(checks: Sequence[Check], result: Result) -> list[Finding]:
        return [judge_check(check, result, expected=expected, script=script, target=target) for check in checks]

    rows = [judged(in_attempt, result) for result in evidence]
    details = _merged([judged(others, result) for result in evidence])
    if over_repeats:
        repeats = [judge_repeats(check, evidence, script=script, target=target) for check in over_repeats]
        return _by_repeats(repeats, (*_merged(rows), *details), of=len(evidence))
    if not in_attempt or _unreadable(in_attempt, rows, evidence):
        return _without_claim(script, target, evidence, (*_merged(rows), *details), readable=not in_attempt)
    steps = [_of_attempt(in_attempt, row, target) for row in rows]
    return _by_attempts(steps, rows, details, evidence)


def _trouble(results: Sequence[Result]) -> Reason | None:
    return next((result.reason for result in results if result.reason is not None), None)


def _merged(rows: Sequence[Sequence[Finding]]) -> tuple[Finding, ...]:
    """One finding a check: of all attempts, the one that says most."""
    return tuple(min(column, key=lambda finding: _STRONGEST.index(finding.result)) for column in zip(*rows, strict=True))


def _unreadable(checks: Sequence[Check], rows: Sequence[Sequence[Finding]], evidence: Sequence[Result]) -> bool:
    """Whether the claim is only of a difference and the script, though it ended, never printed two sides."""
    ended = [row for row, result in zip(rows, evidence, strict=True) if result.outcome is Outcome.COMPLETED]
    return (
        all(check.kind is CheckKind.DIFFERS for check in checks)
        and bool(ended)
        and all(finding.reason == NO_SIDES for row in ended for finding in row)
    )


def _without_claim(
    script: Script, target: Target, evidence: Sequence[Result], findings: tuple[Finding, ...], *, readable: bool
) -> JobJudgement:
    """No bug check: what was seen is a fact, unless this target could not even show that."""
    lacks = [lack_of(result, script, target) for result in evidence]
    if all(lack is not None for lack in lacks):
        return JobJudgement(verdict=Verdict.CANNOT_SHOW, reason=lacks[0], findings=findings)
    return JobJudgement(verdict=Verdict.OBSERVED, reason=None if readable else NO_SIDES, of=len(evidence), findings=findings)


def _by_repeats(repeats: Sequence[Finding], details: tuple[Finding, ...], *, of: int) -> JobJudgement:
    findings = (*repeats, *details)
    found = {finding.result for finding in repeats}
    if found == {CheckResult.UNREACHED}:
        return JobJudgement(verdict=Verdict.CANNOT_SHOW, reason=repeats[0].reason, findings=findings)
    if CheckResult.MET in found:
        return JobJudgement(verdict=Verdict.REPRODUCED, matched=of, of=of, findings=findings)
    return JobJudgement(verdict=Verdict.NOT_REPRODUCED, of=of, findings=findings)


def _of_attempt(checks: Sequence[Check], row: Sequence[Finding], target: Target) -> CheckResult:
    """What became of the bug in one attempt: every check that speaks of this target must agree."""
    spoken = [finding.result for check, finding in zip(checks, row, strict=True) if excluded(check, target) is None]
    found = set(spoken)
    if not found or CheckResult.UNREACHED in found:
        return CheckResult.UNREACHED
    if len(found) == 1:
        return spoken[0]
    return CheckResult.OTHER


def _by_attempts(
    steps: Sequence[CheckResult], rows: Sequence[Sequence[Finding]], details: tuple[Finding, ...], evidence: Sequence[Result]
) -> JobJudgement:
    findings = (*_merged(rows), *details)
    cold_steps = {step for step, result in zip(steps, evidence, strict=True) if result.start is Start.COLD}
    # A warm attempt counts only where a cold one said the same, and never towards "does not happen".
    reached = [
        (step, result)
        for step, result in zip(steps, evidence, strict=True)
        if step is not CheckResult.UNREACHED and (result.start is Start.COLD or (step in cold_steps and step is not CheckResult.ABSENT))
    ]
    if not reached:
        reasons = [finding.reason for row in rows for finding in row if finding.reason is not None]
        return JobJudgement(verdict=Verdict.CANNOT_SHOW, reason=reasons[0] if reasons else None, findings=findings)
    tally = Counter(step for step, _ in reached)
    met, of = tally[CheckResult.MET], len(reached)
    cold = sum(result.start is Start.COLD for _, result in reached)
    bound = rate_upper_bound(cold) if met == 0 else None
    if met == of:
        return JobJudgement(verdict=Verdict.REPRODUCED, matched=met, of=of, findings=findings)
    if met:
        return JobJudgement(verdict=Verdict.FLAKY, matched=met, of=of, findings=findings)
    if tally[CheckResult.OTHER]:
        result = next(result for step, result in reached if step is CheckResult.OTHER)
        kind = _kind(result, findings)
        return JobJudgement(verdict=Verdict.DIFFERENT, reason=kind, of=of, rate_upper_bound=bound, findings=findings)
    return JobJudgement(verdict=Verdict.NOT_REPRODUCED, of=of, rate_upper_bound=bound, findings=findings)


_KINDS = {
    DifferentKind.CLEAN_ERROR: "The script raises an error instead of what is claimed.",
    DifferentKind.OTHER_FAILURE: "The script fails in another way than claimed.",
    DifferentKind.NEAR_VALUE: "The value is close to the claimed one, and not the same.",
    DifferentKind.OTHER_VALUE: "Another value than the claimed one is printed.",
}


def _kind(result: Result, findings: Sequence[Finding]) -> Reason:
    """How what was seen differs from the claim."""
    if result.outcome is Outcome.RAISED:
        kind = DifferentKind.CLEAN_ERROR
    elif result.outcome in {Outcome.CRASHED, Outcome.EXITED, Outcome.TIMED_OUT, Outcome.OUT_OF_MEMORY}:
        kind = DifferentKind.OTHER_FAILURE
    elif any(_is_near(finding) for finding in findings if finding.result is CheckResult.OTHER):
        kind = DifferentKind.NEAR_VALUE
    else:
        kind = DifferentKind.OTHER_VALUE
    return Reason(code=kind, detail=_KINDS[kind])


def _is_near(finding: Finding) -> bool:
    """Whether the claimed numbers and those in their place differ by little."""
    claimed = [number_of(number.text) for number in numbers_in(finding.text)]
    seen = numbers_in(finding.observed)
    if not claimed or len(claimed) != len(seen):
        return False
    return all(
        one is not None and abs(one.value - other.value) <= NEAR * max(abs(one.value), abs(other.value))
        for one, other in zip(claimed, seen, strict=True)
    )
