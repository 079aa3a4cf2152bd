"""Adds to an open run where each of its cells is: in the queue, at a node, or running, and since when."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta

from sqlalchemy.orm import Session

from app.runs.run_object.document import RunDocument
from app.runs.run_object.parts.estimates import ProgressPart
from app.settings import ServiceSettings
from app.states import OPEN_STATES
from app.storage.models import AttemptRow
from app.storage.queries.queue.queue_position import open_attempts


def with_progress(session: Session, document: RunDocument, *, settings: ServiceSettings) -> RunDocument:
    """The run object with the stage of each open cell, and when the node ends it at the latest."""
    if document.state not in OPEN_STATES:
        return document
    attempts: dict[str, list[AttemptRow]] = {}
    for attempt in open_attempts(session, document.id):
        attempts.setdefault(attempt.job_id, []).append(attempt)
    jobs = [
        job.model_copy(update={"progress": progress_of(attempts[job.id], settings)})
        if job.id in attempts and job.state in OPEN_STATES
        else job
        for job in document.jobs
    ]
    return document.model_copy(update={"jobs": jobs})


def progress_of(attempts: Iterable[AttemptRow], settings: ServiceSettings) -> ProgressPart | None:
    """The stage of a cell by its open attempts: the furthest stage, and since when it has it."""
    own = list(attempts)
    for state, stage, time in (
        ("running", "running", "started_at"),
        ("leased", "waits_for_place", "leased_at"),
        ("queued", "queued", "queued_at"),
    ):
        there = [each for each in own if each.state == state]
        if there:
            first = min(there, key=lambda each: getattr(each, time) or each.queued_at)
            since = getattr(first, time) or first.queued_at
            node = None if state == "queued" else first.node
            stopped_at = _stopped_at(there, settings) if state == "running" else None
            return ProgressPart.model_validate(
                {"stage": stage, "node": node, "since": since, "stopped_at": stopped_at}
            )
    return None


def _stopped_at(running: Iterable[AttemptRow], settings: ServiceSettings) -> datetime | None:
    """When the node has stopped the last of these attempts."""
    ends = (
        attempt.started_at + timedelta(seconds=settings.limits_of(attempt.kind).wall_seconds)
        for attempt in running
        if attempt.started_at is not None
    )
    return max(ends, default=None)
