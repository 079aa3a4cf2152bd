"""From rows to the facts that judging and the run object are made of."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from sqlalchemy.orm import Session

from app.errors import NotFoundError
from app.intake.reading import Reading
from app.runs.assemble import AttemptFacts, JobFacts, RunFacts, assemble
from app.runs.document import ContributedPart, RunDocument
from app.runs.keep import digests_in, join_reading, join_result
from app.storage.models import AttemptRow, EnvironmentRow, JobRow, ReportRow, RunRow
from app.storage.queries import runs as queries
from app.targets.plan import RepeatPlan
from app.targets.target import Target
from worker.contract import Reason, Result


def reading_of(session: Session, report: ReportRow) -> Reading:
    """What was read from a report."""
    return join_reading(report.reading, queries.scripts(session, digests_in(report.reading)))


def report_of_run(session: Session, run: RunRow) -> ReportRow:
    """The report of a run."""
    report = queries.report_of(session, run.report_id)
    if report is None:
        raise NotFoundError("There is no report with this id.")
    return report


def results_by_attempt(session: Session, attempts: Iterable[AttemptRow]) -> dict[str, Result]:
    """The results of those attempts that have one."""
    done = [attempt for attempt in attempts if attempt.result is not None]
    found = queries.environments(session, (attempt.environment_digest for attempt in done if attempt.environment_digest))
    return {attempt.id: _result(attempt, found) for attempt in done}


def _result(attempt: AttemptRow, environments: Mapping[str, EnvironmentRow]) -> Result:
    environment = environments.get(attempt.environment_digest or "")
    return join_result(attempt.result or {}, None if environment is None else environment.facts)


def run_facts(run: RunRow, report: ReportRow) -> RunFacts:
    """A run's own facts."""
    return RunFacts(
        id=run.id,
        state=run.state,
        created_at=run.created_at,
        finished_at=run.finished_at,
        preset=run.preset,
        report_id=run.report_id,
        title=report.title,
        source_url=report.source_url,
        repeats=RepeatPlan(at_most=run.repeats_at_most, exact=run.repeats_exact),
        contributed=_contributed(run),
    )


def _contributed(run: RunRow) -> ContributedPart | None:
    if run.contributed_by is None:
        return None
    return ContributedPart.model_validate({**(run.made_by or {}), "by": run.contributed_by})


def job_facts(jobs: Sequence[JobRow], attempts: Sequence[AttemptRow], results: Mapping[str, Result]) -> list[JobFacts]:
    """Jobs with their attempts."""
    by_job: dict[str, list[AttemptFacts]] = {}
    for attempt in attempts:
        facts = AttemptFacts(
            id=attempt.id,
            kind=attempt.kind,
            start=attempt.start,
            state=attempt.state,
            counted=attempt.counted,
            result=results.get(attempt.id),
        )
        by_job.setdefault(attempt.job_id, []).append(facts)
    return [
        JobFacts(
            id=job.id,
            script=job.script_digest,
            target=Target.model_validate(job.target),
            state=job.state,
            reason=None if job.reason is None else Reason.model_validate(job.reason),
            attempts=tuple(by_job.get(job.id, ())),
        )
        for job in jobs
    ]


def document_of(session: Session, run: RunRow) -> RunDocument:
    """The run object from what is kept."""
    report = report_of_run(session, run)
    jobs = queries.jobs_of_run(session, run.id)
    attempts = queries.attempts_of_run(session, run.id)
    facts = job_facts(jobs, attempts, results_by_attempt(session, attempts))
    return assemble(run_facts(run, report), reading_of(session, report), facts)
