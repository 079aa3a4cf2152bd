"""Store a run with its jobs and first attempts. A run without anything to run is finished at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy.orm import Session

from app.clock import now
from app.ids import new_id
from app.intake.needs.card_use import card_use
from app.intake.reading import Reading
from app.judging.judgement import Verdict
from app.judging.verdict.attempts_needed import next_attempts
from app.judging.versions import JUDGING_RULES
from app.runs.estimates.plan_document import state_of
from app.runs.lifecycle.finish import store_end
from app.runs.rows.attempts import attempts_to_store
from app.runs.rows.by_id import get_runnable_report
from app.runs.rows.events import first_event
from app.runs.rows.facts import job_facts, run_facts
from app.runs.run_object.assemble import judge
from app.runs.run_object.digests import plan_record
from app.runs.run_object.document import RunDocument
from app.runs.submission.plan_run import looks_for_contrast, plan_run
from app.settings import ServiceSettings
from app.states import Trigger
from app.storage.models import AttemptRow, JobRow, ReportRow, RunRow
from app.storage.new_rows import NewRows
from app.storage.outbox import outbox
from app.targets.fleet import can_serve
from app.targets.planning.plan import Cell, Plan, RepeatPlan
from app.targets.planning.run_request import RunRequest
from worker.contract import AttemptKind, CardUse, Hello


def launch_reading(
    session: Session,
    report: ReportRow,
    reading: Reading,
    request: RunRequest,
    *,
    run_id: str,
    fleet: Sequence[Hello],
    settings: ServiceSettings,
    trigger: Trigger = "submitted",
    submitter: str | None = None,
) -> RunDocument:
    """Plan and store a run of a report, and wake the dispatcher. `submitter` is the id of a token.

    Raises InputError for a request that can't be planned, ConflictError for a withdrawn report.
    """
    get_runnable_report(session, report.id)
    plan = None if reading.ask else plan_run(session, reading, request, fleet=fleet, settings=settings)
    return launch_plan(
        session,
        report,
        reading,
        plan,
        run_id=run_id,
        fleet=fleet,
        settings=settings,
        trigger=trigger,
        submitter=submitter,
    )


def launch_plan(
    session: Session,
    report: ReportRow,
    reading: Reading,
    plan: Plan | None,
    *,
    run_id: str,
    fleet: Sequence[Hello],
    settings: ServiceSettings,
    trigger: Trigger = "submitted",
    submitter: str | None = None,
    new: NewRows | None = None,
) -> RunDocument:
    """Store a run with the cells of a plan, and wake the dispatcher.

    `plan` is None if the report lacks something. `new` has rows to be stored with it, such as the report.
    """
    cells = () if plan is None else plan.cells
    repeats = RepeatPlan(at_most=1, exact=False) if plan is None else plan.repeats
    run = RunRow(
        id=run_id,
        report_id=report.id,
        state="queued",
        trigger=trigger,
        submitter=submitter,
        preset=None if plan is None else plan.preset,
        repeats_at_most=repeats.at_most,
        repeats_exact=repeats.exact,
        plan_record=_record_of(reading, plan, repeats, trigger=trigger, settings=settings),
        last_event=0,
        summary="",
        created_at=now(),
    )
    new = NewRows() if new is None else new
    new.add(run, first_event(session, run))
    jobs = [job_row(run, cell, position=position) for position, cell in enumerate(cells)]
    attempts: list[AttemptRow] = []
    for job, cell in zip(jobs, cells, strict=True):
        attempts += first_attempts(
            session,
            job,
            cell,
            reading=reading,
            repeats=repeats,
            fleet=fleet,
            settings=settings,
            # Nobody watches the other runs, so they need no preview.
            preview=trigger == "submitted",
        )
    if attempts:
        outbox(session).wake_dispatcher()
    else:
        # There is nothing to run.
        run.state = "finished"
        run.finished_at = now()
    new.add(*jobs, *attempts)
    # A run that is over changes once more.
    new.write(session, attaches=not attempts)
    judged = judge(run_facts(run, report), reading, job_facts(jobs, attempts, {}))
    return judged.document if attempts else store_end(session, run, judged)


def _record_of(
    reading: Reading, plan: Plan | None, repeats: RepeatPlan, *, trigger: Trigger, settings: ServiceSettings
) -> dict[str, Any]:
    targets = [] if plan is None else [cell.target for cell in plan.cells]
    contrast = trigger == "submitted" and looks_for_contrast(plan, settings)
    return plan_record(reading, targets, repeats, contrast=contrast).model_dump(mode="json")


def first_attempts(
    session: Session,
    job: JobRow,
    cell: Cell,
    *,
    reading: Reading,
    repeats: RepeatPlan,
    fleet: Sequence[Hello],
    settings: ServiceSettings,
    preview: bool = True,
) -> list[AttemptRow]:
    """The first attempts of a cell, for the caller to store. There are none where no node serves it."""
    if cell.reason is not None:
        return []
    attempts: list[AttemptRow] = []
    script = reading.script_of(cell.script)
    # A card that is needed from the start has to be idle before, so a preview would hold all others up.
    is_quick = cell.target.cards_needed == 0 or card_use(reading.claim, script.script) is CardUse.AT_TOUCH
    if preview and settings.preview and is_quick and _may_preview(cell, fleet, settings=settings):
        attempts += attempts_to_store(session, job, count=1, kind=AttemptKind.PREVIEW)
    count = next_attempts(reading.claim, script, cell.target, (), repeats)
    return attempts + attempts_to_store(session, job, count=max(1, count))


def _may_preview(cell: Cell, fleet: Sequence[Hello], *, settings: ServiceSettings) -> bool:
    """Whether a node takes previews of this target.

    The node itself decides whether it can preview this script.
    """
    return any(
        hello.previews > 0
        and any(facts.name == cell.target.toolchain and facts.torch is not None for facts in hello.toolchains)
        and can_serve(hello, cell.target, required_level=settings.required_level) is None
        for hello in fleet
    )


def job_row(run: RunRow, cell: Cell, *, position: int) -> JobRow:
    """The row of a cell. A cell that no node serves is judged from the start."""
    return JobRow(
        id=new_id(),
        run_id=run.id,
        position=position,
        script_digest=cell.script,
        target=cell.target.model_dump(mode="json"),
        state=state_of(cell),
        reason=None if cell.reason is None else cell.reason.model_dump(mode="json"),
        generation=1,
        verdict=None if cell.reason is None else Verdict.CANNOT_SHOW,
        rules=None if cell.reason is None else JUDGING_RULES,
    )
