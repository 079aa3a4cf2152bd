"""Judges a run and builds its run object from facts. Pure: the service and the command line share it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from app.intake.reading import Reading
from app.judging.comparison.comparison import digests_of, varying_names
from app.judging.comparison.environments import environment_digest
from app.judging.comparison.exactness import exact_value_text
from app.judging.comparison.values import value_text
from app.judging.judgement import DEVIATIONS, Finding, JobJudgement, JudgedCell, Verdict
from app.judging.needs.status import NeedOutcome, outcomes_of_needs
from app.judging.verdict.contrast import Contrast, claim_in_contrast
from app.judging.verdict.job import judge_job
from app.judging.verdict.passage import lost_passage
from app.judging.verdict.run import RunJudgement, judge_run
from app.judging.verdict.summary import summarise
from app.runs.run_object.answer.sentences import answer_of
from app.runs.run_object.claim_part import claim_part, exhibit_part
from app.runs.run_object.comparison_parts import ComparedPair, EvidenceAttempt, compare_jobs
from app.runs.run_object.contributed_names import without_foreign_words
from app.runs.run_object.digests import claim_digest
from app.runs.run_object.document import (
    AttemptPart,
    ContrastPart,
    FacetPart,
    FindingPart,
    FixedPart,
    JobPart,
    ModelPart,
    ReportPart,
    RunDocument,
    ScriptPart,
    TargetPart,
    ValuePart,
)
from app.runs.run_object.facts import AttemptFacts, JobFacts, RunFacts
from app.runs.run_object.reading_notes import ignored_needs_words
from app.runs.run_object.removal_part import removal_part
from app.targets.planning.plan import RepeatPlan
from app.targets.target import Target
from worker.contract import KIB, AttemptKind, CapturedValue, Environment, Result

STREAM_BYTES = 4 * KIB
# Captured values and warnings shown of one attempt, and characters of each.
MOST_VALUES, MOST_WARNINGS = 12, 12
MOST_WRITTEN = 200
CONTRIBUTED = "Contributed from elsewhere, not run on our nodes:"


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedRun:
    """A run with all that is computed from its attempts: each job judged once, each pair compared once."""

    document: RunDocument
    cells: tuple[JudgedCell, ...]
    comparisons: tuple[ComparedPair, ...]

    def cell_of(self, job_id: str) -> JudgedCell | None:
        """The judged cell of a job, None if the job is not in this run."""
        return next((cell for cell in self.cells if cell.job_id == job_id), None)


def assemble(run: RunFacts, reading: Reading, jobs: Sequence[JobFacts]) -> RunDocument:
    """The run object of a run in any state. Its verdicts are computed from the attempts each time."""
    return judge(run, reading, jobs).document


def judge(run: RunFacts, reading: Reading, jobs: Sequence[JobFacts]) -> JudgedRun:
    """Judge the jobs of a run, compare its attempts, and assemble its run object.

    A contributed run is judged without the names and texts that were chosen elsewhere.
    """
    if run.contributed is not None:
        jobs = without_foreign_words(jobs)
    finished = run.state == "finished"
    cells = tuple(judge_cell(reading, job, plan=run.repeats, finished=finished) for job in jobs)
    comparisons = tuple(compare_jobs(cells, [_evidence_of(job) for job in jobs], reading.scripts))
    document = _document(run, reading, jobs, cells, comparisons)
    document = document.model_copy(update={"answer": answer_of(document)})
    return JudgedRun(document=document, cells=cells, comparisons=comparisons)


def _document(
    run: RunFacts,
    reading: Reading,
    jobs: Sequence[JobFacts],
    cells: Sequence[JudgedCell],
    comparisons: Sequence[ComparedPair],
) -> RunDocument:
    finished = run.state == "finished"
    judgement = judge_run(reading, cells)
    decided = [cell for cell in cells if cell.judgement is not None and not cell.is_contrast]
    return RunDocument(
        id=run.id,
        state=run.state,
        verdict=judgement.verdict if finished else None,
        so_far=None if finished else judgement.verdict,
        seen=judgement.seen,
        defect=judgement.defect,
        cause=judgement.cause,
        cause_source=judgement.finding.source,
        cause_test=judgement.finding.test,
        removal=removal_part(judgement.finding.removal),
        missing=list(judgement.finding.missing),
        summary=_summary(run, reading, judgement, decided) if finished or decided else "",
        scope=judgement.scope,
        scope_differs=list(judgement.scope_differs),
        where=list(judgement.where),
        not_where=list(judgement.not_where),
        chance_where=list(judgement.chance_where),
        contrast=_contrast(judgement.contrast),
        facets=[
            FacetPart(name=facet.name, verdict=facet.verdict, where=list(facet.where))
            for facet in judgement.facets
        ],
        needs=_needs(reading, jobs),
        newest=judgement.newest,
        without_result=judgement.without_result,
        ask=list(reading.ask),
        preset=run.preset,
        fixed=_fixed_part(run, reading),
        contributed=run.contributed,
        report=report_part(
            reading,
            report_id=run.report_id,
            title=run.title,
            source_url=run.source_url,
            with_exhibits=False,
        ),
        jobs=[_job(reading, job, cell) for job, cell in zip(jobs, cells, strict=True)],
        comparisons=[pair.part for pair in comparisons],
        environments=_environments(jobs),
        created_at=run.created_at,
        finished_at=run.finished_at,
    )


def _fixed_part(run: RunFacts, reading: Reading) -> FixedPart | None:
    record = run.plan_record
    if record is None:
        return None
    same = record.claim == claim_digest(reading.claim)
    return FixedPart(**record.model_dump(), claim_is_the_same=same)


def _needs(reading: Reading, jobs: Sequence[JobFacts]) -> list[NeedOutcome]:
    """The outcomes of the needs of all scripts that ran."""
    evidence = [each.result for job in jobs for each in _evidence_of(job)]
    ran = {job.script for job in jobs}
    needs = [need for script in reading.scripts if script.digest in ran for need in script.needs]
    return outcomes_of_needs(needs, reading.ignored_needs, evidence, reading.environment)


def _contrast(contrast: Contrast | None) -> ContrastPart | None:
    if contrast is None:
        return None
    return ContrastPart(
        kind=contrast.kind, target=contrast.target, added=contrast.added, is_open=contrast.is_open
    )


def _summary(run: RunFacts, reading: Reading, judgement: RunJudgement, decided: Sequence[JudgedCell]) -> str:
    """The summary. That of a contributed run says so, since it may be read alone."""
    words = f"{summarise(judgement, decided)} {ignored_needs_words(reading.ignored_needs)}".strip()
    return f"{CONTRIBUTED} {words}" if run.contributed is not None else words


def report_part(
    reading: Reading,
    *,
    report_id: str | None = None,
    title: str = "",
    source_url: str | None = None,
    with_exhibits: bool = True,
) -> ReportPart:
    """The report as it was read. A run object has it without exhibits."""
    return ReportPart(
        id=report_id,
        title=title or reading.title,
        source_url=source_url or reading.source_url,
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
        claim=claim_part(reading.claim),
        claim_source=reading.claim_source,
        exhibits=list(map(exhibit_part, reading.exhibits)) if with_exhibits else None,
        environment=reading.environment,
        environment_as_read=reading.environment_as_read,
        ignored_needs=list(reading.ignored_needs),
        model=_model_part(reading, with_answer=with_exhibits),
        probe=reading.probe,
    )


def _model_part(reading: Reading, *, with_answer: bool) -> ModelPart | None:
    note = reading.model
    if note is None:
        return None
    return ModelPart(
        name=note.model,
        prompt=note.prompt,
        changed=note.changed,
        answer=note.answer if with_answer else None,
        dropped=list(note.dropped),
    )


def target_part(target: Target) -> TargetPart:
    """The target of a run object."""
    return TargetPart.model_validate(target.model_dump(mode="json"))


def judge_cell(reading: Reading, job: JobFacts, *, plan: RepeatPlan | None, finished: bool) -> JudgedCell:
    """Judge a job. An open job has a judgement only if its attempts already decide something.

    A job that was cancelled in a finished run is judged as one without a result.
    """
    script = reading.script_of(job.script)
    claim = claim_in_contrast(reading.claim) if job.is_contrast else reading.claim
    results = tuple(
        attempt.result.model_copy(
            update={"attempt_id": attempt.id, "kind": attempt.kind, "start": attempt.start}
        )
        for attempt in job.attempts
        if attempt.counted and attempt.result is not None
    )
    passages = passages_of(job)
    judgement: JobJudgement | None = None
    if job.reason is not None:
        judgement = JobJudgement(verdict=Verdict.CANNOT_SHOW, reason=job.reason)
    elif job.state == "judged":
        judgement = judge_job(claim, script, job.target, (*results, *passages), plan=plan)
    elif results:
        interim = judge_job(claim, script, job.target, results)
        # "Not reproduced" needs all attempts.
        judgement = interim if interim.verdict in DEVIATIONS else None
    if judgement is None and job.state == "cancelled" and finished:
        judgement = JobJudgement(verdict=Verdict.NO_RESULT)
    return JudgedCell(
        job_id=job.id,
        script=job.script,
        target=job.target,
        judgement=judgement,
        results=results,
        role=script.role,
        is_contrast=job.is_contrast,
    )


def passages_of(job: JobFacts) -> tuple[Result, ...]:
    """The results of a job's passage checks. One that is lost was asked for, and nothing was seen."""
    return tuple(
        (attempt.result or lost_passage(attempt.id)).model_copy(
            update={"attempt_id": attempt.id, "kind": attempt.kind}
        )
        for attempt in job.attempts
        if attempt.kind is AttemptKind.PASSAGE and (attempt.result is not None or attempt.state == "lost")
    )


def _job(reading: Reading, job: JobFacts, cell: JudgedCell) -> JobPart:
    judgement = cell.judgement or JobJudgement(verdict=Verdict.NO_RESULT)
    target = job.target
    return JobPart(
        id=job.id,
        script=job.script,
        target=target_part(target),
        state=job.state,
        is_contrast=job.is_contrast,
        verdict=judgement.verdict if job.state == "judged" else None,
        reason=judgement.reason if cell.judgement is not None else None,
        matched=judgement.matched,
        of=judgement.of,
        rate_upper_bound=judgement.rate_upper_bound,
        rate_interval=judgement.rate_interval,
        checks=list(_findings(reading, cell, judgement.findings)),
        facets=[FacetPart.model_validate(facet.model_dump()) for facet in judgement.facets],
        varying_values=list(varying_names([digests_of(attempt.result) for attempt in _evidence_of(job)])),
        trace=next(
            (result.observation.trace for result in cell.results if result.observation.trace is not None),
            None,
        ),
        attempts=[_attempt(attempt) for attempt in job.attempts],
    )


def _findings(reading: Reading, cell: JudgedCell, findings: Iterable[Finding]) -> Iterator[FindingPart]:
    """Each finding with the exact value behind it.

    Findings of checks with the same text come in the order of the checks.
    """
    checks = list(reading.claim.checks)
    for finding in findings:
        check = next((check for check in checks if check.text == finding.text), None)
        exact = ""
        if check is not None:
            checks.remove(check)
            exact = (
                exact_value_text(check, finding, cell.results[0].observation.values) if cell.results else ""
            )
        yield FindingPart(
            text=finding.text,
            result=finding.result,
            observed=finding.observed,
            exact=exact,
            oracle=finding.oracle,
        )


def _short(text: str) -> str:
    """A stream, cut to its beginning and its end if it is longer than STREAM_BYTES."""
    data = text.encode(errors="replace")
    if len(data) <= STREAM_BYTES:
        return text
    half = STREAM_BYTES // 2 - 16
    return data[:half].decode(errors="ignore") + "\n[… cut …]\n" + data[-half:].decode(errors="ignore")


def _attempt(attempt: AttemptFacts) -> AttemptPart:
    facts = {
        "id": attempt.id,
        "kind": attempt.kind,
        "start": attempt.start,
        "state": attempt.state,
        "counted": attempt.counted,
    }
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
            "stacks": _short(seen.stacks),
            "warnings": None if seen.warnings is None else seen.warnings[:MOST_WARNINGS],
            "values": [_value(value) for value in seen.values[:MOST_VALUES]],
            "environment": environment_digest(result.environment) if result.environment else None,
        }
    )


def _value(value: CapturedValue) -> ValuePart:
    facts = {name: getattr(value, name) for name in ("origin", "kind", "statistics")}
    cut = {
        name: getattr(value, name)[:MOST_WRITTEN] for name in ("name", "dtype", "shape", "device", "digest")
    }
    return ValuePart.model_validate({**facts, **cut, "value": value_text(value)[:MOST_WRITTEN]})


def _environments(jobs: Sequence[JobFacts]) -> dict[str, Environment]:
    environments = [
        attempt.result.environment for job in jobs for attempt in job.attempts if attempt.result is not None
    ]
    return {environment_digest(environment): environment for environment in environments if environment}


def _evidence_of(job: JobFacts) -> list[EvidenceAttempt]:
    """The counted attempts of a job that are evidence."""
    return [
        EvidenceAttempt(attempt.id, job.script, job.target, attempt.result)
        for attempt in job.attempts
        if attempt.counted and attempt.result is not None and attempt.result.outcome.is_evidence
    ]
