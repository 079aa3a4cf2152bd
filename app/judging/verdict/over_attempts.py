"""Judges claims that several attempts together decide, about variation and speed, and names differences."""

from __future__ import annotations

from collections.abc import Sequence

from app.intake.claim.claims import Check, CheckKind, Claim, Role
from app.judging.check.reach import RANDOM_NUMBERS, TOO_FEW_ATTEMPTS, TOO_NOISY, commonest
from app.judging.check.speed import judge_ratios, ratio_in, spread
from app.judging.gone.oracles import CLEAN_REFUSAL
from app.judging.judgement import CheckResult, DifferentKind, Finding, JobJudgement, Verdict
from app.judging.output.failure_signature import mask
from app.judging.output.printed_numbers import near, numbers_in
from app.judging.verdict.rates import rate_upper_bound
from app.judging.verdict.variation import Variation
from worker.contract import Outcome, Reason, Result, Start

_FAILURES = {CheckKind.EXCEPTION, CheckKind.EXIT_STATUS}
# How an attempt differs from the claim.
DIFFERENCES = {
    DifferentKind.CLEAN_ERROR: "The script raises an error instead of showing the claimed behaviour.",
    DifferentKind.OTHER_FAILURE: "The script fails in another way than claimed.",
    DifferentKind.NEAR_VALUE: "The value is close to the claimed one, but not the same.",
    DifferentKind.OTHER_VALUE: "The script prints another value than the claimed one.",
}
_NEITHER = "The claimed failure does not come, and neither does what the report expects instead."


def by_repeats(variation: Variation, details: tuple[Finding, ...], *, least: int) -> JobJudgement:
    """A claim that repeats vary: by all cold attempts together."""
    finding, of = variation.finding, variation.of
    findings = (finding, *details)
    if finding.result is CheckResult.UNREACHED:
        return JobJudgement(verdict=Verdict.CANNOT_SHOW, reason=finding.reason, findings=findings)
    if finding.result is CheckResult.MET:
        verdict = Verdict.REPRODUCED if variation.differing == of else Verdict.FLAKY
        return JobJudgement(verdict=verdict, matched=variation.differing, of=of, findings=findings)
    if of < least:
        return JobJudgement(verdict=Verdict.CANNOT_SHOW, reason=TOO_FEW_ATTEMPTS, of=of, findings=findings)
    # The others are compared with the first attempt, so there is one comparison less than attempts.
    return JobJudgement(
        verdict=Verdict.NOT_REPRODUCED, of=of, rate_upper_bound=rate_upper_bound(of - 1), findings=findings
    )


def by_ratio(
    check: Check,
    rows: Sequence[tuple[Sequence[Finding], Result]],
    findings: tuple[Finding, ...],
    *,
    least: int,
) -> JobJudgement:
    """A claim about speed: by the ratios of all cold attempts together."""
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
    check_result = judge_ratios(ratios, check.factor)
    first = findings[0].model_copy(
        update={"observed": str(ratios), **({} if check_result is None else {"result": check_result})}
    )
    findings = (first, *findings[1:])
    match check_result:
        case CheckResult.MET:
            return JobJudgement(verdict=Verdict.REPRODUCED, matched=of, of=of, findings=findings)
        case CheckResult.ABSENT:
            return JobJudgement(verdict=Verdict.NOT_REPRODUCED, of=of, findings=findings)
        case CheckResult.OTHER:
            reason = Reason(code=DifferentKind.OTHER_VALUE, detail=DIFFERENCES[DifferentKind.OTHER_VALUE])
            return JobJudgement(verdict=Verdict.DIFFERENT, reason=reason, of=of, findings=findings)
        case _:
            return JobJudgement(verdict=Verdict.CANNOT_SHOW, reason=TOO_NOISY, of=of, findings=findings)


def unanimous(rows: Sequence[Sequence[Finding]], claim: Claim) -> list[list[Finding]]:
    """The findings of the attempts, without those that count only if all attempts agree.

    A crash is not gone if each attempt refuses in another way, or one ends well. Random numbers that miss an
    exact value show something only if they all do.
    """
    has_expected = bool(claim.having(Role.EXPECTED))
    columns = [_agree(column, has_expected=has_expected) for column in zip(*rows, strict=True)]
    return [[column[at] for column in columns] for at in range(len(rows))]


def _agree(column: Sequence[Finding], *, has_expected: bool) -> list[Finding]:
    refusals = [finding for finding in column if finding.oracle == CLEAN_REFUSAL]
    if refusals and (
        len(refusals) < len(column) or len({mask(finding.observed) for finding in refusals}) > 1
    ):
        return [
            _with_result(finding, CheckResult.OTHER) if finding in refusals else finding for finding in column
        ]
    at_random = [finding for finding in column if finding.reason == RANDOM_NUMBERS]
    if has_expected and at_random:
        return [
            _with_result(finding, CheckResult.UNREACHED, RANDOM_NUMBERS)
            if finding.result is CheckResult.MET
            else finding
            for finding in column
        ]
    return list(column)


def _with_result(finding: Finding, check_result: CheckResult, reason: Reason | None = None) -> Finding:
    return finding.model_copy(update={"result": check_result, "oracle": None, "reason": reason})


def kind_of_difference(result: Result, claim: Claim, findings: Sequence[Finding]) -> Reason:
    """How an attempt differs from the claim: a clean error, another failure, a near value, another value."""
    of_failure = any(check.kind in _FAILURES for check in claim.having(Role.BUG))
    if result.outcome is Outcome.RAISED and not of_failure:
        kind = DifferentKind.CLEAN_ERROR
    elif result.outcome is not Outcome.COMPLETED or of_failure:
        kind = DifferentKind.OTHER_FAILURE
    elif any(_is_near(finding) for finding in findings if finding.result is CheckResult.OTHER):
        kind = DifferentKind.NEAR_VALUE
    else:
        kind = DifferentKind.OTHER_VALUE
    ended_well = of_failure and result.outcome is Outcome.COMPLETED
    return Reason(code=kind, detail=_NEITHER if ended_well else DIFFERENCES[kind])


def _is_near(finding: Finding) -> bool:
    """Whether the claimed and the printed numbers are close to each other, one by one."""
    claimed, seen = numbers_in(finding.text), numbers_in(finding.observed)
    return 0 < len(claimed) == len(seen) and all(
        near(one.value, other.value) for one, other in zip(claimed, seen, strict=True)
    )
