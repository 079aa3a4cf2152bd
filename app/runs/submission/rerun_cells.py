"""Run cells of a run again, add one, or stop one. The run stays the same: it is open again until they are judged, and keeps what it had."""

from __future__ import annotations

from collections.abc import Sequence

import structlog
from sqlalchemy.orm import Session

from app.clock import now
from app.errors import ConflictError, NotFoundError
from app.ids import is_id, new_id
from app.judging.verdict.repeats import next_attempts
from app.judging.verdict.rerunnable import Which, is_wanted
from app.runs.lifecycle.finish import reopen_job, reopen_run
from app.runs.lifecycle.report_verdict import store_report_verdict
from app.runs.lifecycle.settle import finish_if_done
from app.runs.rows.attempts import new_attempts
from app.runs.rows.by_id import get_run, withdrawn_error
from app.runs.rows.events import emit
from app.runs.rows.facts import document_of, reading_of, repeat_plan_of, report_of_run
from app.runs.rows.nodes import fleet as known_fleet
from app.runs.rows.nodes import whole_fleet
from app.runs.rows.quarantined_parts import as_held, held_back
from app.runs.run_object.document import RunDocument
from app.runs.run_object.storable import json_digest
from app.runs.submission.launch import Wish, first_attempts, job_row, launch_reading, plan_of
from app.runs.submission.submit import answered_before
from app.settings import ServiceSettings
from app.states import HELD_ATTEMPT_STATES, OPEN_STATES, UNSTARTED_ATTEMPT_STATES
from app.storage.models import AttemptRow, JobRow, RunRow
from app.storage.outbox import outbox
from app.storage.queries import changes
from app.storage.queries import runs as queries
from app.targets.planning.cell_limit import too_many
from app.targets.planning.plan import Cell, Plan, plan_cell, runnable
from app.targets.planning.presets import BISECTION
from app.targets.target import Target, target_of
from worker.contract import AttemptKind

log = structlog.get_logger(__name__)
NONE_LEFT = {
    Which.FAILED: "No cell of this run has failed: each was recorded and served by a node.",
    Which.UNDECIDED: "Each cell of this run is decided, or is being decided.",
}


def rerun(
    session: Session,
    run_id: str,
    which: Which,
    *,
    settings: ServiceSettings,
    who: str | None = None,
    idempotency_key: str | None = None,
) -> RunDocument:
    """Run cells again: all of them as a new run of the same report, those that failed or decided nothing within the run itself.

    Raises NotFoundError, ConflictError where there is nothing to run again. What was recorded stays, and counts no more in these cells.
    """
    if which is Which.ALL:
        return _anew(session, run_id, settings=settings, idempotency_key=idempotency_key)
    run = _own_run(session, run_id)
    jobs = queries.jobs_of_run(session, run_id, lock=True)
    attempts = queries.attempts_of_run(session, run_id, lock=True)
    shown = {job.id: job for job in document_of(session, run).jobs}
    chosen = [
        job
        for job in jobs
        if is_wanted(which, state=job.state, verdict=job.verdict, reason=shown[job.id].reason)
    ]
    if not chosen:
        raise ConflictError(NONE_LEFT[which], code="nothing_to_run_again")
    cells = _planned(session, run, chosen, settings=settings)
    served = [(job, cell) for job, cell in zip(chosen, cells, strict=True) if cell.reason is None]
    if not served:
        details = dict.fromkeys(cell.reason.detail for cell in cells if cell.reason is not None)
        raise ConflictError(
            f"No node serves any of these cells now. {' '.join(details)}", code="still_not_served"
        )
    reopen_run(session, run, who=who)
    for job, cell in served:
        _start_over(session, run, job, cell, attempts=[row for row in attempts if row.job_id == job.id])
    changes.delete_of_jobs(session, {job.id for job, _cell in served})
    store_report_verdict(session, run.report_id)
    outbox(session).wake_dispatcher()
    session.flush()
    log.info("cells_run_again", run_id=run_id, jobs=len(served))
    return document_of(session, run)


def add_cells(
    session: Session,
    run_id: str,
    targets: Sequence[Target],
    *,
    settings: ServiceSettings,
    who: str | None = None,
) -> RunDocument:
    """Add targets to a run, for each of its scripts. Raises NotFoundError, InputError, ConflictError where all of them are there."""
    run = _own_run(session, run_id)
    reading = reading_of(session, report_of_run(session, run))
    if reading.ask:
        raise ConflictError(
            "This report lacks something, so nothing can be run: see `ask`.", code="needs_info"
        )
    jobs = queries.jobs_of_run(session, run_id, lock=True)
    fleet = known_fleet(session, settings=settings)
    made = plan_of(session, reading, Wish(targets=tuple(targets)), fleet=fleet, settings=settings)
    there = {(job.script_digest, target_of(job).label()) for job in jobs}
    cells = [cell for cell in made.cells if (cell.script, cell.target.label()) not in there]
    if not cells:
        raise ConflictError(
            "This run has this cell already; to run it again: POST /runs/{id}/rerun.", code="cell_exists"
        )
    if len(jobs) + len(cells) > settings.cells:
        whole = [*(target_of(job) for job in jobs), *(cell.target for cell in cells)]
        raise too_many(whole, scripts=len(runnable(reading)), most=settings.cells, preset=None)
    reopen_run(session, run, who=who)
    repeats = repeat_plan_of(run)
    start = max((job.position for job in jobs), default=-1) + 1
    for position, cell in enumerate(cells, start):
        job = job_row(run, cell, position=position)
        session.add(job)
        session.flush()
        first_attempts(session, job, cell, reading=reading, repeats=repeats, fleet=fleet, settings=settings)
        emit(session, run, "job.added", job=job.id)
    outbox(session).wake_dispatcher()
    store_report_verdict(session, run.report_id)
    finish_if_done(session, run)
    session.flush()
    return document_of(session, run)


def cancel_cell(session: Session, run_id: str, job_id: str, *, who: str | None = None) -> RunDocument:
    """Stop one cell; the others go on. Raises NotFoundError, ConflictError when it is judged. Stopping it twice is harmless."""
    run = _own_run(session, run_id)
    job = queries.lock_job(session, job_id) if is_id(job_id) else None
    if job is None or job.run_id != run.id:
        raise NotFoundError("This run has no cell with this id.")
    if job.state == "judged":
        raise ConflictError("This cell is judged already.", code="cell_judged")
    if job.state in OPEN_STATES:
        for attempt in queries.attempts_of_job(session, job.id):
            _stop(session, attempt)
            if attempt.state == "cancelled":
                emit(session, run, "attempt.cancelled", job=job.id, attempt=attempt.id)
        job.state = "cancelled"
        emit(session, run, "job.cancelled", job=job.id, **_by(who))
        session.flush()
        _end_if_all_stopped(session, run)
        finish_if_done(session, run)
        outbox(session).wake_dispatcher()
    session.flush()
    return document_of(session, run)


def _stop(session: Session, attempt: AttemptRow) -> None:
    """As when a run is stopped: what waits at once, what runs by a flag that its node reads."""
    if attempt.state in HELD_ATTEMPT_STATES and attempt.node is not None:
        outbox(session).flag_cancelled(attempt.node, attempt.id)
    if attempt.state in UNSTARTED_ATTEMPT_STATES:
        attempt.state = "cancelled"
        attempt.lease_until = None


def _end_if_all_stopped(session: Session, run: RunRow) -> None:
    """A run of which every cell was stopped was stopped."""
    if all(job.state == "cancelled" for job in queries.jobs_of_run(session, run.id)):
        run.state = "cancelled"
        run.finished_at = now()
        emit(session, run, "run.cancelled")


def _own_run(session: Session, run_id: str) -> RunRow:
    """The run, locked; one that others brought is theirs, as it was, and a bisection chooses its cells itself."""
    run = get_run(session, run_id, lock=True)
    if run.contributed_by is not None:
        raise ConflictError(
            "This run was contributed from elsewhere and stays as it is; run its report again.",
            code="contributed_run",
        )
    _refuse_bisection(run)
    if run.is_withdrawn:
        raise withdrawn_error()
    return run


def _refuse_bisection(run: RunRow) -> None:
    if run.preset == BISECTION and run.contributed_by is None:
        raise ConflictError(
            "This run is a bisection, which chooses its cells itself: ask its report for another one.",
            code="bisection",
        )


def _by(who: str | None) -> dict[str, str]:
    return {} if who is None else {"token": who}


def _planned(
    session: Session, run: RunRow, jobs: Sequence[JobRow], *, settings: ServiceSettings
) -> list[Cell]:
    """The cells of these jobs as the fleet is now: one that nobody served may be served by now."""
    scripts = runnable(reading_of(session, report_of_run(session, run)))
    fleet = known_fleet(session, settings=settings)
    targets = [(scripts[job.script_digest], target_of(job)) for job in jobs]
    cells = [
        plan_cell(script, target, fleet, required_level=settings.required_level, explicit=False)
        for script, target in targets
    ]
    held = held_back(session)
    if not held:
        return cells
    whole = whole_fleet(session, settings=settings)
    made = Plan(tuple(cells), repeat_plan_of(run))
    return list(as_held(made, held, whole_fleet=whole, required_level=settings.required_level).cells)


def _start_over(
    session: Session, run: RunRow, job: JobRow, cell: Cell, *, attempts: Sequence[AttemptRow]
) -> None:
    """A new generation of a job: what came before is kept, and counts no more. An attempt that still runs is nobody's."""
    for attempt in attempts:
        _stop(session, attempt)
        if attempt.state == "running":
            attempt.state, attempt.lease_until = "cancelled", None
        attempt.counted = False
    job.generation += 1
    job.target = cell.target.model_dump(mode="json")
    reopen_job(job)
    job.reason, job.node, job.environment_digest = None, None, None
    reading = reading_of(session, report_of_run(session, run))
    repeats = repeat_plan_of(run)
    count = next_attempts(reading.claim, reading.script_of(job.script_digest), cell.target, (), repeats)
    new_attempts(session, job, count=max(1, count), kind=AttemptKind.REPEAT)
    emit(session, run, "job.restarted", job=job.id)


def _anew(
    session: Session, run_id: str, *, settings: ServiceSettings, idempotency_key: str | None
) -> RunDocument:
    """A new run of the same report on the same cells, as many times."""
    run = get_run(session, run_id)
    _refuse_bisection(run)
    fresh = new_id()
    answered = answered_before(
        session, idempotency_key, body_digest=json_digest({"rerun": run_id}), run_id=fresh
    )
    if answered is not None:
        return answered
    report = report_of_run(session, run)
    reading = reading_of(session, report)
    cells = tuple((job.script_digest, target_of(job)) for job in queries.jobs_of_run(session, run_id))
    if not cells:
        raise ConflictError("This run has no cells that could be run again.", code="nothing_to_run_again")
    wish = Wish(preset=run.preset, cells=cells, plan=repeat_plan_of(run))
    fleet = known_fleet(session, settings=settings)
    return launch_reading(session, report, reading, wish, run_id=fresh, fleet=fleet, settings=settings)
