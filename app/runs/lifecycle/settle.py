"""After each attempt that ended: run more, start the job again, or judge it; and finish the run with its last job."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy.orm import Session

from app.clock import now
from app.intake.reading import Reading, Script
from app.judging.verdict.job import judge_job
from app.judging.verdict.repeats import most_warm, next_attempts
from app.judging.versions import JUDGING_RULES
from app.runs.estimates.attempt_budget import attempts_wanted
from app.runs.lifecycle.bisection import drive
from app.runs.lifecycle.comparisons import keep_comparisons
from app.runs.lifecycle.find_changes import find_changes
from app.runs.lifecycle.report_verdict import keep_standing
from app.runs.rows.attempts import new_attempts, withdraw
from app.runs.rows.document_cache import cache_document
from app.runs.rows.events import emit
from app.runs.rows.facts import (
    as_told,
    judged_now,
    reading_of,
    repeat_plan_of,
    report_of_run,
    results_by_attempt,
)
from app.runs.rows.search_index import keep_cells
from app.settings import ServiceSettings
from app.states import OPEN_ATTEMPT_STATES, OPEN_STATES
from app.storage.models import AttemptRow, JobRow, RunRow
from app.storage.outbox import outbox
from app.storage.queries import runs as queries
from app.targets.planning.plan import RepeatPlan
from app.targets.planning.presets import BISECTION
from app.targets.target import target_of
from worker.contract import AttemptKind, Outcome, Result, Start


def restart_job(session: Session, run: RunRow, job: JobRow, *, attempts: Sequence[AttemptRow]) -> None:
    """Start a job again, on any node: what was recorded is kept and no longer counts, what was not goes on under the same id."""
    if any(attempt.state == "recorded" and attempt.generation == job.generation for attempt in attempts):
        job.generation += 1
        for attempt in attempts:
            if attempt.state in OPEN_ATTEMPT_STATES:
                attempt.generation = job.generation
            else:
                attempt.counted = False
        emit(session, run, "job.restarted", job=job.id)
    job.node = None
    job.environment_digest = None


def settle_job(session: Session, run: RunRow, job: JobRow, *, settings: ServiceSettings) -> None:
    """Decide what a job needs next. Run and job must be locked."""
    if run.state not in OPEN_STATES or job.state not in OPEN_STATES:
        return
    session.flush()
    if run.preset == BISECTION and drive(session, run, settings=settings):
        finish_if_done(session, run)
        return
    if run.repeats_exact and _goes_on_as_asked(session, run, job, settings=settings):
        return
    attempts = [row for row in queries.attempts_of_job(session, job.id) if row.generation == job.generation]
    results_by_id = results_by_attempt(session, attempts)
    results = [results_by_id[row.id] for row in attempts if row.state == "recorded" and row.counted]
    waiting = [row for row in attempts if row.state in OPEN_ATTEMPT_STATES]
    reading = reading_of(session, report_of_run(session, run))
    script = reading.script_of(job.script_digest)
    repeats = [row for row in attempts if row.kind is AttemptKind.REPEAT]
    wanted = _wanted(run, job, reading, script, attempts=repeats, results=results, settings=settings)
    coming = sum(row.kind is AttemptKind.REPEAT for row in waiting)
    for row in [row for row in waiting if row.state == "queued"]:
        # What is shown before the first result comes too late after it.
        if wanted == 0 or (results and row.kind is AttemptKind.PREVIEW):
            waiting.remove(row)
            withdraw(session, row)
    if wanted > coming:
        plan = repeat_plan_of(run)
        most = most_warm(reading.claim, script, target_of(job), results, plan)
        warm = min(wanted - coming, max(0, most - sum(row.start is Start.WARM for row in repeats)))
        new_attempts(session, job, count=wanted - coming - warm)
        new_attempts(session, job, count=warm, start=Start.WARM)
        outbox(session).wake_dispatcher()
        return
    if waiting:
        return
    job.state = "judged"
    plan = repeat_plan_of(run)
    job.verdict = judge_job(reading.claim, script, target_of(job), results, plan=plan).verdict
    job.rules = JUDGING_RULES
    emit(session, run, "job.judged", job=job.id)
    finish_if_done(session, run)


def _goes_on_as_asked(session: Session, run: RunRow, job: JobRow, *, settings: ServiceSettings) -> bool:
    """Whether an exact number of repeats was asked for and enough of it waits: then nothing need be read or judged yet."""
    tallies = queries.tally_of_job(session, job.id, generation=job.generation)
    if any(tally.kind is AttemptKind.PREVIEW and tally.state == "queued" for tally in tallies):
        return False
    repeats = [tally for tally in tallies if tally.kind is AttemptKind.REPEAT]
    evidence = sum(
        tally.number
        for tally in repeats
        if tally.state == "recorded" and tally.counted and tally.outcome and tally.outcome.is_evidence
    )
    wanted = attempts_wanted(
        max(0, run.repeats_at_most - evidence),
        plan=RepeatPlan(at_most=run.repeats_at_most, exact=True),
        ended=sum(tally.number for tally in repeats if tally.state not in OPEN_ATTEMPT_STATES),
        useless=sum(
            tally.number
            for tally in repeats
            if tally.state == "lost" or tally.outcome is Outcome.SETUP_FAILED
        ),
        leases=settings.leases,
    )
    return 0 < wanted <= sum(tally.number for tally in repeats if tally.state in OPEN_ATTEMPT_STATES)


def _wanted(
    run: RunRow,
    job: JobRow,
    reading: Reading,
    script: Script,
    *,
    attempts: Sequence[AttemptRow],
    results: Sequence[Result],
    settings: ServiceSettings,
) -> int:
    """How many attempts should be waiting now."""
    plan = repeat_plan_of(run)
    return attempts_wanted(
        next_attempts(reading.claim, script, target_of(job), results, plan),
        plan=plan,
        ended=sum(row.state not in OPEN_ATTEMPT_STATES for row in attempts),
        useless=sum(row.state == "lost" or row.outcome is Outcome.SETUP_FAILED for row in attempts),
        leases=settings.leases,
    )


def withdraw_preview(
    session: Session, run: RunRow, job: JobRow, attempt: AttemptRow, *, settings: ServiceSettings
) -> None:
    """There is no preview after all: it is as if none had been asked for. Run, job and attempt must be locked."""
    emit(session, run, "attempt.withdrawn", job=job.id, attempt=attempt.id)
    session.delete(attempt)
    settle_job(session, run, job, settings=settings)


def finish_if_done(session: Session, run: RunRow) -> None:
    """Finish a run whose jobs are all judged. Its row must be locked."""
    session.flush()
    if run.state not in OPEN_STATES or queries.has_open_jobs(session, run.id):
        return
    end_run(session, run, moment=now())


def end_run(session: Session, run: RunRow, *, moment: datetime) -> None:
    """End a run whose jobs are all judged, with everything that follows from what it showed. Its row must be locked."""
    run.state = "finished"
    run.finished_at = moment
    document = judged_now(session, run)
    run.verdict, run.rules = document.verdict, JUDGING_RULES
    run.summary = document.summary
    keep_comparisons(session, document.comparisons)
    keep_standing(session, run.report_id)
    find_changes(session, run)
    emit(session, run, "run.finished")
    keep_cells(session, report_of_run(session, run), document)
    session.flush()
    # Last: what comes to an end later than that would make it stale.
    cache_document(session, run, as_told(session, run, document))
