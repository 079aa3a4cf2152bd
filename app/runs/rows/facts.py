"""Reads rows into the values that judging and the run object are made of."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import structlog
from pydantic import ValidationError
from sqlalchemy.orm import Session, object_session

from app.intake.claim.claims import Claim
from app.intake.reading import Reading
from app.judging.verdict.attempts_needed import contrast_plan
from app.judging.verdict.contrast import claim_in_contrast
from app.judging.versions import JUDGING_RULES
from app.runs.rows.acts import acts_on, overruling
from app.runs.rows.by_id import get_report
from app.runs.rows.judging_limits import judge_within_limits
from app.runs.run_object.answer.sentences import answer_of
from app.runs.run_object.assemble import JudgedRun
from app.runs.run_object.digests import PlanRecord
from app.runs.run_object.document import ContributedPart, OutdatedPart, QuarantinedPart, RunDocument
from app.runs.run_object.facts import AttemptFacts, JobFacts, RunFacts
from app.runs.run_object.storable import digests_in, join_reading, join_result
from app.states import OPEN_STATES
from app.storage.models import AttemptRow, EnvironmentRow, JobRow, ReportRow, RunRow
from app.storage.queries import runs as queries
from app.storage.queries.queue import nodes, quarantines
from app.targets.planning.plan import RepeatPlan
from app.targets.quarantines import builds_on
from app.targets.target import target_of
from worker.contract import Reason, Result
from worker.contract.stored_message import read_stored
from worker.contract.versions import parse_version

log = structlog.get_logger(__name__)


def reading_of(session: Session, report: ReportRow) -> Reading:
    """The stored reading of a report, with the texts of its scripts."""
    if report.withdrawn_at is not None:
        # The texts may still be stored for another report. This one must not show them.
        return join_reading(report.reading, dict.fromkeys(digests_in(report.reading), ""))
    return join_reading(report.reading, queries.scripts(session, digests_in(report.reading)))


def report_of_run(session: Session, run: RunRow) -> ReportRow:
    """The report of a run. Raises NotFoundError."""
    return get_report(session, run.report_id)


def results_by_attempt(session: Session, attempts: Iterable[AttemptRow]) -> dict[str, Result]:
    """The results of those attempts that have one, by the id of the attempt."""
    recorded = [attempt for attempt in attempts if attempt.result is not None]
    environments = queries.environments(
        session, (attempt.environment_digest for attempt in recorded if attempt.environment_digest)
    )
    results = {attempt.id: _result(attempt, environments) for attempt in recorded}
    return {attempt_id: result for attempt_id, result in results.items() if result is not None}


def _result(attempt: AttemptRow, environments: Mapping[str, EnvironmentRow]) -> Result | None:
    """The result of an attempt; None, with a line in the log, if what is stored can't be read."""
    environment = environments.get(attempt.environment_digest or "")
    try:
        return join_result(attempt.result or {}, None if environment is None else environment.facts)
    except ValidationError as error:
        log.warning("stored_result_refused", attempt_id=attempt.id, problems=error.error_count())
        return None


def repeat_plan_of(run: RunRow) -> RepeatPlan:
    """The repeat plan of a run."""
    return RepeatPlan(at_most=run.repeats_at_most, exact=run.repeats_exact)


def repeat_plan_of_job(run: RunRow, job: JobRow) -> RepeatPlan:
    """The repeat plan of a job: that of its run, or less to look for a contrast."""
    plan = repeat_plan_of(run)
    return contrast_plan(plan) if job.is_contrast else plan


def claim_of_job(reading: Reading, job: JobRow) -> Claim:
    """The claim by which a job is judged."""
    return claim_in_contrast(reading.claim) if job.is_contrast else reading.claim


def run_facts(run: RunRow, report: ReportRow) -> RunFacts:
    """The facts of a run, without its jobs."""
    return RunFacts(
        id=run.id,
        state=run.state,
        created_at=run.created_at,
        finished_at=run.finished_at,
        preset=run.preset,
        report_id=run.report_id,
        title=report.title,
        source_url=report.source_url,
        repeats=repeat_plan_of(run),
        contributed=_contributed_part(run),
        plan_record=None if run.plan_record is None else PlanRecord.model_validate(run.plan_record),
    )


def _contributed_part(run: RunRow) -> ContributedPart | None:
    """The contributor of a run. It has only those names of its bundle that our own nodes have, too."""
    if run.contributed_by is None:
        return None
    made_by = run.made_by or {}
    session = object_session(run)
    own_names = set() if session is None else {row.name for row in nodes.all_nodes(session)}
    version = parse_version(made_by.get("samehere"))
    return ContributedPart.model_validate(
        {
            "by": run.contributed_by,
            "nodes": sorted(own_names.intersection(made_by.get("nodes", ()))),
            "samehere": "" if version is None else version.public,
            "ran_at": made_by.get("ran_at"),
            "signed_by": made_by.get("signed_by"),
        }
    )


def job_facts(
    jobs: Sequence[JobRow], attempts: Sequence[AttemptRow], results: Mapping[str, Result]
) -> list[JobFacts]:
    """The facts of jobs and their attempts, in the order of the jobs."""
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
            target=target_of(job),
            state=job.state,
            reason=None if job.reason is None else read_stored(Reason, job.reason),
            is_contrast=bool(job.is_contrast),
            attempts=tuple(by_job.get(job.id, ())),
        )
        for job in jobs
    ]


def document_of(session: Session, run: RunRow) -> RunDocument:
    """The run object from the stored attempts, with the acts of maintainers.

    A finished run keeps the verdicts that it ended with, also when the rules have changed since.
    """
    if run.is_withdrawn:
        return with_maintainer_acts(session, run, _withdrawn_document(run.withdrawn_record))
    document = judge_stored(session, run).document
    if run.state == "finished" and run.verdict is not None and run.rules != JUDGING_RULES:
        document = _with_stored_verdicts(session, run, document)
    return with_maintainer_acts(session, run, document)


def _withdrawn_document(record: Mapping[str, Any] | None) -> RunDocument:
    """The run object of a withdrawn report. One that is older than the field `answer` gets it here."""
    document = RunDocument.model_validate(record)
    if document.answer.what:
        return document
    return document.model_copy(update={"answer": answer_of(document)})


def with_maintainer_acts(session: Session, run: RunRow, document: RunDocument) -> RunDocument:
    """The run object with the acts of maintainers, its quarantined parts, and its rules' version."""
    return document.model_copy(
        update={
            "rules": run.rules,
            "overruled": overruling(session, "run", run.id, run.overruled),
            "acts": acts_on(session, "run", run.id),
            "held_back": _quarantined_parts(session, document) if run.state in OPEN_STATES else [],
        }
    )


def _with_stored_verdicts(session: Session, run: RunRow, document: RunDocument) -> RunDocument:
    """A run judged by older rules: its stored verdicts, with the present rules' verdict in `outdated`."""
    verdicts = {job.id: job.verdict for job in queries.jobs_of_run(session, run.id)}
    jobs = [job.model_copy(update={"verdict": verdicts[job.id] or job.verdict}) for job in document.jobs]
    outdated = OutdatedPart(rules=run.rules, present_rules=JUDGING_RULES, verdict=document.verdict)
    as_stored = document.model_copy(
        update={"verdict": run.verdict, "summary": run.summary, "jobs": jobs, "outdated": outdated}
    )
    return as_stored.model_copy(update={"answer": answer_of(as_stored)})


def _quarantined_parts(session: Session, document: RunDocument) -> list[QuarantinedPart]:
    """The quarantined scripts and toolchains that open jobs need."""
    waiting = [job for job in document.jobs if job.state in OPEN_STATES]
    return [
        QuarantinedPart(kind=row.kind, name=row.name, reason=row.reason)
        for row in quarantines.active(session)
        if (row.kind == "script" and any(job.script == row.name for job in waiting))
        or (row.kind == "toolchain" and any(builds_on(job.target.toolchain, row.name) for job in waiting))
    ]


def judge_stored(session: Session, run: RunRow) -> JudgedRun:
    """Judge a run by the present rules, from its stored attempts."""
    report = report_of_run(session, run)
    jobs = queries.jobs_of_run(session, run.id)
    attempts = queries.attempts_of_run(session, run.id)
    facts = job_facts(jobs, attempts, results_by_attempt(session, attempts))
    return judge_within_limits(run_facts(run, report), reading_of(session, report), facts)
