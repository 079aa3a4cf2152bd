"""Judging within limits of time and memory, so that one run's output can't hold all other runs.

A run over a limit ends: its cells say `judging_limit`, and no text of its attempts is looked at again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import structlog

from app.bounded.calls import OverLimitError, call_within_limits
from app.intake.claim.claims import Claim
from app.intake.reading import Reading, Script
from app.judging.judgement import JobJudgement, Verdict
from app.judging.verdict.attempts_needed import MissingAttempts, needed_attempts
from app.judging.verdict.job import judge_job
from app.runs.run_object.assemble import JudgedRun, judge
from app.runs.run_object.erase import erased_result
from app.runs.run_object.facts import AttemptFacts, JobFacts, RunFacts
from app.targets.planning.plan import RepeatPlan
from app.targets.target import Target
from worker.contract import Reason, Result, WhoCanAct

log = structlog.get_logger(__name__)

JUDGING_LIMIT = "judging_limit"


def judge_within_limits(run: RunFacts, reading: Reading, jobs: Sequence[JobFacts]) -> JudgedRun:
    """Judge a run. Over a limit, every cell that ran says so instead of a verdict on the claim."""
    try:
        return call_within_limits(judge, run, reading, tuple(jobs))
    except OverLimitError as error:
        log.warning("judging_stopped", run_id=run.id)
        return judge(run, reading, [_without_texts(job, _reason(error)) for job in jobs])


def judge_job_within_limits(
    claim: Claim, script: Script, target: Target, results: Sequence[Result], *, plan: RepeatPlan
) -> JobJudgement:
    """Judge a job. Over a limit, it says so instead of a verdict on the claim."""
    try:
        return call_within_limits(judge_job, claim, script, target, tuple(results), plan=plan)
    except OverLimitError as error:
        log.warning("judging_stopped")
        return JobJudgement(verdict=Verdict.CANNOT_SHOW, reason=_reason(error))


def needed_within_limits(
    claim: Claim,
    script: Script,
    target: Target,
    results: Sequence[Result],
    plan: RepeatPlan,
    *,
    plain: Sequence[Result] | None = None,
) -> MissingAttempts:
    """The attempts to run now. Over a limit, no more are run."""
    try:
        return call_within_limits(needed_attempts, claim, script, target, tuple(results), plan, plain=plain)
    except OverLimitError:
        log.warning("judging_stopped")
        return MissingAttempts()


def _reason(error: OverLimitError) -> Reason:
    return Reason(
        code=JUDGING_LIMIT,
        detail=f"Judging was stopped. {error.message} The attempts are stored and can be judged again.",
        who_can_act=WhoCanAct.OPERATOR,
    )


def _without_texts(job: JobFacts, reason: Reason) -> JobFacts:
    attempts = tuple(_without_text(attempt) for attempt in job.attempts)
    has_results = any(attempt.result is not None for attempt in attempts)
    return replace(job, reason=job.reason or (reason if has_results else None), attempts=attempts)


def _without_text(attempt: AttemptFacts) -> AttemptFacts:
    return attempt if attempt.result is None else replace(attempt, result=erased_result(attempt.result))
