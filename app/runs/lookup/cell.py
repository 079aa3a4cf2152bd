"""One cell of a run: its job with all attempts, and the attempt that others can repeat."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy.orm import Session

from app.errors import ConflictError, NotFoundError
from app.ids import is_id
from app.judging.judgement import CheckResult
from app.runs.lookup.runs import AttemptDetails, attempt_details
from app.runs.rows.document_cache import cached_document
from app.runs.rows.facts import job_facts, reading_of, report_of_run, results_by_attempt, run_facts
from app.runs.run_object.assemble import assemble
from app.runs.run_object.document import AttemptPart, JobPart, RunDocument, ScriptPart
from app.storage.models import JobRow, ReportRow, RunRow
from app.storage.queries import runs as queries
from app.targets.packages import packages_among
from worker.contract import Environment


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """A job in a run document without other jobs. `repeatable` is the attempt to compare a repeat with."""

    run: RunDocument
    job: JobPart
    label: str
    script: ScriptPart
    script_number: int
    repeatable: AttemptDetails | None


def cell(session: Session, job_id: str) -> Cell:
    """A cell by the id of its job. Raises NotFoundError."""
    job = session.get(JobRow, job_id) if is_id(job_id) else None
    run = None if job is None else session.get(RunRow, job.run_id)
    if job is None or run is None:
        raise NotFoundError("There is no cell with this id.")
    report = report_of_run(session, run)
    document = _document_of_job(session, run, job, report)
    part = document.jobs[0]
    number, script = next(
        (number, script)
        for number, script in enumerate(document.report.scripts, 1)
        if script.digest == part.script
    )
    attempt = None if run.is_withdrawn else _telling_attempt(part)
    return Cell(
        run=document,
        job=part,
        label=part.target.label,
        script=script,
        script_number=number,
        repeatable=None if attempt is None else attempt_details(session, attempt.id),
    )


def _telling_attempt(part: JobPart) -> AttemptPart | None:
    """The first counted attempt that shows the claimed failure; else the first counted attempt."""
    counted_attempts = [
        attempt for attempt in part.attempts if attempt.counted and attempt.outcome is not None
    ]
    observed = next(
        (
            finding.observed
            for finding in part.checks
            if finding.result is CheckResult.MET and finding.observed
        ),
        None,
    )
    # The observed text is one line of the output, or all of it.
    showing = [
        attempt
        for attempt in counted_attempts
        if observed is not None and f"\n{observed}\n" in f"\n{_output_of(attempt)}\n"
    ]
    return next(iter([*showing, *counted_attempts]), None)


def _output_of(attempt: AttemptPart) -> str:
    exception, stdout = attempt.exception, attempt.stdout.strip()
    return stdout if exception is None else f"{stdout}\n{exception.type}: {exception.message}"


def _document_of_job(session: Session, run: RunRow, job: JobRow, report: ReportRow) -> RunDocument:
    """The run document with this job only: from the cache or the withdrawn document, else judged again."""
    whole = (
        cached_document(session, run)
        if not run.is_withdrawn
        else RunDocument.model_validate(run.withdrawn_record)
    )
    if whole is not None:
        part = next(part for part in whole.jobs if part.id == job.id)
        places = {attempt.environment for attempt in part.attempts}
        environments = {digest: facts for digest, facts in whole.environments.items() if digest in places}
        return whole.model_copy(update={"jobs": [part], "environments": environments})
    attempts = queries.attempts_of_cell(session, job.id)
    facts = job_facts([job], attempts, results_by_attempt(session, attempts))
    return assemble(run_facts(run, report), reading_of(session, report), facts)


def repeatable(cell: Cell) -> AttemptDetails:
    """The attempt to compare a repeat with. Raises ConflictError if there is none."""
    if cell.run.withdrawn_at is not None:
        raise ConflictError(
            "This report was withdrawn: its scripts and their output are erased.", code="withdrawn"
        )
    if cell.repeatable is None or cell.repeatable.observation is None:
        raise ConflictError(
            "No attempt of this cell has a result yet, so there is nothing to repeat.",
            code="nothing_to_repeat",
        )
    return cell.repeatable


def packages_used(script: ScriptPart, environment: Environment) -> dict[str, str]:
    """The packages that a script imports, with their versions in an environment."""
    versions = {
        name: environment.get("torch.version" if name == "torch" else f"package.{name}")
        for name in packages_among(script.needs)
    }
    return {name: str(version) for name, version in sorted(versions.items()) if version}
