"""Shows a plan as a run object with estimates. Pure: the service and the command line share it."""

from __future__ import annotations

from app.clock import now
from app.ids import new_id
from app.intake.reading import Reading
from app.runs.estimates.durations import (
    Durations,
    Seconds,
    attempts_of,
    cell_estimate,
    machine_seconds,
    weakest,
)
from app.runs.run_object.assemble import assemble
from app.runs.run_object.document import RunDocument
from app.runs.run_object.facts import JobFacts, RunFacts
from app.runs.run_object.parts.estimates import EstimatePart, LeftOutPart, RangePart
from app.states import JobState, RunState
from app.targets.planning.plan import Cell, Plan
from app.targets.target import Target


def plan_document(reading: Reading, plan: Plan | None, *, title: str, source_url: str | None) -> RunDocument:
    """The run that a plan would make. Nothing is stored under its ids.

    `plan` is None for a report that lacks something.
    """
    cells = () if plan is None else plan.cells
    jobs = [
        JobFacts(
            id=new_id(), script=cell.script, target=cell.target, state=state_of(cell), reason=cell.reason
        )
        for cell in cells
    ]
    state: RunState = "queued" if any(cell.reason is None for cell in cells) else "finished"
    facts = RunFacts(
        id=new_id(),
        state=state,
        created_at=now(),
        preset=None if plan is None else plan.preset,
        title=title or reading.title,
        source_url=source_url,
    )
    return assemble(facts, reading, jobs)


def state_of(cell: Cell) -> JobState:
    """The state of a new cell: a cell that no node serves is judged from the start."""
    return "queued" if cell.reason is None else "judged"


def estimated_plan(
    document: RunDocument, plan: Plan, durations: Durations, *, slots: int, contrast: str | None = None
) -> RunDocument:
    """A plan with an estimate for each cell and for the whole, on `slots` free slots.

    `contrast` is the target of the cell that may be added later.
    """
    seconds: dict[str, Seconds] = {
        job.id: durations.of(job.script, Target.model_validate(job.target.model_dump()))
        for job in document.jobs
        if job.state == "queued"
    }
    jobs = [
        job.model_copy(update={"estimate": cell_estimate(plan.repeats, seconds[job.id])})
        if job.id in seconds
        else job
        for job in document.jobs
    ]
    least, _about, most = attempts_of(plan.repeats)
    whole = machine_seconds(plan.repeats, seconds.values())
    estimate = EstimatePart(
        cells=len(document.jobs),
        not_served=len(document.jobs) - len(seconds),
        attempts_at_least=least * len(seconds),
        attempts_at_most=most * len(seconds),
        machine_seconds=whole,
        starts_in=RangePart(at_least=0, about=0, at_most=0) if seconds else None,
        done_in=_over(whole, max(1, min(slots, len(seconds)))) if seconds else None,
        basis=weakest(seconds.values()),
        left_out=[LeftOutPart(exclude=text, cells=cells) for text, cells in plan.left_out],
        contrast=contrast,
    )
    return document.model_copy(update={"jobs": jobs, "estimate": estimate})


def _over(whole: RangePart, slots: int) -> RangePart:
    """The time for all cells, from all in parallel to one after the other. A cell stays on one node."""
    return RangePart(
        at_least=round(whole.at_least / slots, 1), about=round(whole.about / slots, 1), at_most=whole.at_most
    )
