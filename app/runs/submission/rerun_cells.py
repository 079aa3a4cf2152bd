"""Rerun cells of a run, add a cell to it, or cancel one.

The run keeps its id and its other cells. It is open again until the changed cells are judged.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import structlog
from sqlalchemy.orm import Session

from app.clock import now
from app.errors import ConflictError, NotFoundError
from app.ids import is_id, new_id
from app.judging.verdict.attempts_needed import next_attempts
from app.judging.verdict.rerunnable import Which, is_rerunnable
from app.runs.lifecycle.cancel import cancel_run
from app.runs.lifecycle.extra.contrast import stop_contrast
from app.runs.lifecycle.finish import reopen_job, reopen_run
from app.runs.lifecycle.report_verdict import store_report_verdict
from app.runs.lifecycle.settle import finish_if_done
from app.runs.rows.attempts import cancel_attempt, new_attempts
from app.runs.rows.by_id import get_run, get_runnable_report, withdrawn_error
from app.runs.rows.events import emit
from app.runs.rows.facts import document_of, reading_of, repeat_plan_of, report_of_run
from app.runs.rows.nodes import fleet as known_fleet
from app.runs.run_object.document import RunDocument
from app.runs.run_object.storable import json_digest
from app.runs.submission.idempotency import earlier_answer
from app.runs.submission.launch import first_attempts, job_row, launch_plan
from app.runs.submission.plan_run import plan_run, plan_same_cells
from app.settings import ServiceSettings
from app.states import OPEN_STATES
from app.storage.models import AttemptRow, JobRow, RunRow
from app.storage.new_rows import NewRows
from app.storage.outbox import outbox
from app.storage.queries import changes
from app.storage.queries import runs as queries
from app.targets.planning.cell_limit import too_many
from app.targets.planning.plan import Cell, runnable
from app.targets.planning.presets import BISECTION
from app.targets.planning.run_request import RunRequest
from app.targets.target import Target, target_of
from worker.contract import AttemptKind

log = structlog.get_logger(__name__)
NOTHING_TO_RERUN = {
    Which.FAILED: "No cell of this run has failed. A node has run each of them.",
    Which.UNDECIDED: "Each cell of this run has a verdict, or waits for it.",
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
    """Rerun cells: all of them as a new run of the report, failed or undecided ones within the same run.

    The earlier attempts of these cells are kept, but they no longer count.
    Raises NotFoundError, ConflictError if there is nothing to rerun.
    """
    if which is Which.ALL:
        return _as_new_run(session, run_id, settings=settings, who=who, idempotency_key=idempotency_key)
    earlier_run = _earlier_change(
        session, run_id, idempotency_key, {"rerun": run_id, "which": which}, who=who
    )
    if earlier_run is not None:
        return earlier_run
    run = _rerunnable_run(session, run_id)
    jobs = queries.jobs_of_run(session, run_id, lock=True)
    attempts = queries.attempts_of_run(session, run_id, lock=True)
    parts = {part.id: part for part in document_of(session, run).jobs}
    jobs_to_rerun = [
        job
        for job in jobs
        if not job.is_contrast
        and is_rerunnable(which, state=job.state, verdict=job.verdict, reason=parts[job.id].reason)
    ]
    if not jobs_to_rerun:
        raise ConflictError(NOTHING_TO_RERUN[which], code="nothing_to_run_again")
    cells = _plan_jobs(session, run, jobs_to_rerun, settings=settings)
    served = [(job, cell) for job, cell in zip(jobs_to_rerun, cells, strict=True) if cell.reason is None]
    if not served:
        details = dict.fromkeys(cell.reason.detail for cell in cells if cell.reason is not None)
        raise ConflictError(
            f"No node serves any of these cells now. {' '.join(details)}", code="still_not_served"
        )
    reopen_run(session, run, who=who)
    for job, cell in served:
        _restart(session, run, job, cell, attempts=[row for row in attempts if row.job_id == job.id])
    changes.delete_of_jobs(session, {job.id for job, _cell in served})
    store_report_verdict(session, run.report_id)
    outbox(session).wake_dispatcher()
    session.flush()
    log.info("cells_rerun", run_id=run_id, jobs=len(served))
    return document_of(session, run)


def add_cells(
    session: Session,
    run_id: str,
    targets: Sequence[Target],
    *,
    settings: ServiceSettings,
    who: str | None = None,
    idempotency_key: str | None = None,
) -> RunDocument:
    """Add targets to a run, for each of its scripts.

    Raises NotFoundError, InputError, ConflictError if the run has all these cells already.
    """
    added = {"add_to": run_id, "targets": [target.model_dump(mode="json") for target in targets]}
    earlier_run = _earlier_change(session, run_id, idempotency_key, added, who=who)
    if earlier_run is not None:
        return earlier_run
    run = _rerunnable_run(session, run_id)
    reading = reading_of(session, report_of_run(session, run))
    if reading.ask:
        raise ConflictError(
            "This report lacks something, so nothing can be run. The field `ask` says what to ask for.",
            code="needs_info",
        )
    jobs = queries.jobs_of_run(session, run_id, lock=True)
    fleet = known_fleet(session, settings=settings)
    request = RunRequest(targets=tuple(targets))
    plan = plan_run(session, reading, request, fleet=fleet, settings=settings)
    present = {(job.script_digest, target_of(job).label()) for job in jobs if not job.is_contrast}
    cells = [cell for cell in plan.cells if (cell.script, cell.target.label()) not in present]
    if not cells:
        raise ConflictError(
            "This run has this cell already. To rerun it, use POST /runs/{id}/rerun.", code="cell_exists"
        )
    if len(jobs) + len(cells) > settings.cells:
        all_targets = [*map(target_of, jobs), *(cell.target for cell in cells)]
        raise too_many(all_targets, scripts=len(runnable(reading)), most=settings.cells, preset=None)
    reopen_run(session, run, who=who)
    repeats = repeat_plan_of(run)
    start = max((job.position for job in jobs), default=-1) + 1
    new = NewRows()
    cells = _without_promoted(session, run, cells, jobs)
    for position, cell in enumerate(cells, start):
        job = job_row(run, cell, position=position)
        attempts = first_attempts(
            session, job, cell, reading=reading, repeats=repeats, fleet=fleet, settings=settings
        )
        new.add(job, *attempts)
        emit(session, run, "job.added", job=job.id)
    new.write(session)
    outbox(session).wake_dispatcher()
    store_report_verdict(session, run.report_id)
    finish_if_done(session, run)
    session.flush()
    return document_of(session, run)


def _without_promoted(
    session: Session, run: RunRow, cells: Sequence[Cell], jobs: Sequence[JobRow]
) -> list[Cell]:
    """The cells to add. One that looks for a contrast on the same target becomes an ordinary cell instead."""
    extra = {(job.script_digest, target_of(job).label()): job for job in jobs if job.is_contrast}
    others = []
    for cell in cells:
        job = extra.get((cell.script, cell.target.label()))
        if job is None or cell.reason is not None:
            others.append(cell)
            continue
        job.is_contrast = False
        changes.delete_of_jobs(session, {job.id})
        _restart(session, run, job, cell, attempts=queries.attempts_of_job(session, job.id))
    return others


def cancel_whole_run(
    session: Session, run_id: str, *, who: str | None = None, idempotency_key: str | None = None
) -> RunDocument:
    """Cancel a run. Cancelling twice is harmless, and a repeated request cancels no rerun.

    `who` is the id of a token.
    Raises NotFoundError; ConflictError if the run has finished.
    """
    earlier_run = _earlier_change(session, run_id, idempotency_key, {"cancel": run_id}, who=who)
    if earlier_run is not None:
        return earlier_run
    cancel_run(session, run_id)
    session.flush()
    return document_of(session, get_run(session, run_id))


def _earlier_change(
    session: Session, run_id: str, key: str | None, change: Mapping[str, Any], *, who: str | None
) -> RunDocument | None:
    """The run, if an earlier request with this key has changed it so. None if this is the first request."""
    if key is None:
        return None
    # The key refers to the run, so the run must exist.
    get_run(session, run_id)
    digest = json_digest(dict(change))
    return earlier_answer(session, key, body_digest=digest, run_id=run_id, submitter=who)


def cancel_cell(
    session: Session,
    run_id: str,
    job_id: str,
    *,
    who: str | None = None,
    idempotency_key: str | None = None,
) -> RunDocument:
    """Cancel one cell; the others go on. Cancelling it twice is harmless.

    Raises NotFoundError, ConflictError if the cell is judged.
    """
    earlier_run = _earlier_change(
        session, run_id, idempotency_key, {"cancel": run_id, "cell": job_id}, who=who
    )
    if earlier_run is not None:
        return earlier_run
    run = _rerunnable_run(session, run_id)
    job = queries.lock_job(session, job_id) if is_id(job_id) else None
    if job is None or job.run_id != run.id:
        raise NotFoundError("This run has no cell with this id.")
    if job.state == "judged":
        raise ConflictError("This cell is judged already.", code="cell_judged")
    if job.is_contrast and run.state == "finished":
        stop_contrast(session, run)
    elif job.state in OPEN_STATES:
        for attempt in queries.attempts_of_job(session, job.id):
            cancel_attempt(session, attempt)
            if attempt.state == "cancelled":
                emit(session, run, "attempt.cancelled", job=job.id, attempt=attempt.id)
        job.state = "cancelled"
        emit(session, run, "job.cancelled", job=job.id, **_actor(who))
        session.flush()
        _end_if_all_cancelled(session, run)
        finish_if_done(session, run)
        outbox(session).wake_dispatcher()
    session.flush()
    return document_of(session, run)


def _end_if_all_cancelled(session: Session, run: RunRow) -> None:
    """Cancel the run if all its cells are cancelled."""
    if all(job.state == "cancelled" for job in queries.jobs_of_run(session, run.id)):
        run.state = "cancelled"
        run.finished_at = now()
        emit(session, run, "run.cancelled")


def _rerunnable_run(session: Session, run_id: str) -> RunRow:
    """The run, locked. Raises NotFoundError, ConflictError for a run whose cells nobody may change."""
    run = get_run(session, run_id, lock=True)
    if run.contributed_by is not None:
        raise ConflictError(
            "This run was contributed from elsewhere and can't be changed. Start a new run of its report.",
            code="contributed_run",
        )
    _refuse_bisection(run)
    if run.is_withdrawn:
        raise withdrawn_error()
    return run


def _refuse_bisection(run: RunRow) -> None:
    if run.preset == BISECTION and run.contributed_by is None:
        raise ConflictError(
            "This run is a bisection, which chooses its own cells. Start another bisection of the report.",
            code="bisection",
        )


def _actor(who: str | None) -> dict[str, str]:
    return {} if who is None else {"token": who}


def _plan_jobs(
    session: Session, run: RunRow, jobs: Sequence[JobRow], *, settings: ServiceSettings
) -> list[Cell]:
    """Plan these jobs again for the fleet as it is now.

    A node may now serve a cell that nobody served before.
    """
    plan = plan_same_cells(
        session,
        reading_of(session, report_of_run(session, run)),
        [(job.script_digest, target_of(job)) for job in jobs],
        repeats=repeat_plan_of(run),
        preset=run.preset,
        fleet=known_fleet(session, settings=settings),
        settings=settings,
    )
    return list(plan.cells)


def _restart(
    session: Session, run: RunRow, job: JobRow, cell: Cell, *, attempts: Sequence[AttemptRow]
) -> None:
    """Start a new generation of a job. The earlier attempts are kept, but they no longer count."""
    for attempt in attempts:
        cancel_attempt(session, attempt)
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


def _as_new_run(
    session: Session,
    run_id: str,
    *,
    settings: ServiceSettings,
    who: str | None,
    idempotency_key: str | None,
) -> RunDocument:
    """Start a new run of the report on the same cells, with the same repeats."""
    run = get_run(session, run_id)
    _refuse_bisection(run)
    new_run_id = new_id()
    earlier_run = earlier_answer(
        session,
        idempotency_key,
        body_digest=json_digest({"rerun": run_id}),
        run_id=new_run_id,
        submitter=who,
    )
    if earlier_run is not None:
        return earlier_run
    report = report_of_run(session, run)
    reading = reading_of(session, report)
    cells = [
        (job.script_digest, target_of(job))
        for job in queries.jobs_of_run(session, run_id)
        if not job.is_contrast
    ]
    if not cells:
        raise ConflictError("This run has no cells to rerun.", code="nothing_to_run_again")
    get_runnable_report(session, report.id)
    fleet = known_fleet(session, settings=settings)
    plan = plan_same_cells(
        session,
        reading,
        cells,
        repeats=repeat_plan_of(run),
        preset=run.preset,
        fleet=fleet,
        settings=settings,
    )
    # A target that was excluded from the first run comes into this one neither.
    is_closed = not (run.plan_record or {}).get("contrast", False)
    plan = replace(plan, is_closed=is_closed)
    return launch_plan(
        session, report, reading, plan, run_id=new_run_id, fleet=fleet, settings=settings, submitter=who
    )
