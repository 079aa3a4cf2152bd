"""Where the cells of a run stand in line, and what a plan would take: the facts from the database, the rest by `line` and `estimate`."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy.orm import Session

from app.runs.document import EstimatePart, JobPart, LeftOutPart, RangePart, RunDocument, WaitingPart
from app.runs.estimate import Durations, Seconds, attempts_of, cell_estimate, machine_seconds, weakest
from app.runs.line import Mine, Standing, line
from app.runs.nodes import fleet as known_fleet
from app.settings import ServiceSettings
from app.storage.queries import line as queries
from app.targets.plan import Plan
from app.targets.target import Target
from worker.contract import Hello


def with_waiting(session: Session, document: RunDocument, *, settings: ServiceSettings) -> RunDocument:
    """The run object with each waiting cell's place in line."""
    waiting = [job for job in document.jobs if job.state == "queued"]
    if document.state not in {"queued", "running"} or not waiting:
        return document
    fleet = known_fleet(session, absence_seconds=settings.node_absence_seconds)
    durations = _durations(session, [job.script for job in waiting], settings=settings)
    places = _line(session, document.id, waiting, fleet, durations, settings=settings)
    jobs = [job.model_copy(update={"waiting": places[job.id]}) if job.id in places else job for job in document.jobs]
    return document.model_copy(update={"jobs": jobs})


def with_estimate(session: Session, document: RunDocument, made: Plan, fleet: Sequence[Hello], *, settings: ServiceSettings) -> RunDocument:
    """A plan with what each cell and the whole would take, and where its cells would stand in line."""
    runnable = [job for job in document.jobs if job.state == "queued"]
    durations = _durations(session, [job.script for job in runnable], settings=settings)
    places = _line(session, document.id, runnable, fleet, durations, settings=settings)
    estimated = estimated_plan(document, made, durations)
    jobs = [job.model_copy(update={"waiting": places.get(job.id)}) for job in estimated.jobs]
    whole = estimated.estimate
    starts = [place.starts_in for place in places.values() if place.starts_in is not None]
    if whole is None or not starts:
        return estimated.model_copy(update={"jobs": jobs})
    last = max(starts, key=lambda each: each.about)
    first = min(starts, key=lambda each: each.about)
    slots = max(1, min(len(runnable), sum(hello.slots for hello in fleet)))
    done = RangePart(
        at_least=round(whole.machine_seconds.at_least / slots, 1),
        about=round(last.about + whole.machine_seconds.about / slots, 1),
        # Each cell stays on one node, which may be the only one.
        at_most=None if last.at_most is None else round(last.at_most + (whole.machine_seconds.at_most or 0.0), 1),
    )
    return estimated.model_copy(update={"jobs": jobs, "estimate": whole.model_copy(update={"starts_in": first, "done_in": done})})


def estimated_plan(document: RunDocument, made: Plan, durations: Durations) -> RunDocument:
    """A plan with what its cells and the whole would take on machines that are free. Pure."""
    seconds: dict[str, Seconds] = {job.id: durations.of(job.script, _target(job)) for job in document.jobs if job.state == "queued"}
    jobs = [
        job.model_copy(update={"estimate": cell_estimate(made.repeats, seconds[job.id])}) if job.id in seconds else job
        for job in document.jobs
    ]
    least, _about, most = attempts_of(made.repeats)
    whole = EstimatePart(
        cells=len(document.jobs),
        not_served=len(document.jobs) - len(seconds),
        attempts_at_least=least * len(seconds),
        attempts_at_most=most * len(seconds),
        machine_seconds=machine_seconds(made.repeats, seconds.values()),
        basis=weakest(seconds.values()),
        left_out=[LeftOutPart(exclude=text, cells=cells) for text, cells in made.left_out],
    )
    return document.model_copy(update={"jobs": jobs, "estimate": whole})


def _target(job: JobPart) -> Target:
    return Target.model_validate(job.target.model_dump())


def _durations(session: Session, scripts: Sequence[str], *, settings: ServiceSettings) -> Durations:
    return Durations(wall_seconds=settings.wall_seconds, scripts=queries.took(session, scripts), lately=queries.took_lately(session))


def _line(
    session: Session, run_id: str, jobs: Sequence[JobPart], fleet: Sequence[Hello], durations: Durations, *, settings: ServiceSettings
) -> dict[str, WaitingPart]:
    others = queries.waiting_of_others(session, run_id, each=len(jobs) + 1)
    standing = Standing(
        fleet=fleet,
        held=queries.held_by_node(session),
        at_work=queries.at_work_of_runs(session),
        required_level=settings.required_level,
    )
    mine = [Mine(job_id=job.id, script=job.script, target=_target(job)) for job in jobs]
    longer = len(others) >= queries.MOST_OTHERS
    return line(run_id, mine, others, standing=standing, durations=durations, longer=longer)
