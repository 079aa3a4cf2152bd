"""Looks for a contrast with one cell more, after a run has ended `reproduced` without one.

The run has its verdict by then and stays finished. The cell comes after the work of all others, and decides
nothing but the contrast.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence

import structlog
from sqlalchemy.orm import Session

from app.ids import new_id
from app.intake.reading import Reading, ScriptRole
from app.judging.check.reach import OTHER_VERSION
from app.judging.judgement import Verdict
from app.judging.verdict.attempts_needed import contrast_plan, most_attempts
from app.judging.verdict.contrast import ContrastKind, claim_in_contrast
from app.judging.versions import JUDGING_RULES
from app.runs.lifecycle.comparisons import store_comparisons
from app.runs.lifecycle.find_changes import find_changes
from app.runs.lifecycle.report_verdict import store_report_verdict
from app.runs.rows.attempts import cancel_attempt, new_attempts
from app.runs.rows.events import emit
from app.runs.rows.facts import judge_stored, reading_of, repeat_plan_of, report_of_run
from app.runs.rows.nodes import fleet as known_fleet
from app.runs.rows.search_index import index_run
from app.runs.run_object.document import JobPart, RunDocument
from app.settings import ServiceSettings
from app.states import OPEN_STATES
from app.storage.models import JobRow, RunRow
from app.storage.outbox import outbox
from app.storage.queries import runs as queries
from app.targets.planning.contrast_cell import Sighting, contrast_cell
from app.targets.target import target_of

log = structlog.get_logger(__name__)


def look_for_contrast(
    session: Session, run: RunRow, document: RunDocument, *, settings: ServiceSettings
) -> None:
    """Add a cell to a run that has just ended, if it lacks a contrast and a cheap target may give one.

    The run must be locked. It is done once: a rerun of some cells adds no second one.
    """
    if not _is_wanted(run, document, settings=settings):
        return
    jobs = queries.jobs_of_run(session, run.id)
    report = report_of_run(session, run)
    reading = reading_of(session, report)
    seen = _sighting_of(reading, jobs)
    if seen is None or any(job.is_contrast for job in jobs) or len(jobs) >= settings.cells:
        return
    parts = {part.id: part for part in document.jobs}
    if not _is_cheap(run, reading, parts[seen.id], settings=settings):
        return
    sighting = Sighting(
        claim=reading.claim,
        script=reading.script_of(seen.script_digest),
        seen=target_of(seen),
        ran=tuple(
            target_of(job)
            for job in jobs
            if job.script_digest == seen.script_digest and not _is_of_other_version(parts[job.id])
        ),
    )
    nodes = known_fleet(session, settings=settings)
    cell = contrast_cell(sighting, report.text, fleet=nodes, required_level=settings.required_level)
    if cell is None:
        return
    row = JobRow(
        id=new_id(),
        run_id=run.id,
        position=1 + max(job.position for job in jobs),
        script_digest=cell.script,
        target=cell.target.model_dump(mode="json"),
        state="queued",
        is_contrast=True,
        generation=1,
    )
    session.add(row)
    session.flush()
    new_attempts(session, row, count=1)
    emit(session, run, "contrast.changed", job=row.id)
    outbox(session).wake_dispatcher()
    log.info("contrast_added", run_id=run.id, job_id=row.id)


def _is_wanted(run: RunRow, document: RunDocument, *, settings: ServiceSettings) -> bool:
    """Whether the run lacks a contrast, and may get a cell for it by what was fixed before it began."""
    contrast = document.contrast
    return (
        settings.contrast_seconds > 0
        and run.state == "finished"
        and bool((run.plan_record or {}).get("contrast"))
        and document.verdict is Verdict.REPRODUCED
        and contrast is not None
        and contrast.kind is ContrastKind.NONE
    )


def _sighting_of(reading: Reading, jobs: Sequence[JobRow]) -> JobRow | None:
    """The plainest cell in which the main script shows the claim."""
    seen = [
        job
        for job in jobs
        if job.verdict is Verdict.REPRODUCED and reading.script_of(job.script_digest).role is ScriptRole.MAIN
    ]
    return min(seen, key=lambda job: (len(target_of(job).settings), job.position), default=None)


def _is_of_other_version(part: JobPart) -> bool:
    """Whether a "no" of the cell says nothing, since the report limits the bug to other versions.

    For a contrast it is the best place: the report itself calls it free of the bug.
    """
    return part.reason is not None and part.reason.code == OTHER_VERSION.code


def _is_cheap(run: RunRow, reading: Reading, seen: JobPart, *, settings: ServiceSettings) -> bool:
    """Whether a few attempts are enough for a "no", and take no longer than they may."""
    plan = contrast_plan(repeat_plan_of(run))
    claim = claim_in_contrast(reading.claim)
    if most_attempts(claim, reading.script_of(seen.script), plan) > plan.at_most:
        return False
    seconds = [one.wall_seconds for one in seen.attempts if one.counted and one.wall_seconds is not None]
    return bool(seconds) and statistics.median(seconds) * plan.at_most <= settings.contrast_seconds


def store_contrast(session: Session, run: RunRow) -> None:
    """Store what follows from the cell that looks for a contrast, which has ended. The run must be locked.

    The verdict of the run stays as it is.
    """
    judged = judge_stored(session, run)
    verdicts = {part.id: part.verdict for part in judged.document.jobs}
    for job in queries.jobs_of_run(session, run.id):
        if job.is_contrast and job.state == "judged":
            job.verdict, job.rules = verdicts[job.id], JUDGING_RULES
    session.flush()
    store_comparisons(session, judged.comparisons)
    find_changes(session, run, judged)
    # By newer rules than those of the run its own cells may be judged otherwise. That is for a judge-again.
    store_report_verdict(session, run.report_id, judged if run.rules == JUDGING_RULES else None)
    emit(session, run, "contrast.changed")
    index_run(session, report_of_run(session, run), judged.document)
    session.flush()


def stop_contrast(session: Session, run: RunRow) -> bool:
    """Stop the cell that looks for a contrast; whether there was one to stop. The run must be locked."""
    jobs = [
        job
        for job in queries.jobs_of_run(session, run.id, lock=True)
        if job.is_contrast and job.state in OPEN_STATES
    ]
    for job in jobs:
        for attempt in queries.attempts_of_job(session, job.id):
            cancel_attempt(session, attempt)
        job.state = "cancelled"
        emit(session, run, "contrast.changed", job=job.id)
    if jobs:
        outbox(session).wake_dispatcher()
        session.flush()
    return bool(jobs)
