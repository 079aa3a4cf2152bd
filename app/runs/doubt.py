"""When a card turns out to be faulty: what it gave since its last passed check counts no more, and the verdicts on it are open again."""

from __future__ import annotations

import structlog
from sqlalchemy.orm import Session

from app.runs.events import emit
from app.runs.settle import restart_job, settle_job
from app.runs.standing import keep_standing
from app.settings import ServiceSettings
from app.storage.queries import queue
from app.storage.queries import runs as queries
from worker.contract import CardState, Hello, Observation

log = structlog.get_logger(__name__)


def rests_on(node: str, observation: Observation) -> list[str]:
    """The checks that an attempt's evidence rests on, one for each of its cards."""
    return [_check(node, card.index, card.sound_at) for card in observation.cards]


def _check(node: str, index: int, sound_at: float | None) -> str:
    return f"{node}/{index}/{sound_at}"


def doubt_cards(session: Session, hello: Hello, *, settings: ServiceSettings) -> None:
    """Open again what rests on a card that this node found faulty. Doing it twice changes nothing."""
    checks = [_check(hello.node, gpu.index, gpu.sound_at) for gpu in hello.gpus if gpu.state is CardState.FAULTY]
    for run_id in queue.runs_on_cards(session, checks) if checks else ():
        _reopen(session, run_id, checks=set(checks), settings=settings)


def _reopen(session: Session, run_id: str, *, checks: set[str], settings: ServiceSettings) -> None:
    run = queries.lock_run(session, run_id)
    if run is None or run.state == "cancelled":
        return
    attempts = queries.attempts_of_run(session, run_id, lock=True)
    doubted = {row.job_id for row in attempts if row.state == "recorded" and row.counted and checks.intersection(row.cards or ())}
    if not doubted:
        return
    if run.state == "finished":
        run.state, run.verdict, run.finished_at, run.summary = "running", None, None, ""
        emit(session, run, "run.reopened")
    for job in queries.jobs_of_run(session, run_id, lock=True):
        if job.id in doubted:
            job.state, job.verdict = "queued", None
            restart_job(session, run, job, attempts=[row for row in attempts if row.job_id == job.id])
            settle_job(session, run, job, settings=settings)
    keep_standing(session, run.report_id)
    log.warning("run_reopened", run_id=run_id, jobs=len(doubted))
