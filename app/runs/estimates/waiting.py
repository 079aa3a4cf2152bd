"""Where the cells of a run stand in line, and what a plan would take: the facts from the database, the rest by `line` and `estimate`."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy.orm import Session

from app.runs.estimates.durations import Durations
from app.runs.estimates.plan_document import estimated_plan
from app.runs.estimates.queue_position import Mine, Standing, line
from app.runs.rows.nodes import fleet as known_fleet
from app.runs.run_object.document import JobPart, RangePart, RunDocument, WaitingPart
from app.settings import ServiceSettings
from app.states import OPEN_STATES
from app.storage.queries.queue import queue_position as queries
from app.targets.planning.plan import Plan
from app.targets.target import Target
from worker.contract import Hello


def with_waiting(session: Session, document: RunDocument, *, settings: ServiceSettings) -> RunDocument:
    """The run object with each waiting cell's place in line."""
    waiting = [job for job in document.jobs if job.state == "queued"]
    if document.state not in OPEN_STATES or not waiting:
        return document
    fleet = known_fleet(session, settings=settings)
    durations = _durations(session, [job.script for job in waiting], settings=settings)
    places = _line(session, document.id, waiting, fleet, durations, settings=settings)
    jobs = [
        job.model_copy(update={"waiting": places[job.id]}) if job.id in places else job
        for job in document.jobs
    ]
    return document.model_copy(update={"jobs": jobs})


def with_estimate(
    session: Session, document: RunDocument, made: Plan, fleet: Sequence[Hello], *, settings: ServiceSettings
) -> RunDocument:
    """A plan with what each cell and the whole would take, and where its cells would stand in line."""
    runnable = [job for job in document.jobs if job.state == "queued"]
    durations = _durations(session, [job.script for job in runnable], settings=settings)
    places = _line(session, document.id, runnable, fleet, durations, settings=settings)
    estimated = estimated_plan(document, made, durations, slots=sum(hello.slots for hello in fleet))
    jobs = [job.model_copy(update={"waiting": places.get(job.id)}) for job in estimated.jobs]
    whole = estimated.estimate
    starts = sorted(
        (place.starts_in for place in places.values() if place.starts_in is not None),
        key=lambda each: each.about,
    )
    if whole is None or whole.done_in is None or not starts:
        return estimated.model_copy(update={"jobs": jobs})
    line_of = {"starts_in": starts[0], "done_in": _after(starts[-1], whole.done_in)}
    return estimated.model_copy(update={"jobs": jobs, "estimate": whole.model_copy(update=line_of)})


def _after(start: RangePart, work: RangePart) -> RangePart:
    """When work is done that is in line: its last cell starts late, and much of it is done by then."""
    most = None if start.at_most is None or work.at_most is None else round(start.at_most + work.at_most, 1)
    return RangePart(at_least=work.at_least, about=round(max(start.about, work.about), 1), at_most=most)


def _target(job: JobPart) -> Target:
    return Target.model_validate(job.target.model_dump())


def _durations(session: Session, scripts: Sequence[str], *, settings: ServiceSettings) -> Durations:
    return Durations(
        wall_seconds=settings.wall_seconds,
        scripts=queries.took(session, scripts),
        lately=queries.took_lately(session),
    )


def _line(
    session: Session,
    run_id: str,
    jobs: Sequence[JobPart],
    fleet: Sequence[Hello],
    durations: Durations,
    *,
    settings: ServiceSettings,
) -> dict[str, WaitingPart]:
    others, longer = queries.waiting_of_others(session, run_id, each=len(jobs) + 1)
    held, at_work = queries.at_work(session)
    standing = Standing(fleet=fleet, held=held, at_work=at_work, required_level=settings.required_level)
    mine = [Mine(job_id=job.id, script=job.script, target=_target(job)) for job in jobs]
    unawaited = queries.is_unawaited(session, run_id)
    return line(
        run_id, mine, others, standing=standing, durations=durations, unawaited=unawaited, longer=longer
    )
