"""Adds queue positions and estimates to run objects and plans, with the facts from the database."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy.orm import Session

from app.clock import now
from app.judging.cause.cures import CURES
from app.runs.estimates.durations import Durations
from app.runs.estimates.plan_document import estimated_plan
from app.runs.estimates.queue_position import ATTEMPTS_AHEAD, FleetLoad, positions
from app.runs.rows.nodes import fleet as known_fleet
from app.runs.run_object.document import JobPart, RunDocument
from app.runs.run_object.parts.estimates import RangePart, WaitingPart
from app.settings import ServiceSettings
from app.states import OPEN_STATES
from app.storage.queries.queue import queue_position as queries
from app.storage.queries.queue.queue import Candidate
from app.storage.queries.queue.queue_position import AttemptDuration, QueueState
from app.targets.planning.plan import Plan
from app.targets.target import Target, label_of
from worker.contract import Hello


def with_waiting(
    session: Session,
    document: RunDocument,
    *,
    settings: ServiceSettings,
    fleet: Sequence[Hello] | None = None,
    new_from: tuple[str | None, bool] | None = None,
    of_scripts: Sequence[AttemptDuration] | None = None,
) -> RunDocument:
    """The run object with the queue position of each waiting cell.

    `fleet` and the durations of earlier attempts of its scripts, `of_scripts`, are read if they are not
    known.
    `new_from` is set if nobody else can know the run yet: who submitted it, and whether its result is
    awaited.
    """
    waiting = [job for job in document.jobs if job.state == "queued"]
    if document.state not in OPEN_STATES or not waiting:
        return document
    nodes = known_fleet(session, settings=settings) if fleet is None else fleet
    if of_scripts is None:
        of_scripts = queries.durations_of_scripts(session, [job.script for job in waiting])
    facts = None
    if new_from is not None and not of_scripts:
        facts = queries.facts_beside_long_queue(session)
    # New runs with equal cells wait alike at the end of a long queue.
    cells = tuple(label_of(job.target) for job in waiting)
    alike = (new_from, cells, tuple(hello.node for hello in nodes))
    if facts is not None and alike in facts:
        parts = {job.id: part for job, part in zip(waiting, facts[alike], strict=True) if part is not None}
    else:
        state = queries.queue_state(session)
        durations = Durations(wall_seconds=settings.wall_seconds, scripts=of_scripts, recent=state.recent)
        parts = _positions(session, document, waiting, nodes, durations, state=state, settings=settings)
    if facts is not None:
        facts[alike] = [parts.get(job.id) for job in waiting]
    jobs = [
        job.model_copy(update={"waiting": parts[job.id]}) if job.id in parts else job for job in document.jobs
    ]
    return document.model_copy(update={"jobs": jobs})


def with_estimate(
    session: Session,
    document: RunDocument,
    plan: Plan,
    fleet: Sequence[Hello],
    *,
    contrast: str | None,
    settings: ServiceSettings,
) -> RunDocument:
    """A plan with estimates for each cell and for the whole, and with the queue positions of its cells.

    `contrast` is the target of the cell that may be added later.
    """
    runnable = [job for job in document.jobs if job.state == "queued"]
    state = queries.queue_state(session)
    durations = Durations(
        wall_seconds=settings.wall_seconds,
        scripts=queries.durations_of_scripts(session, [job.script for job in runnable]),
        recent=state.recent,
    )
    parts = _positions(session, document, runnable, fleet, durations, state=state, settings=settings)
    slots = sum(hello.slots for hello in fleet)
    estimated = estimated_plan(document, plan, durations, slots=slots, contrast=contrast)
    jobs = [job.model_copy(update={"waiting": parts.get(job.id)}) for job in estimated.jobs]
    whole = estimated.estimate
    starts = sorted(
        (part.starts_in for part in parts.values() if part.starts_in is not None),
        key=lambda each: each.about,
    )
    if whole is None or whole.done_in is None or not starts:
        return estimated.model_copy(update={"jobs": jobs})
    times = {"starts_in": starts[0], "done_in": _after(starts[-1], whole.done_in)}
    return estimated.model_copy(update={"jobs": jobs, "estimate": whole.model_copy(update=times)})


def _after(start: RangePart, work: RangePart) -> RangePart:
    """When queued work is done.

    Much of it is done before its last cell starts, so the times do not simply add up.
    """
    most = None if start.at_most is None or work.at_most is None else round(start.at_most + work.at_most, 1)
    return RangePart(at_least=work.at_least, about=round(max(start.about, work.about), 1), at_most=most)


def _target(job: JobPart) -> Target:
    return Target.model_validate(job.target.model_dump())


def _positions(
    session: Session,
    document: RunDocument,
    jobs: Sequence[JobPart],
    fleet: Sequence[Hello],
    durations: Durations,
    *,
    state: QueueState,
    settings: ServiceSettings,
) -> dict[str, WaitingPart]:
    waiting, is_cut = queries.waiting_attempts(
        session,
        document.id,
        nodes=[hello.node for hello in fleet],
        each=ATTEMPTS_AHEAD,
        late_settings=CURES,
        opened=state.opened,
    )
    moment = now()
    stored = {candidate.job_id for candidate in waiting}
    waiting += [_plan_cell(document, job, moment) for job in jobs if job.id not in stored]
    load = FleetLoad(fleet=fleet, holds=state.holds, required_level=settings.required_level)
    return positions(
        {job.id for job in jobs},
        waiting,
        load=load,
        durations=durations,
        moment=moment,
        settings=settings,
        scripts={job.id: job.script for job in jobs},
        is_cut=is_cut,
    )


def _plan_cell(document: RunDocument, job: JobPart, moment: datetime) -> Candidate:
    """The first attempt of a cell of a plan that is not stored."""
    return Candidate(
        attempt_id=job.id,
        job_id=job.id,
        run_id=document.id,
        node=None,
        target=_target(job).model_dump(mode="json"),
        queued_at=moment,
    )
