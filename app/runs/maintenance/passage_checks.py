"""Opens a finished run again for the passage checks that its corrected claim needs."""

from __future__ import annotations

import structlog
from sqlalchemy.orm import Session

from app.intake.reading import Reading
from app.judging.judgement import Verdict
from app.runs.lifecycle.finish import reopen_job, reopen_run
from app.runs.lifecycle.report_verdict import store_report_verdict
from app.runs.rows.attempts import new_attempts
from app.runs.rows.facts import reading_of, repeat_plan_of, report_of_run, results_by_attempt
from app.runs.rows.judging_limits import needed_within_limits
from app.runs.rows.nodes import fleet as known_fleet
from app.runs.submission.plan_run import plan_same_cells
from app.settings import ServiceSettings
from app.storage.models import JobRow, RunRow
from app.storage.outbox import outbox
from app.storage.queries import changes
from app.storage.queries import runs as queries
from app.targets.planning.presets import BISECTION
from app.targets.target import target_of
from worker.contract import AttemptKind

log = structlog.get_logger(__name__)


def check_passages(session: Session, run: RunRow, *, settings: ServiceSettings) -> None:
    """Queue a passage check for each cell whose "no" lacks one, if a node serves it.

    The run must be locked, finished and judged by the present claim.
    """
    if run.contributed_by is not None or run.is_withdrawn or run.preset == BISECTION:
        return
    reading = reading_of(session, report_of_run(session, run))
    jobs = [
        job
        for job in queries.jobs_of_run(session, run.id, lock=True)
        if job.state == "judged"
        and job.verdict is Verdict.CANNOT_SHOW
        and job.reason is None
        and not job.is_contrast
    ]
    lacking = [job for job in jobs if _lacks_check(session, run, job, reading)]
    if not lacking:
        return
    plan = plan_same_cells(
        session,
        reading,
        [(job.script_digest, target_of(job)) for job in lacking],
        repeats=repeat_plan_of(run),
        preset=run.preset,
        fleet=known_fleet(session, settings=settings),
        settings=settings,
    )
    served = [job for job, cell in zip(lacking, plan.cells, strict=True) if cell.reason is None]
    if not served:
        return
    reopen_run(session, run)
    for job in served:
        reopen_job(job)
        job.node = None
        new_attempts(session, job, count=1, kind=AttemptKind.PASSAGE)
    changes.delete_of_jobs(session, {job.id for job in served})
    store_report_verdict(session, run.report_id)
    outbox(session).wake_dispatcher()
    session.flush()
    log.info("passages_checked", run_id=run.id, jobs=len(served))


def _lacks_check(session: Session, run: RunRow, job: JobRow, reading: Reading) -> bool:
    """Whether the counted attempts of a job alone would give a "no". Earlier checks were of other lines."""
    attempts = [
        row
        for row in queries.attempts_of_job(session, job.id)
        if row.generation == job.generation and row.counted and row.state == "recorded"
    ]
    results = results_by_attempt(session, attempts)
    return needed_within_limits(
        reading.claim,
        reading.script_of(job.script_digest),
        target_of(job),
        [results[row.id] for row in attempts],
        repeat_plan_of(run),
    ).passage
