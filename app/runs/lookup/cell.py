"""One cell of a run by itself: its job with every attempt, judged as in the run, and the attempt that is repeated elsewhere."""

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
from app.targets.target import target_of
from worker.contract import Environment


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """A job, in a run document that holds it alone."""

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
    document = _alone(session, run, job, report)
    part = document.jobs[0]
    number, script = next(
        (at, one) for at, one in enumerate(document.report.scripts, 1) if one.digest == part.script
    )
    shown = None if run.is_withdrawn else _telling(part)
    return Cell(
        run=document,
        job=part,
        label=target_of(job).label(),
        script=script,
        script_number=number,
        repeatable=None if shown is None else attempt_details(session, shown.id),
    )


def _telling(part: JobPart) -> AttemptPart | None:
    """The first attempt that counts and shows what is claimed, where one does; else the first that counts."""
    ended = [one for one in part.attempts if one.counted and one.outcome is not None]
    seen = next(
        (
            finding.observed
            for finding in part.checks
            if finding.result is CheckResult.MET and finding.observed
        ),
        None,
    )
    # A line of what was printed, or all of it.
    showing = [one for one in ended if seen is not None and f"\n{seen}\n" in f"\n{_said(one)}\n"]
    return next(iter([*showing, *ended]), None)


def _said(attempt: AttemptPart) -> str:
    raised = attempt.exception
    return (
        attempt.stdout.strip()
        if raised is None
        else f"{attempt.stdout.strip()}\n{raised.type}: {raised.message}"
    )


def _alone(session: Session, run: RunRow, job: JobRow, report: ReportRow) -> RunDocument:
    """The run with this job only: as it was kept, of a withdrawn report since there is nothing left to judge; else judged by itself."""
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


def repeatable(found: Cell) -> AttemptDetails:
    """The attempt that a repeat is compared with. Raises ConflictError while there is none."""
    if found.run.withdrawn_at is not None:
        raise ConflictError(
            "This report was withdrawn: its scripts and what they printed are erased.", code="withdrawn"
        )
    if found.repeatable is None or found.repeatable.observation is None:
        raise ConflictError(
            "No attempt of this cell has shown anything yet, so there is nothing to repeat.",
            code="nothing_to_repeat",
        )
    return found.repeatable


def packages_used(script: ScriptPart, environment: Environment) -> dict[str, str]:
    """The packages that a script imports, in the versions of an environment."""
    versions = {
        name: environment.get("torch.version" if name == "torch" else f"package.{name}")
        for name in packages_among(script.needs)
    }
    return {name: str(version) for name, version in sorted(versions.items()) if version}
