"""Make a run of what was read: plan its cells, store jobs and first attempts, or finish it at once when nothing can run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy.orm import Session

from app.clock import now
from app.errors import ConflictError, InputError
from app.ids import new_id
from app.intake.reading import Reading
from app.judging.judgement import Verdict
from app.judging.verdict.repeats import next_attempts
from app.judging.versions import JUDGING_RULES
from app.runs.estimates.plan_document import state_of
from app.runs.lifecycle.finish import store_end
from app.runs.rows.attempts import new_attempts
from app.runs.rows.events import emit
from app.runs.rows.facts import job_facts, run_facts
from app.runs.rows.nodes import whole_fleet
from app.runs.rows.presets import known_presets
from app.runs.rows.quarantined_parts import as_held, held_back
from app.runs.run_object.assemble import judge
from app.runs.run_object.document import RunDocument
from app.settings import ServiceSettings
from app.states import Trigger
from app.storage.models import AttemptRow, JobRow, ReportRow, RunRow
from app.storage.outbox import outbox
from app.storage.queries import runs as queries
from app.targets.fleet import can_serve
from app.targets.planning.plan import DEFAULT_REPEATS, Cell, Plan, RepeatPlan, plan, plan_cell, runnable
from app.targets.target import Target
from worker.contract import AttemptKind, Hello


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """What a run should cover; neither preset nor targets means the default preset. `include` and `exclude` are patterns, as written."""

    preset: str | None = None
    targets: tuple[Target, ...] | None = None
    repeats: int | None = None
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    # Those of a run before, as many times; a preset beside them is only the name that they had.
    cells: tuple[tuple[str, Target], ...] | None = None
    plan: RepeatPlan | None = None

    def asked(self) -> dict[str, Any]:
        """As data, for what an idempotency key stands for; what was not asked for leaves it as it was before it could be."""
        targets = (
            None if self.targets is None else [target.model_dump(mode="json") for target in self.targets]
        )
        patterns = {"include": list(self.include), "exclude": list(self.exclude)}
        always = {"preset": self.preset, "targets": targets, "repeats": self.repeats}
        return always | {name: texts for name, texts in patterns.items() if texts}


def make_plan(reading: Reading, wish: Wish, *, fleet: Sequence[Hello], settings: ServiceSettings) -> Plan:
    """The cells of a run. Raises InputError for a wish that can't be planned."""
    if wish.targets is not None and not wish.targets:
        raise InputError("Send at least one target.", code="no_targets", field="targets")
    if wish.cells is not None:
        scripts = runnable(reading)
        cells = (
            plan_cell(scripts[digest], target, fleet, required_level=settings.required_level, explicit=False)
            for digest, target in wish.cells
        )
        return Plan(tuple(cells), wish.plan or RepeatPlan(DEFAULT_REPEATS), wish.preset)
    return plan(
        reading,
        preset=settings.preset if wish.targets is None and wish.preset is None else wish.preset,
        targets=wish.targets,
        repeats=wish.repeats,
        fleet=fleet,
        required_level=settings.required_level,
        include=wish.include,
        exclude=wish.exclude,
        presets=known_presets(settings),
        most_cells=settings.cells,
        most_repeats=settings.repeats,
    )


def launch_reading(
    session: Session,
    report: ReportRow,
    reading: Reading,
    wish: Wish,
    *,
    run_id: str,
    fleet: Sequence[Hello],
    settings: ServiceSettings,
    occasion: Trigger = "submitted",
) -> RunDocument:
    """Store a run with its jobs and first attempts, and wake the dispatcher. Raises InputError, ConflictError for a withdrawn report."""
    held = queries.hold_report(session, report.id)
    if held is None or held.withdrawn_at is not None:
        raise ConflictError("This report was withdrawn: there is nothing left to run.", code="withdrawn")
    made = None if reading.ask else plan_of(session, reading, wish, fleet=fleet, settings=settings)
    cells = () if made is None else made.cells
    repeats = RepeatPlan(at_most=1, exact=False) if made is None else made.repeats
    run = RunRow(
        id=run_id,
        report_id=report.id,
        state="queued",
        occasion=occasion,
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
    jobs = [job_row(run, cell, position=position) for position, cell in enumerate(cells)]
    session.add_all(jobs)
    session.flush()
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
            preview=occasion == "submitted",
        )
    if attempts:
        outbox(session).wake_dispatcher()
    else:
        run.state = "finished"
        run.finished_at = now()
    session.flush()
    judged = judge(run_facts(run, report), reading, job_facts(jobs, attempts, {}))
    return judged.document if attempts else store_end(session, run, judged)


def plan_of(
    session: Session, reading: Reading, wish: Wish, *, fleet: Sequence[Hello], settings: ServiceSettings
) -> Plan:
    """The plan, saying what a quarantine keeps from running. Raises InputError for a wish that can't be planned."""
    held = held_back(session)
    if not held:
        return make_plan(reading, wish, fleet=fleet, settings=settings)
    whole = whole_fleet(session, settings=settings)
    try:
        made = make_plan(reading, wish, fleet=fleet, settings=settings)
    except InputError as error:
        if error.code != "unknown_toolchain":
            raise
        # One that is held back is known all the same.
        made = make_plan(reading, wish, fleet=whole, settings=settings)
    return as_held(made, held, whole_fleet=whole, required_level=settings.required_level)


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
    """What a new cell starts with; nothing where no node serves it. Nobody watches what was not submitted: no `preview` of that."""
    if cell.reason is not None:
        return []
    attempts: list[AttemptRow] = []
    if preview and settings.preview and _is_shown_first(cell, fleet, settings=settings):
        attempts += new_attempts(session, job, count=1, kind=AttemptKind.PREVIEW)
    count = next_attempts(reading.claim, reading.script_of(cell.script), cell.target, (), repeats)
    return attempts + new_attempts(session, job, count=max(1, count))


def _is_shown_first(cell: Cell, fleet: Sequence[Hello], *, settings: ServiceSettings) -> bool:
    """Whether some node takes previews of a cell; whether it has one for this script is the node's to say, when it comes to that."""
    return any(
        hello.previews > 0
        and any(facts.name == cell.target.toolchain and facts.torch is not None for facts in hello.toolchains)
        and can_serve(hello, cell.target, required_level=settings.required_level) is None
        for hello in fleet
    )


def job_row(run: RunRow, cell: Cell, *, position: int) -> JobRow:
    """A cell as it is kept; one that no node serves is judged with its reason."""
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
