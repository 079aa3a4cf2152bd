"""Decides after each attempt how its job goes on: run more attempts, wait, or judge it.

The last job ends the run.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy.orm import Session

from app.clock import now
from app.ids import new_id
from app.intake.reading import Reading
from app.judging.cause.cures import CURES, is_plain_cell, settings_without_cures
from app.judging.verdict.passage import MOST_CHECKS, lost_passage
from app.judging.versions import JUDGING_RULES
from app.runs.estimates.attempt_budget import attempts_required
from app.runs.estimates.automatic_traces import automatic_traces
from app.runs.lifecycle.bisection import continue_bisection
from app.runs.lifecycle.extra.contrast import look_for_contrast, store_contrast
from app.runs.lifecycle.finish import end_run
from app.runs.rows.attempts import new_attempts, remove_attempt, takes_attempts
from app.runs.rows.events import emit
from app.runs.rows.facts import (
    claim_of_job,
    job_facts,
    reading_of,
    repeat_plan_of,
    repeat_plan_of_job,
    report_of_run,
    results_by_attempt,
)
from app.runs.rows.judging_limits import judge_job_within_limits, needed_within_limits
from app.runs.rows.presets import known_presets
from app.settings import ServiceSettings
from app.states import OPEN_ATTEMPT_STATES, OPEN_STATES
from app.storage.models import AttemptRow, JobRow, RunRow
from app.storage.outbox import outbox
from app.storage.queries import runs as queries
from app.targets.planning.plan import RepeatPlan
from app.targets.planning.presets import BISECTION
from app.targets.target import Target, target_of
from worker.contract import AttemptKind, Outcome, Result, Start


@dataclass(frozen=True, slots=True)
class RunMore:
    """Queue more attempts."""

    cold: int = 0
    warm: int = 0
    # One attempt that observes the passage.
    passage: bool = False


@dataclass(frozen=True, slots=True)
class Wait:
    """Enough attempts are queued or running."""


@dataclass(frozen=True, slots=True)
class Judge:
    """All attempts have ended and no more are needed."""


@dataclass(frozen=True, slots=True)
class Decision:
    """The next step of a job, and the queued attempts that it no longer needs."""

    step: RunMore | Wait | Judge
    unneeded: tuple[AttemptRow, ...] = ()


def restart_job(session: Session, run: RunRow, job: JobRow, *, attempts: Sequence[AttemptRow]) -> None:
    """Start a job again, on any node.

    Recorded attempts stay and no longer count; waiting attempts keep their ids.
    """
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
    """Decide and do the next step of a job. Run and job must be locked."""
    if not takes_attempts(run, job):
        return
    session.flush()
    if run.preset == BISECTION and continue_bisection(session, run, settings=settings):
        finish_if_done(session, run)
        return
    if run.repeats_exact and _enough_is_waiting(session, run, job, settings=settings):
        return
    attempts = [row for row in queries.attempts_of_job(session, job.id) if row.generation == job.generation]
    results_by_id = results_by_attempt(session, attempts)
    results = [
        results_by_id[row.id]
        for row in attempts
        if row.state == "recorded" and (row.counted or row.kind is AttemptKind.PASSAGE)
    ]
    results += [
        lost_passage(row.id) for row in attempts if row.kind is AttemptKind.PASSAGE and row.state == "lost"
    ]
    reading = reading_of(session, report_of_run(session, run))
    decision = decide(
        reading,
        job,
        attempts,
        results,
        plan=repeat_plan_of_job(run, job),
        leases=settings.leases,
        plain=_plain_results(session, job),
        warm=settings.warm_repeats,
    )
    if run.preset == BISECTION and decision.step == RunMore(passage=True):
        decision = Decision(Judge(), decision.unneeded)
    for row in decision.unneeded:
        remove_attempt(session, row)
    match decision.step:
        case RunMore(cold=cold, warm=warm, passage=passage):
            new_attempts(session, job, count=cold)
            new_attempts(session, job, count=warm, start=Start.WARM)
            new_attempts(session, job, count=int(passage), kind=AttemptKind.PASSAGE)
            outbox(session).wake_dispatcher()
        case Judge():
            _judge(session, run, job, reading, results, settings=settings)
        case Wait():
            pass


def _plain_results(session: Session, job: JobRow) -> list[Result] | None:
    """The counted results of the cell that this one tests for a cause; None before it has ended."""
    target = target_of(job)
    if not CURES.intersection(target.settings):
        return None
    for other in queries.ended_cells(session, job, settings_without_cures(target)):
        if is_plain_cell(target_of(other), target):
            attempts = [row for row in queries.attempts_of_job(session, other.id) if row.counted]
            return list(results_by_attempt(session, attempts).values())
    return None


def _tests_of(session: Session, job: JobRow) -> list[JobRow]:
    """The open cells that test this one for a cause. It has ended, so they may need fewer attempts."""
    target = target_of(job)
    # A cell that fixes a source itself is the plain one of none.
    if CURES.intersection(target.settings):
        return []
    tests = queries.open_cells(session, job, names=CURES)
    return [test for test in tests if is_plain_cell(target, target_of(test))]


def decide(
    reading: Reading,
    job: JobRow,
    attempts: Sequence[AttemptRow],
    results: Sequence[Result],
    *,
    plan: RepeatPlan,
    leases: int,
    plain: Sequence[Result] | None = None,
    warm: bool = True,
) -> Decision:
    """Decide how a job continues. `attempts` are those of its generation.

    `results` are the counted ones, and those of passage checks. `plain` are the results of the ended cell
    that this one tests for a cause. Without `warm`, all repeats start cold.

    Pure: changes nothing.
    """
    script, target = reading.script_of(job.script_digest), _target_to_count(job)
    repeats = [row for row in attempts if row.kind is AttemptKind.REPEAT]
    waiting = [row for row in attempts if row.state in OPEN_ATTEMPT_STATES]
    waiting_repeats = sum(row.state in OPEN_ATTEMPT_STATES for row in repeats)
    needed = needed_within_limits(claim_of_job(reading, job), script, target, results, plan, plain=plain)
    required = attempts_required(
        needed.attempts,
        plan=plan,
        ended_attempts=len(repeats) - waiting_repeats,
        useless=sum(row.state == "lost" or row.outcome is Outcome.SETUP_FAILED for row in repeats),
        leases=leases,
        grown=needed.most,
    )
    # A preview is useless once a counted result is in.
    unneeded = tuple(
        row
        for row in waiting
        if row.state == "queued"
        and row.kind is not AttemptKind.PASSAGE
        and (required == 0 or (results and row.kind is AttemptKind.PREVIEW))
    )
    missing = required - waiting_repeats
    if missing > 0:
        most_warm = needed.most_warm - sum(row.start is Start.WARM for row in repeats) if warm else 0
        number_warm = min(missing, max(0, most_warm))
        return Decision(RunMore(cold=missing - number_warm, warm=number_warm), unneeded)
    if len(unneeded) < len(waiting):
        return Decision(Wait(), unneeded)
    tried = sum(row.kind is AttemptKind.PASSAGE for row in attempts)
    return Decision(RunMore(passage=True) if needed.passage and tried < MOST_CHECKS else Judge(), unneeded)


def _target_to_count(job: JobRow) -> Target:
    """The target that tells how many attempts a job needs.

    Elsewhere one attempt of an uncompiled script shows how a number is computed. A contrast needs a "no".
    """
    target = target_of(job)
    if not job.is_contrast:
        return target
    settings = {name: value for name, value in target.settings.items() if name != "compile"}
    return target.model_copy(update={"settings": settings})


def _judge(
    session: Session,
    run: RunRow,
    job: JobRow,
    reading: Reading,
    results: Sequence[Result],
    *,
    settings: ServiceSettings,
) -> None:
    """Judge a job. The last job is judged with its run, so that it is judged once."""
    job.state = "judged"
    emit(session, run, "job.judged", job=job.id)
    session.flush()
    if run.state == "finished":
        store_contrast(session, run)
        return
    is_over = not queries.has_open_jobs(session, run.id)
    if is_over and not _trace_numbers(session, run, reading, settings=settings):
        document = end_run(session, run, moment=now())
        look_for_contrast(session, run, document, settings=settings)
        return
    script, target = reading.script_of(job.script_digest), target_of(job)
    job.verdict = judge_job_within_limits(
        claim_of_job(reading, job), script, target, results, plan=repeat_plan_of_job(run, job)
    ).verdict
    job.rules = JUDGING_RULES
    for test in _tests_of(session, job):
        settle_job(session, run, test, settings=settings)


def _trace_numbers(session: Session, run: RunRow, reading: Reading, *, settings: ServiceSettings) -> bool:
    """Add cells with `trace=on` if the results put numbers in question; whether any were added."""
    if run.trigger != "submitted" or run.preset is None or run.preset == BISECTION:
        return False
    jobs, attempts = queries.jobs_of_run(session, run.id), queries.attempts_of_run(session, run.id)
    cells = automatic_traces(
        reading,
        job_facts(jobs, attempts, results_by_attempt(session, attempts)),
        preset=known_presets(settings).get(run.preset),
        repeats=repeat_plan_of(run),
        budget_seconds=settings.explain_seconds,
        wall_seconds=settings.wall_seconds,
    )[: max(0, settings.cells - len(jobs))]
    for position, (script, target) in enumerate(cells, 1 + max(job.position for job in jobs)):
        job = JobRow(
            id=new_id(),
            run_id=run.id,
            position=position,
            script_digest=script,
            target=target.model_dump(mode="json"),
            state="queued",
            generation=1,
        )
        session.add(job)
        session.flush()
        new_attempts(session, job, count=1)
        emit(session, run, "job.added", job=job.id)
    if cells:
        outbox(session).wake_dispatcher()
    return bool(cells)


def _enough_is_waiting(session: Session, run: RunRow, job: JobRow, *, settings: ServiceSettings) -> bool:
    """Whether the exact number of repeats is already queued or running, told from counts alone.

    A job may have hundreds of exact repeats. Reading all their results after each of them would take
    quadratic time.
    """
    plan = repeat_plan_of_job(run, job)
    tallies = queries.tally_of_job(session, job.id, generation=job.generation)
    if any(tally.kind is AttemptKind.PREVIEW and tally.state == "queued" for tally in tallies):
        return False
    repeats = [tally for tally in tallies if tally.kind is AttemptKind.REPEAT]
    evidence = sum(
        tally.number
        for tally in repeats
        if tally.state == "recorded" and tally.counted and tally.outcome and tally.outcome.is_evidence
    )
    waiting = sum(tally.number for tally in repeats if tally.state in OPEN_ATTEMPT_STATES)
    useless = sum(
        tally.number for tally in repeats if tally.state == "lost" or tally.outcome is Outcome.SETUP_FAILED
    )
    required = attempts_required(
        max(0, plan.at_most - evidence),
        plan=plan,
        ended_attempts=sum(tally.number for tally in repeats) - waiting,
        useless=useless,
        leases=settings.leases,
    )
    return 0 < required <= waiting


def remove_preview(
    session: Session, run: RunRow, job: JobRow, attempt: AttemptRow, *, settings: ServiceSettings
) -> None:
    """Delete a preview that did not start, as if it had never been queued.

    Run, job and attempt must be locked.
    """
    emit(session, run, "attempt.withdrawn", job=job.id, attempt=attempt.id)
    session.delete(attempt)
    settle_job(session, run, job, settings=settings)


def finish_if_done(session: Session, run: RunRow) -> None:
    """End a run if all its jobs have ended. The run must be locked."""
    session.flush()
    if run.state not in OPEN_STATES or queries.has_open_jobs(session, run.id):
        return
    end_run(session, run, moment=now())
