"""The verdict of a job: the claim judged by the counted attempts on one target."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from app.intake.claim.claims import Check, CheckKind, Claim, Over, Role
from app.intake.reading import Script, ScriptRole
from app.judging.check.checks import SILENT, judge_check
from app.judging.check.guards import skipped_gpu_part
from app.judging.check.places import exclusion_of
from app.judging.check.reach import (
    MET_WHEN_OBSERVED,
    NO_SIDES,
    NOT_ADDED,
    NOTHING_SHOWN,
    SETTING_NOT_IN_FORCE,
    UNSEEN_IN_FEW,
    commonest,
    lack_of,
)
from app.judging.judgement import (
    SIGHTINGS,
    CheckResult,
    Finding,
    JobJudgement,
    Verdict,
)
from app.judging.verdict.agreement import DOUBTFUL, Reading, agree, seen_likewise, with_doubt
from app.judging.verdict.facets import facets_of, judge_facets
from app.judging.verdict.frequency import LEAST_FOR_SOMETIMES, is_about_frequency, needs_many
from app.judging.verdict.over_attempts import by_ratio, by_repeats, kind_of_difference, unanimous
from app.judging.verdict.passage import (
    is_observable,
    not_seen,
    passages_in,
    points_to_pass,
    with_passage,
    without_loose,
)
from app.judging.verdict.rates import rate_interval, rate_upper_bound
from app.judging.verdict.variation import alone_or_confirmed, judge_repeats
from app.targets.planning.plan import RepeatPlan
from app.targets.target import Target
from worker.contract import AttemptKind, Outcome, Reason, Result, Start

# A "never" needs this many cold attempts, unless fewer were requested.
LEAST_FOR_NEVER = 3
# The results, those that say most about a job first.
_STRONGEST = (CheckResult.MET, CheckResult.OTHER, CheckResult.ABSENT, CheckResult.UNREACHED)
_MOST_DETAIL = 300


@dataclass(frozen=True, slots=True)
class Step:
    """The result of all bug checks together in one attempt."""

    result: Result
    check_result: CheckResult
    reasons: tuple[Reason, ...]

    @property
    def cold(self) -> bool:
        """Whether the attempt started in a new process, not in a warm one."""
        return self.result.start is Start.COLD


def evidence_of(results: Sequence[Result]) -> list[Result]:
    """The repeats that are evidence, ordered by id, so the order of arrival does not matter.

    One that may have had its card beside others counts only if one without such neighbours shows the same.
    """
    evidence = [
        result for result in results if result.outcome.is_evidence and result.kind is AttemptKind.REPEAT
    ]
    return sorted(alone_or_confirmed(evidence), key=lambda result: result.attempt_id)


def judge_job(
    claim: Claim, script: Script, target: Target, results: Sequence[Result], *, plan: RepeatPlan | None = None
) -> JobJudgement:
    """Judge the counted attempts of one job. Any results give a judgement; it never raises.

    `plan` is the number of requested attempts: if it is small, a "never" needs no more than that.
    """
    if facets := facets_of(claim):
        return judge_facets(facets, lambda one: judge_job(one, script, target, results, plan=plan))
    judgement = without_loose(judge_readings(claim, script, target, results, plan=plan), claim)
    others = [other for other in claim.further if not other.by_model]
    judgements = (_judge(other, script, target, results, plan=plan) for other in others)
    judgement = seen_likewise(judgement, judgements)
    if judgement.verdict is Verdict.NOT_REPRODUCED:
        judgement = _check_passage(judgement, claim, script, target, results)
    return _control_judgement(judgement) if script.role is ScriptRole.CONTROL else judgement


def judge_readings(
    claim: Claim, script: Script, target: Target, results: Sequence[Result], *, plan: RepeatPlan | None
) -> JobJudgement:
    """The judgement over all readings, without asking whether the point of the claim was passed."""
    if facets := facets_of(claim):
        return judge_facets(facets, lambda one: judge_readings(one, script, target, results, plan=plan))

    def judge(one: Claim) -> JobJudgement:
        return _judge(one, script, target, results, plan=plan)

    judgement = judge(claim)
    others = [Reading(other, judge(other)) for other in claim.further if not other.by_model]
    if others and judgement.verdict in DOUBTFUL:
        judgement = agree(Reading(claim, judgement), others)
    by_model = [judge(other) for other in claim.further if other.by_model]
    return with_doubt(judgement, by_model) if by_model else judgement


def _check_passage(
    judgement: JobJudgement, claim: Claim, script: Script, target: Target, results: Sequence[Result]
) -> JobJudgement:
    """A "no" after its passage check: a failure that is gone was seen to be passed."""
    counted, passages = evidence_of(results), passages_in(results)
    points = points_to_pass(claim, script, target, counted)
    if not points:
        return judgement
    if not is_observable(claim, script):
        return not_seen(judgement)
    if not passages:
        return not_seen(judgement) if claim.corrected else judgement
    observed = judge_observed(claim, script, target, results)
    if observed is not None and observed.verdict in SIGHTINGS:
        return JobJudgement(
            verdict=Verdict.OBSERVED,
            reason=MET_WHEN_OBSERVED,
            of=judgement.of,
            findings=observed.findings,
        )
    if observed is not None:
        return not_seen(judgement)
    return with_passage(judgement, script, points, counted, passages[-1])


def judge_observed(
    claim: Claim, script: Script, target: Target, results: Sequence[Result]
) -> JobJudgement | None:
    """The judgement of the passage check alone, if it forbids a "no": it met the bug, or shows another.

    None without a passage check, and for one that says nothing.
    """
    passages = passages_in(results)
    if not passages:
        return None
    alone = passages[-1].model_copy(update={"kind": AttemptKind.REPEAT})
    judgement = judge_readings(claim, script, target, [alone], plan=RepeatPlan(1))
    speaks = judgement.verdict in {Verdict.REPRODUCED, Verdict.FLAKY, Verdict.DIFFERENT, Verdict.OBSERVED}
    return judgement if speaks else None


def _control_judgement(judgement: JobJudgement) -> JobJudgement:
    """A control shows the expected behaviour.

    That it does not show the bug is an observation, and no "no".
    """
    if judgement.verdict not in {Verdict.DIFFERENT, Verdict.NOT_REPRODUCED}:
        return judgement
    return JobJudgement(verdict=Verdict.OBSERVED, of=judgement.of)


def _judge(
    claim: Claim, script: Script, target: Target, results: Sequence[Result], *, plan: RepeatPlan | None
) -> JobJudgement:
    claim = claim.model_copy(
        update={"checks": tuple(check for check in claim.checks if _is_about(check, script))}
    )
    evidence = evidence_of(results)
    cold = [result for result in evidence if result.start is Start.COLD]
    if not cold:
        return _without_evidence(results)
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

    def judge_all(checks: Sequence[Check], result: Result) -> list[Finding]:
        return [
            judge_check(
                check,
                result,
                expected=_expected_instead(check, expected),
                script=script,
                target=target,
                claim=claim,
            )
            for check in checks
        ]

    rows = unanimous([judge_all(in_attempt, result) for result in evidence], claim)
    details = _strongest_findings([judge_all(others, result) for result in evidence])
    least = _least(claim, script, plan, requested=len(cold))
    if over_repeats:
        variation = judge_repeats(over_repeats[0], cold, script=script, target=target)
        return by_repeats(variation, (*_strongest_findings(rows), *details), least=least)
    slower = [check for check in in_attempt if check.kind is CheckKind.SLOWER]
    if slower:
        return by_ratio(
            slower[0],
            list(zip(rows, evidence, strict=True)),
            (*_strongest_findings(rows), *details),
            least=least,
        )
    if not in_attempt or _unreadable(in_attempt, rows, evidence):
        return _without_claim(
            script, target, evidence, (*_strongest_findings(rows), *details), readable=not in_attempt
        )
    steps = [_step(in_attempt, row, result, target) for row, result in zip(rows, evidence, strict=True)]
    return _by_attempts(steps, (*_strongest_findings(rows), *details), claim, least=least)


def _expected_instead(check: Check, expected: Sequence[Check]) -> list[Check]:
    """The expected checks that replace this one. One that names no bug replaces every bug."""
    return [other for other in expected if other.of is None or other.of == check.id]


def _is_about(check: Check, script: Script) -> bool:
    """Whether the check is about this script: it names no other one."""
    return check.script is None or check.script.digest in {None, script.digest}


def _least(claim: Claim, script: Script, plan: RepeatPlan | None, *, requested: int) -> int:
    """The number of cold attempts that a "never" needs.

    Without a plan, the counted attempts are the requested ones. A claim that something happens sometimes
    needs so many that a failure in 5 % of the attempts would have been seen. So does one where chance
    decides, unless the number of attempts was given. A script that repeats the failing statement itself needs
    no more than others.
    """
    counts_chance = is_about_frequency(claim) or (plan is not None and not plan.exact)
    if counts_chance and needs_many(claim, script):
        return LEAST_FOR_SOMETIMES
    return min(LEAST_FOR_NEVER, requested if plan is None else plan.at_most)


def _without_evidence(results: Sequence[Result]) -> JobJudgement:
    """NO_RESULT, or CANNOT_SHOW if no node could have run the script as the target says."""
    reason = _node_failure(results)
    known = {lack.code: lack for lack in (NOT_ADDED, SETTING_NOT_IN_FORCE)}
    if reason is not None and reason.code in known:
        return JobJudgement(verdict=Verdict.CANNOT_SHOW, reason=known[reason.code])
    return JobJudgement(verdict=Verdict.NO_RESULT, reason=reason)


def _node_failure(results: Sequence[Result]) -> Reason | None:
    """The most frequent failure on our side; None if there is none.

    Its detail comes from a node and is cut short.
    """
    reason = commonest(
        [result.reason for result in results if result.reason is not None and not result.outcome.is_evidence]
    )
    return None if reason is None else reason.model_copy(update={"detail": reason.detail[:_MOST_DETAIL]})


def _strongest_findings(rows: Sequence[Sequence[Finding]]) -> tuple[Finding, ...]:
    """One finding for each check: the one of all attempts that says most."""
    return tuple(
        min(column, key=lambda finding: _STRONGEST.index(finding.result))
        for column in zip(*rows, strict=True)
    )


def _unreadable(
    checks: Sequence[Check], rows: Sequence[Sequence[Finding]], evidence: Sequence[Result]
) -> bool:
    """Whether the claim is only about a difference, and no completed attempt printed two sides."""
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
    """The judgement without a bug check: OBSERVED, or CANNOT_SHOW if every attempt lacked something."""
    lacks = [lack_of(result, script, target) or _skipped_part(result, script, target) for result in evidence]
    # The claim is not about a GPU, so an unused GPU is no lack.
    known = [lack for lack in lacks if lack is not None and lack.code not in SILENT]
    if len(known) == len(evidence):
        return JobJudgement(verdict=Verdict.CANNOT_SHOW, reason=commonest(known), findings=findings)
    return JobJudgement(
        verdict=Verdict.OBSERVED, reason=None if readable else NO_SIDES, of=len(evidence), findings=findings
    )


def _skipped_part(result: Result, script: Script, target: Target) -> Reason | None:
    """The GPU part that an attempt skipped; None if the attempt completed with output, which is a fact."""
    has_output = result.outcome is Outcome.COMPLETED and result.observation.stdout.strip()
    return None if has_output else skipped_gpu_part(result, script, target)


def _step(checks: Sequence[Check], row: Sequence[Finding], result: Result, target: Target) -> Step:
    """The bug in one attempt.

    All checks that can be judged on this target must have the same result, else it is OTHER.
    """
    findings = [
        finding for check, finding in zip(checks, row, strict=True) if exclusion_of(check, target) is None
    ]
    reasons = tuple(finding.reason for finding in row if finding.reason is not None)
    results = {finding.result for finding in findings}
    if not results or CheckResult.UNREACHED in results:
        return Step(result, CheckResult.UNREACHED, reasons)
    return Step(result, results.pop() if len(results) == 1 else CheckResult.OTHER, reasons)


def _by_attempts(
    steps: Sequence[Step], findings: tuple[Finding, ...], claim: Claim, *, least: int
) -> JobJudgement:
    reached = _evidence_steps(steps)
    if not reached:
        reason = commonest([reason for step in steps for reason in step.reasons])
        return JobJudgement(verdict=Verdict.CANNOT_SHOW, reason=reason, findings=findings)
    met = [step for step in reached if step.check_result is CheckResult.MET]
    cold = sum(step.cold for step in reached)
    of = len(reached)
    interval = rate_interval(sum(step.cold for step in met), cold)
    if met:
        verdict = Verdict.REPRODUCED if len(met) == of else Verdict.FLAKY
        return JobJudgement(
            verdict=verdict, matched=len(met), of=of, rate_interval=interval, findings=findings
        )
    bound = rate_upper_bound(cold)
    others = [step for step in reached if step.check_result is CheckResult.OTHER]
    if others:
        kind = kind_of_difference(others[0].result, claim, findings)
        return JobJudgement(
            verdict=Verdict.DIFFERENT,
            reason=kind,
            of=of,
            rate_upper_bound=bound,
            rate_interval=interval,
            findings=findings,
        )
    if any(_shows_nothing(step) for step in steps):
        # It ended as well as the others, and showed neither the claimed nor the right behaviour.
        return JobJudgement(verdict=Verdict.CANNOT_SHOW, reason=NOTHING_SHOWN, of=cold, findings=findings)
    if cold < least:
        return JobJudgement(verdict=Verdict.CANNOT_SHOW, reason=UNSEEN_IN_FEW, of=cold, findings=findings)
    return JobJudgement(
        verdict=Verdict.NOT_REPRODUCED,
        of=cold,
        rate_upper_bound=bound,
        rate_interval=interval,
        findings=findings,
    )


def _evidence_steps(steps: Sequence[Step]) -> list[Step]:
    """The steps that are evidence about the claim.

    A warm attempt counts only if a cold one had the same result, and never as part of a "never".
    """
    if any(step.check_result is CheckResult.MET for step in steps if step.cold):
        # If some attempts showed the bug, an attempt that showed nothing is one without the bug.
        steps = [Step(step.result, CheckResult.ABSENT, ()) if _is_silent(step) else step for step in steps]
    cold_results = {step.check_result for step in steps if step.cold}
    # If cold attempts show the bug, warm attempts without it do not support a "never". They must count, or
    # the rate would look higher than it is.
    confirmed = cold_results if CheckResult.MET in cold_results else cold_results - {CheckResult.ABSENT}
    return [
        step
        for step in steps
        if step.check_result is not CheckResult.UNREACHED and (step.cold or step.check_result in confirmed)
    ]


def _shows_nothing(step: Step) -> bool:
    """Whether a cold attempt completed and showed nothing about the claim."""
    ended = step.cold and step.result.outcome is Outcome.COMPLETED
    return ended and bool(step.reasons) and all(reason == NOTHING_SHOWN for reason in step.reasons)


def _is_silent(step: Step) -> bool:
    return (
        step.check_result is CheckResult.UNREACHED
        and bool(step.reasons)
        and all(reason.code in SILENT for reason in step.reasons)
    )
