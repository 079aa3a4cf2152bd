"""Reopens runs whose evidence is no longer trusted, because a card is faulty or a part is quarantined."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime

import structlog
from sqlalchemy.orm import Session

from app.clock import now
from app.runs.lifecycle.finish import reopen_job, reopen_run
from app.runs.lifecycle.report_verdict import store_report_verdict
from app.runs.lifecycle.settle import restart_job, settle_job
from app.runs.rows.events import emit
from app.settings import ServiceSettings
from app.states import HELD_ATTEMPT_STATES, QuarantineKind
from app.storage.models import AttemptRow, JobRow, QuarantineRow, RunRow
from app.storage.queries import changes
from app.storage.queries import runs as queries
from app.storage.queries.queue import quarantines, queue
from app.targets.quarantines import builds_on
from worker.contract import AttemptKind, CardState, Hello, Observation

log = structlog.get_logger(__name__)

# Runs reopened in one transaction. The reaper reopens the others, round by round.
AT_ONCE = 50

DoubtTest = Callable[[JobRow, AttemptRow], bool]


def rests_on(node: str, observation: Observation) -> list[str]:
    """The card checks that the evidence of an attempt rests on, one for each of its cards."""
    return [_check(node, card.index, card.sound_at) for card in observation.cards]


def _check(node: str, index: int, sound_at: float | None) -> str:
    return f"{node}/{index}/{sound_at}"


def doubt_cards(session: Session, hello: Hello, *, settings: ServiceSettings) -> None:
    """Reopen the runs that rest on a card which this node found faulty. Doing it twice changes nothing."""
    checks = [
        _check(hello.node, gpu.index, gpu.sound_at) for gpu in hello.gpus if gpu.state is CardState.FAULTY
    ]
    for run_id in queue.runs_on_cards(session, checks) if checks else ():
        reopen_doubted(
            session,
            run_id,
            is_doubted=lambda _job, attempt: not set(checks).isdisjoint(attempt.cards or ()),
            settings=settings,
        )


def reopen_doubted(
    session: Session, run_id: str, *, is_doubted: DoubtTest, settings: ServiceSettings
) -> bool:
    """Restart the jobs of a run that have doubted evidence or attempts. True if there are any.

    Cancelled, contributed and withdrawn runs stay as they are.
    """
    run = queries.lock_run(session, run_id)
    if run is None or run.state == "cancelled" or run.contributed_by is not None or run.is_withdrawn:
        return False
    jobs = {job.id: job for job in queries.jobs_of_run(session, run_id, lock=True)}
    attempts = [
        row for row in queries.attempts_of_run(session, run_id, lock=True) if row.kind is AttemptKind.REPEAT
    ]
    evidence = [
        row
        for row in attempts
        if row.state == "recorded" and row.counted and is_doubted(jobs[row.job_id], row)
    ]
    under_way = [
        row for row in attempts if row.state in HELD_ATTEMPT_STATES and is_doubted(jobs[row.job_id], row)
    ]
    if run.state == "finished" and any(not jobs[row.job_id].is_contrast for row in evidence):
        reopen_run(session, run)
    _requeue(session, run, under_way)
    restarted = {row.job_id for row in (*evidence, *under_way)}
    changes.delete_of_jobs(session, restarted)
    for job in [job for job in jobs.values() if job.id in restarted]:
        reopen_job(job)
        restart_job(session, run, job, attempts=queries.attempts_of_job(session, job.id))
    # A bisection reads all its jobs when one is settled. So all must be restarted before.
    for job in [job for job in jobs.values() if job.id in restarted]:
        settle_job(session, run, job, settings=settings)
    store_report_verdict(session, run.report_id)
    if run.state == "finished" and restarted:
        emit(session, run, "contrast.changed")
    if restarted:
        log.warning("run_reopened", run_id=run_id, jobs=len(restarted))
    return bool(restarted)


def _requeue(session: Session, run: RunRow, attempts: Sequence[AttemptRow]) -> None:
    """Queue attempts again that nodes hold. Later messages about them are refused by their lease number."""
    for row in attempts:
        row.state, row.queued_at, row.lease_until = "queued", now(), None
        row.lease_no += 1
        emit(session, run, "attempt.requeued", job=row.job_id, attempt=row.id)


def reopen_pending(session: Session, quarantine_id: str, *, settings: ServiceSettings) -> None:
    """Reopen the next runs that rest on a quarantined thing."""
    row = quarantines.lock(session, quarantine_id)
    if row is not None:
        reopen_some(session, row, settings=settings)


def reopen_some(session: Session, row: QuarantineRow, *, settings: ServiceSettings) -> None:
    """Reopen the next runs of a quarantine, at most AT_ONCE."""
    is_doubted = _doubt_test(row.kind, row.name, since=row.since)
    now_due, later = row.pending[:AT_ONCE], row.pending[AT_ONCE:]
    row.reopened += sum(
        reopen_doubted(session, run_id, is_doubted=is_doubted, settings=settings) for run_id in now_due
    )
    row.pending = later


def _doubt_test(kind: QuarantineKind, name: str, *, since: datetime | None) -> DoubtTest:
    """A test for attempts that rest on a thing: those on a node, and those recorded since the given time."""
    conditions: dict[QuarantineKind, Callable[[JobRow, AttemptRow], bool]] = {
        "node": lambda _job, attempt: attempt.node == name,
        "toolchain": lambda job, _attempt: builds_on(job.target["toolchain"], name),
        "script": lambda job, _attempt: job.script_digest == name,
    }
    rests = conditions[kind]

    def is_doubted(job: JobRow, attempt: AttemptRow) -> bool:
        return rests(job, attempt) and (
            since is None or attempt.recorded_at is None or attempt.recorded_at >= since
        )

    return is_doubted
