"""The run object from its facts: pure, so the service (from rows) and the command line (from memory) say the same."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from app.intake.claims import Check
from app.intake.reading import Reading, Script
from app.judging.comparison import Comparison, Difference, Repeats, compare, digests_of, repeats_of, varying_names
from app.judging.environments import digest_of
from app.judging.exactness import exactly
from app.judging.job import judge_job
from app.judging.judged import JudgedCell
from app.judging.judgement import ComparisonResult, Finding, JobJudgement, Verdict
from app.judging.run import judge_run
from app.judging.summary import summarise
from app.runs.document import (
    AttemptPart,
    CheckPart,
    ClaimPart,
    ComparisonPart,
    DifferencePart,
    FindingPart,
    JobPart,
    ReportPart,
    RunDocument,
    ScriptPart,
    TargetPart,
)
from app.states import AttemptState, JobState, RunState
from app.targets.plan import RepeatPlan
from app.targets.target import Target
from worker.contract import KIB, AttemptKind, Environment, Outcome, Reason, Result, Start

STREAM_BYTES = 4 * KIB
# What is said of a job that still runs: never "no", which needs them all.
_TOLD_EARLY = {Verdict.REPRODUCED, Verdict.FLAKY, Verdict.DIFFERENT}
# Trouble of ours is a second column, in sight; it is compared with nothing.
_INCOMPARABLE = {Outcome.LOST, Outcome.CANCELLED, Outcome.SETUP_FAILED}


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptFacts:
    """One attempt as kept; `result` is None until one was recorded. A preview has `counted` False."""

    id: str
    kind: AttemptKind
    start: Start
    state: AttemptState
    counted: bool = True
    result: Result | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class JobFacts:
    """One cell as kept. `script` is a digest; `reason` is given where the plan found that no node serves the target."""

    id: str
    script: str
    target: Target
    state: JobState
    reason: Reason | None = None
    attempts: tuple[AttemptFacts, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFacts:
    """A launch as kept."""

    id: str
    state: RunState
    created_at: datetime
    finished_at: datetime | None = None
    preset: str | None = None
    report_id: str | None = None
    title: str = ""
    source_url: str | None = None
    # Says how few attempts were asked for; unknown, those that there are must do.
    repeats: RepeatPlan | None = None


def assemble(run: RunFacts, reading: Reading, jobs: Sequence[JobFacts]) -> RunDocument:
    """The document of a run in any state; verdicts are judged anew from the attempts each time."""
    scripts = {script.digest: script for script in reading.scripts}
    cells = [_cell(reading, scripts[job.script], job, plan=run.repeats) for job in jobs]
    judgement = judge_run(reading, cells)
    finished = run.state == "finished"
    decided = [cell for cell in cells if cell.judgement is not None]
    return RunDocument(
        id=run.id,
        state=run.state,
        verdict=judgement.verdict if finished else None,
        so_far=None if finished else judgement.verdict,
        seen=judgement.seen,
        defect=judgement.defect,
        cause=judgement.cause,
        summary=summarise(judgement, decided) if finished or decided else "",
        scope=judgement.scope,
        scope_differs=list(judgement.scope_differs),
        where=list(judgement.where),
        not_where=list(judgement.not_where),
        newest=judgement.newest,
        without_result=judgement.without_result,
        ask=list(reading.ask),
        preset=run.preset,
        report=report_part(reading, report_id=run.report_id, title=run.title, source_url=run.source_url),
        jobs=[_job(reading, job, cell) for job, cell in zip(jobs, cells, strict=True)],
        comparisons=_comparisons(jobs, cells),
        environments=_environments(jobs),
        created_at=run.created_at,
        finished_at=run.finished_at,
    )


def report_part(reading: Reading, *, report_id: str | None = None, title: str = "", source_url: str | None = None) -> ReportPart:
    """A report as it was read."""
    return ReportPart(
        id=report_id,
        title=title or reading.title,
        source_url=source_url,
        scripts=[
            ScriptPart(
                role=script.role,
                as_given=script.as_given,
                script=script.script,
                repairs=list(script.repairs),
                digest=script.digest,
                needs=list(script.needs),
            )
            for script in reading.scripts
        ],
        claim=ClaimPart(checks=[_check(check) for check in reading.claim.checks]),
        environment=reading.environment,
    )


def _check(check: Check) -> CheckPart:
    where = {name: str(value) for name, value in check.where.model_dump(exclude_none=True).items()}
    return CheckPart(text=check.text, kind=check.kind, role=check.role, where=where, over=check.over)


def _cell(reading: Reading, script: Script, job: JobFacts, *, plan: RepeatPlan | None) -> JudgedCell:
    """A job as judging sees it: judged once it has ended, and before that only where something was seen."""
    results = tuple(
        attempt.result.model_copy(update={"attempt_id": attempt.id, "kind": attempt.kind, "start": attempt.start})
        for attempt in job.attempts
        if attempt.counted and attempt.result is not None
    )
    judgement: JobJudgement | None = None
    if job.reason is not None:
        judgement = JobJudgement(verdict=Verdict.CANNOT_SHOW, reason=job.reason)
    elif job.state == "judged":
        judgement = judge_job(reading.claim, script, job.target, results, plan=plan)
    elif results:
        interim = judge_job(reading.claim, script, job.target, results)
        judgement = interim if interim.verdict in _TOLD_EARLY else None
    return JudgedCell(job_id=job.id, script=job.script, target=job.target, judgement=judgement, results=results, role=script.role)


def _job(reading: Reading, job: JobFacts, cell: JudgedCell) -> JobPart:
    judgement = cell.judgement or JobJudgement(verdict=Verdict.NO_RESULT)
    target = job.target
    return JobPart(
        id=job.id,
        script=job.script,
        target=TargetPart(device=target.device, gpus=target.gpus, toolchain=target.toolchain, settings=target.settings),
        state=job.state,
        verdict=judgement.verdict if job.state == "judged" else None,
        reason=judgement.reason if cell.judgement is not None else None,
        matched=judgement.matched,
        of=judgement.of,
        rate_upper_bound=judgement.rate_upper_bound,
        rate_interval=judgement.rate_interval,
        checks=[_finding(finding, reading, cell) for finding in judgement.findings],
        varying_values=list(varying_names(_digests(job))),
        attempts=[_attempt(attempt) for attempt in job.attempts],
    )


def _finding(finding: Finding, reading: Reading, cell: JudgedCell) -> FindingPart:
    check = next((check for check in reading.claim.checks if check.text == finding.text), None)
    exact = "" if check is None or not cell.results else exactly(check, finding, cell.results[0].observation.values)
    return FindingPart(text=finding.text, result=finding.result, observed=finding.observed, exact=exact)


def _short(text: str) -> str:
    """A stream cut to its beginning and its end, in whole characters."""
    data = text.encode(errors="replace")
    if len(data) <= STREAM_BYTES:
        return text
    half = STREAM_BYTES // 2 - 16
    return data[:half].decode(errors="ignore") + "\n[… cut …]\n" + data[-half:].decode(errors="ignore")


def _attempt(attempt: AttemptFacts) -> AttemptPart:
    facts = {"id": attempt.id, "kind": attempt.kind, "start": attempt.start, "state": attempt.state, "counted": attempt.counted}
    result = attempt.result
    if result is None:
        return AttemptPart.model_validate(facts)
    seen = result.observation
    stdout, stderr = _short(seen.stdout), _short(seen.stderr)
    return AttemptPart.model_validate(
        {
            **facts,
            "node": result.node,
            "level": result.level,
            "outcome": result.outcome,
            "reason": result.reason,
            "exit_status": seen.exit_status,
            "signal": seen.signal,
            "exception": seen.exception,
            "stdout": stdout,
            "stderr": stderr,
            "truncated": seen.truncated or stdout != seen.stdout or stderr != seen.stderr,
            "devices_used": seen.devices_used,
            "flags_changed": seen.flags_changed,
            "wall_seconds": seen.wall_seconds,
            "peak_memory_bytes": seen.peak_memory_bytes,
            "environment": digest_of(result.environment) if result.environment else None,
        }
    )


def _environments(jobs: Sequence[JobFacts]) -> dict[str, Environment]:
    found = [attempt.result.environment for job in jobs for attempt in job.attempts if attempt.result is not None]
    return {digest_of(environment): environment for environment in found if environment}


def _first(job: JobFacts) -> tuple[str, Result] | None:
    """The first counted attempt of a job that shows anything."""
    return next(iter(_shown(job)), None)


def _shown(job: JobFacts) -> list[tuple[str, Result]]:
    return [
        (attempt.id, attempt.result)
        for attempt in job.attempts
        if attempt.counted and attempt.result is not None and attempt.result.outcome not in _INCOMPARABLE
    ]


def _digests(job: JobFacts) -> list[dict[str, str]]:
    return [digests_of(result) for _, result in _shown(job)]


def _comparisons(jobs: Sequence[JobFacts], cells: Sequence[JudgedCell]) -> list[ComparisonPart]:
    """Within a job: the first attempt and the first that differs. Across the jobs of a script: each with the plainest target.

    The plainest is looked for among targets that showed something of the claim, and on the same device before any other, so that a
    difference stands beside the one setting that makes it.
    """
    parts: list[ComparisonPart] = []
    told = {cell.job_id for cell in cells if cell.verdict not in {None, Verdict.CANNOT_SHOW, Verdict.NO_RESULT}}
    digests = {job.id: _digests(job) for job in jobs}
    for script in dict.fromkeys(job.script for job in jobs):
        mine = sorted((job for job in jobs if job.script == script and _first(job) is not None), key=_plainness)
        for job in mine:
            part = _first_unlike(job, repeats_of(digests[job.id], digests[job.id], same_job=True))
            parts += [] if part is None else [part]
        telling = [job for job in mine if job.id in told] or mine
        for job in telling[1:]:
            same_device = next(other for other in telling if other.target.device is job.target.device)
            plainest = same_device if same_device is not job else telling[0]
            baseline, candidate = _first(plainest), _first(job)
            if baseline is not None and candidate is not None:
                repeats = repeats_of(digests[plainest.id], digests[job.id], same_job=False)
                parts.append(_compared(baseline, candidate, repeats))
    return parts


def _first_unlike(job: JobFacts, repeats: Repeats) -> ComparisonPart | None:
    """The first attempt of a job and the first that is not like it."""
    first, *others = _shown(job)
    compared = (_compared(first, other, repeats) for other in others)
    return next((part for part in compared if part.result not in {ComparisonResult.IDENTICAL, ComparisonResult.EQUIVALENT}), None)


def _plainness(job: JobFacts) -> tuple[int, int]:
    return (len(job.target.settings), job.target.gpus)


def _compared(baseline: tuple[str, Result], candidate: tuple[str, Result], repeats: Repeats) -> ComparisonPart:
    return comparison_part(baseline[0], candidate[0], compare(baseline[1], candidate[1], repeats=repeats))


def comparison_part(baseline: str, candidate: str, made: Comparison) -> ComparisonPart:
    """A comparison of two attempts, by their ids, as the run object has it."""
    first = (
        {}
        if made.first is None
        else {
            "about": made.first.about,
            "line": made.first_line,
            "candidate_line": made.first_line_candidate,
            "baseline": made.first.baseline,
            "candidate": made.first.candidate,
            "note": made.first.note,
        }
    )
    return ComparisonPart(
        id=f"{baseline}-{candidate}",
        baseline=baseline,
        candidate=candidate,
        result=made.result,
        differences=[difference_part(one) for one in made.differences],
        first_difference=first,
    )


def difference_part(one: Difference) -> DifferencePart:
    """A difference as documents have it."""
    return DifferencePart(about=one.about, baseline=one.baseline, candidate=one.candidate, note=one.note)
