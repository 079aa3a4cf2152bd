"""When evidence turns out to rest on what is not to be trusted: it counts no more, and the verdicts on it are open again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime

import structlog
from sqlalchemy.orm import Session

from app.clock import now
from app.runs.lifecycle.find_changes import forget_changes
from app.runs.lifecycle.report_verdict import keep_standing
from app.runs.lifecycle.settle import restart_job, settle_job
from app.runs.rows.events import emit
from app.settings import ServiceSettings
from app.states import HELD_ATTEMPT_STATES, QuarantineKind
from app.storage.models import AttemptRow, JobRow, QuarantineRow, RunRow
from app.storage.queries import runs as queries
from app.storage.queries.queue import quarantines, queue
from app.targets.quarantines import builds_on
from worker.contract import AttemptKind, CardState, Hello, Observation

log = structlog.get_logger(__name__)

# Runs reopened in one transaction; the reaper's rounds do the rest.
AT_ONCE = 50

Doubted = Callable[[JobRow, AttemptRow], bool]


def rests_on(node: str, observation: Observation) -> list[str]:
    """The checks that an attempt's evidence rests on, one for each of its cards."""
    return [_check(node, card.index, card.sound_at) for card in observation.cards]


def _check(node: str, index: int, sound_at: float | None) -> str:
    return f"{node}/{index}/{sound_at}"


def doubt_cards(session: Session, hello: Hello, *, settings: ServiceSettings) -> None:
    """Open again what rests on a card that this node found faulty. Doing it twice changes nothing."""
    checks = [
        _check(hello.node, gpu.index, gpu.sound_at) for gpu in hello.gpus if gpu.state is CardState.FAULTY
    ]
    for run_id in queue.runs_on_cards(session, checks) if checks else ():
        reopen(
            session,
            run_id,
            doubted=lambda _job, attempt: not set(checks).isdisjoint(attempt.cards or ()),
            settings=settings,
        )


def reopen(session: Session, run_id: str, *, doubted: Doubted, settings: ServiceSettings) -> bool:
    """Start the jobs of a run again that have doubted evidence, or doubted attempts under way; whether there were any.

    A cancelled run, one that others made and one that was withdrawn stay as they are.
    """
    run = queries.lock_run(session, run_id)
    if run is None or run.state == "cancelled" or run.contributed_by is not None or run.is_withdrawn:
        return False
    jobs = {job.id: job for job in queries.jobs_of_run(session, run_id, lock=True)}
    attempts = [
        row for row in queries.attempts_of_run(session, run_id, lock=True) if row.kind is AttemptKind.REPEAT
    ]
    evidence = [
        row for row in attempts if row.state == "recorded" and row.counted and doubted(jobs[row.job_id], row)
    ]
    under_way = [
        row for row in attempts if row.state in HELD_ATTEMPT_STATES and doubted(jobs[row.job_id], row)
    ]
    if evidence and run.state == "finished":
        run.state, run.verdict, run.rules, run.finished_at, run.summary = "running", None, None, None, ""
        emit(session, run, "run.reopened")
    _void(session, run, under_way)
    again = {row.job_id for row in (*evidence, *under_way)}
    forget_changes(session, again)
    for job in [job for job in jobs.values() if job.id in again]:
        job.state, job.verdict, job.rules = "queued", None, None
        mine = queries.attempts_of_job(session, job.id)
        restart_job(session, run, job, attempts=mine)
    # A bisection looks at all of them: none may rest on what is in doubt when the first is settled.
    for job in [job for job in jobs.values() if job.id in again]:
        settle_job(session, run, job, settings=settings)
    keep_standing(session, run.report_id)
    if again:
        log.warning("run_reopened", run_id=run_id, jobs=len(again))
    return bool(again)


def _void(session: Session, run: RunRow, attempts: Sequence[AttemptRow]) -> None:
    """Take attempts from their nodes. What these still say of them is refused by the number of the lease."""
    for row in attempts:
        row.state, row.queued_at, row.lease_until = "queued", now(), None
        row.lease_no += 1
        emit(session, run, "attempt.requeued", job=row.job_id, attempt=row.id)


def reopen_pending(session: Session, quarantine_id: str, *, settings: ServiceSettings) -> None:
    """Reopen some more of the runs that rest on what is held back."""
    row = quarantines.lock(session, quarantine_id)
    if row is not None:
        reopen_some(session, row, settings=settings)


def reopen_some(session: Session, row: QuarantineRow, *, settings: ServiceSettings) -> None:
    """Reopen the next runs of a quarantine, at most AT_ONCE."""
    doubted = _doubted(row.kind, row.name, since=row.since)
    now_due, later = row.pending[:AT_ONCE], row.pending[AT_ONCE:]
    row.reopened += sum(reopen(session, run_id, doubted=doubted, settings=settings) for run_id in now_due)
    row.pending = later


def _doubted(kind: QuarantineKind, name: str, *, since: datetime | None) -> Doubted:
    """Which attempts rest on the thing: those under way, and what was recorded from then on."""
    rests_on: dict[QuarantineKind, Callable[[JobRow, AttemptRow], bool]] = {
        "node": lambda _job, attempt: attempt.node == name,
        "toolchain": lambda job, _attempt: builds_on(job.target["toolchain"], name),
        "script": lambda job, _attempt: job.script_digest == name,
    }
    rests = rests_on[kind]

    def doubted(job: JobRow, attempt: AttemptRow) -> bool:
        return rests(job, attempt) and (
            since is None or attempt.recorded_at is None or attempt.recorded_at >= since
        )

    return doubted
