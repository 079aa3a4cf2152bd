"""Ends a run and opens it again.

All state changes between "open" and "over" are here, except for cancelling.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from datetime import datetime

from sqlalchemy.orm import Session

from app.judging.versions import JUDGING_RULES
from app.runs.lifecycle.comparisons import store_comparisons
from app.runs.lifecycle.find_changes import find_changes
from app.runs.lifecycle.report_verdict import store_report_verdict
from app.runs.rows.document_cache import cache_document
from app.runs.rows.events import emit
from app.runs.rows.facts import judge_stored, report_of_run, with_maintainer_acts
from app.runs.rows.search_index import index_run
from app.runs.run_object.assemble import JudgedRun
from app.runs.run_object.document import RunDocument
from app.runs.webhooks.news import announce_end, announce_toolchain
from app.states import OPEN_STATES
from app.storage.models import JobRow, RunRow
from app.storage.queries import runs as queries
from app.storage.tallies import Tally, count, observe


def end_run(session: Session, run: RunRow, *, moment: datetime) -> RunDocument:
    """End a run whose jobs have all ended: judge it once, and store all that follows.

    The run must be locked.
    """
    run.state, run.finished_at = "finished", moment
    session.flush()
    began = time.perf_counter()
    judged = judge_stored(session, run)
    observe(session, Tally.JUDGING_TIME, time.perf_counter() - began)
    return store_end(session, run, judged)


def store_end(session: Session, run: RunRow, judged: JudgedRun) -> RunDocument:
    """Store all that follows from the judgement of a run that has ended.

    The run must be locked and its state must be set.

    A contributed run changes neither the verdict of its report nor the list of changes. A canary changes
    nothing but itself.
    """
    store_judgement(run, queries.jobs_of_run(session, run.id), judged)
    count(session, Tally.VERDICTS, judged.document.verdict or "none")
    session.flush()
    if run.trigger == "canary":
        # It tests the service. Nothing about a report follows from it.
        emit(session, run, "run.finished" if run.state == "finished" else "run.cancelled")
        return judged.document
    store_comparisons(session, judged.comparisons)
    if run.contributed_by is None:
        changes = find_changes(session, run, judged)
        # Its group rests on the changes.
        store_report_verdict(session, run.report_id, judged)
        announce_toolchain(session, report_of_run(session, run), run, changes)
    emit(session, run, "run.finished" if run.state == "finished" else "run.cancelled")
    announce_end(session, run, judged.document)
    index_run(session, report_of_run(session, run), judged.document)
    session.flush()
    # This must come last: any later write would make the cached object stale.
    document = with_maintainer_acts(session, run, judged.document)
    cache_document(session, run, document)
    return document


def store_judgement(run: RunRow, jobs: Iterable[JobRow], judged: JudgedRun) -> None:
    """Write the verdicts of a run and of its judged jobs to their rows."""
    verdicts = {part.id: part.verdict for part in judged.document.jobs}
    for job in jobs:
        if job.state == "judged":
            job.verdict, job.rules = verdicts[job.id], JUDGING_RULES
    run.verdict, run.summary, run.rules = judged.document.verdict, judged.document.summary, JUDGING_RULES


def reopen_run(session: Session, run: RunRow, *, who: str | None = None) -> None:
    """Open a run again if it is over. Its verdict is removed. The run must be locked.

    `who` is the name of a token.
    """
    if run.state in OPEN_STATES:
        return
    run.state, run.verdict, run.rules, run.finished_at, run.summary = "running", None, None, None, ""
    emit(session, run, "run.reopened", **({} if who is None else {"token": who}))


def reopen_job(job: JobRow) -> None:
    """Queue a job again, without its verdict. The run and the job must be locked."""
    job.state, job.verdict, job.rules = "queued", None, None
