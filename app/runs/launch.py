"""Make a run of what was read: plan its cells, store jobs and first attempts, or finish it at once when nothing can run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy.orm import Session

from app.clock import now
from app.errors import InputError
from app.ids import new_id
from app.intake.reading import Reading
from app.judging.judgement import Verdict
from app.judging.repeats import next_attempts
from app.runs.assemble import JobFacts, RunFacts, assemble
from app.runs.document import RunDocument
from app.runs.events import emit
from app.runs.facts import job_facts, run_facts
from app.runs.settle import new_attempts, script_of
from app.runs.standing import keep_standing
from app.settings import ServiceSettings
from app.states import JobState, RunState
from app.storage.models import AttemptRow, JobRow, ReportRow, RunRow
from app.storage.outbox import outbox
from app.targets.fleet import can_serve
from app.targets.plan import Cell, Plan, RepeatPlan, plan
from app.targets.target import Target
from worker.contract import AttemptKind, Hello


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """What a run should cover; neither preset nor targets means the default preset."""

    preset: str | None = None
    targets: tuple[Target, ...] | None = None
    repeats: int | None = None


def make_plan(reading: Reading, wish: Wish, *, fleet: Sequence[Hello], settings: ServiceSettings) -> Plan:
    """The cells of a run. Raises InputError for a wish that can't be planned."""
    if wish.targets is not None and not wish.targets:
        raise InputError("Send at least one target.", code="no_targets", field="targets")
    return plan(
        reading,
        preset=settings.preset if wish.targets is None and wish.preset is None else wish.preset,
        targets=wish.targets,
        repeats=wish.repeats,
        fleet=fleet,
        required_level=settings.required_level,
        most_cells=settings.cells,
        most_repeats=settings.repeats,
    )


def plan_document(
    reading: Reading, wish: Wish, *, fleet: Sequence[Hello], settings: ServiceSettings, title: str, source_url: str | None
) -> RunDocument:
    """The run as it would be planned. Its ids are of nothing that is stored."""
    made = None if reading.ask else make_plan(reading, wish, fleet=fleet, settings=settings)
    cells = () if made is None else made.cells
    jobs = [JobFacts(id=new_id(), script=cell.script, target=cell.target, state=_job_state(cell), reason=cell.reason) for cell in cells]
    state: RunState = "queued" if any(cell.reason is None for cell in cells) else "finished"
    facts = RunFacts(
        id=new_id(),
        state=state,
        created_at=now(),
        preset=None if made is None else made.preset,
        title=title or reading.title,
        source_url=source_url,
    )
    return assemble(facts, reading, jobs)


def _job_state(cell: Cell) -> JobState:
    return "queued" if cell.reason is None else "judged"


def launch_reading(
    session: Session, report: ReportRow, reading: Reading, wish: Wish, *, run_id: str, fleet: Sequence[Hello], settings: ServiceSettings
) -> RunDocument:
    """Store a run with its jobs and first attempts, and wake the dispatcher once that is committed."""
    made = None if reading.ask else make_plan(reading, wish, fleet=fleet, settings=settings)
    cells = () if made is None else made.cells
    repeats = RepeatPlan(at_most=1, exact=False) if made is None else made.repeats
    run = RunRow(
        id=run_id,
        report_id=report.id,
        state="queued",
        preset=None if made is None else made.preset,
        repeats_at_most=repeats.at_most,
        repeats_exact=repeats.exact,
        last_event=0,
        summary="",
        created_at=now(),
    )
    session.add(run)
    session.flush()
    emit(session, run, "run.created")
    jobs = [_job(run, cell, position=position) for position, cell in enumerate(cells)]
    session.add_all(jobs)
    session.flush()
    attempts: list[AttemptRow] = []
    for job, cell in zip(jobs, cells, strict=True):
        if cell.reason is None:
            if settings.preview and _is_shown_first(cell, fleet, settings=settings):
                attempts += new_attempts(session, job, count=1, kind=AttemptKind.PREVIEW)
            count = next_attempts(reading.claim, script_of(reading, cell.script), cell.target, (), repeats)
            attempts += new_attempts(session, job, count=max(1, count))
    if attempts:
        outbox(session).wake_dispatcher()
    else:
        run.state = "finished"
        run.finished_at = now()
    document = assemble(run_facts(run, report), reading, job_facts(jobs, attempts, {}))
    verdicts = {job.id: job.verdict for job in document.jobs}
    for job in jobs:
        if job.state == "judged":
            job.verdict = verdicts[job.id] or Verdict.CANNOT_SHOW
    if not attempts:
        run.verdict, run.summary = document.verdict, document.summary
        emit(session, run, "run.finished")
        keep_standing(session, report.id)
    session.flush()
    return document


def _is_shown_first(cell: Cell, fleet: Sequence[Hello], *, settings: ServiceSettings) -> bool:
    """Whether some node takes previews of a cell; whether it has one for this script is the node's to say, when it comes to that."""
    return any(
        hello.previews > 0
        and any(facts.name == cell.target.toolchain and facts.torch is not None for facts in hello.toolchains)
        and can_serve(hello, cell.target, required_level=settings.required_level) is None
        for hello in fleet
    )


def _job(run: RunRow, cell: Cell, *, position: int) -> JobRow:
    return JobRow(
        id=new_id(),
        run_id=run.id,
        position=position,
        script_digest=cell.script,
        target=cell.target.model_dump(mode="json"),
        state=_job_state(cell),
        reason=None if cell.reason is None else cell.reason.model_dump(mode="json"),
        generation=1,
    )
