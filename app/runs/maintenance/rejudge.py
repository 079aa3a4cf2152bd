"""Judge stored attempts by the current rules: list the verdicts that change, or store them with acts."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import BaseModel, ConfigDict, Field
from sqlalchemy.orm import Session

from app.judging.judgement import Verdict
from app.judging.versions import JUDGING_RULES
from app.runs.lifecycle.finish import store_judgement
from app.runs.lifecycle.report_verdict import store_report_verdict
from app.runs.rows.acts import checked_reason, store_act
from app.runs.rows.by_id import get_report
from app.runs.rows.facts import judge_stored, report_of_run
from app.runs.rows.page import MOST_ITEMS, page
from app.runs.rows.search_index import index_run
from app.runs.run_object.document import RunDocument
from app.storage.models import JobRow, RunRow
from app.storage.queries import changes
from app.storage.queries import judgements as queries
from app.storage.queries import runs as run_queries


class JobFlip(BaseModel):
    """A cell whose verdict changes with the current rules."""

    model_config = ConfigDict(frozen=True)

    job: str
    before: Verdict | None
    after: Verdict | None


class Flip(BaseModel):
    """A run whose verdict, or the verdict of one of its cells, changes with the current rules."""

    model_config = ConfigDict(frozen=True)

    run: str
    report: str
    before: Verdict | None
    after: Verdict | None
    rules: int | None = Field(
        description="the version of the rules that gave the earlier verdict; null if it is unknown"
    )
    overruled: Verdict | None = Field(description="a maintainer's verdict, which does not change")
    contributed: bool = False
    jobs: list[JobFlip]


class Judgements(BaseModel):
    """The result of judging a page of runs again. Runs of withdrawn reports are left out."""

    model_config = ConfigDict(frozen=True)

    present_rules: int
    applied: bool
    looked_at: int
    flips: list[Flip]
    next: str | None = Field(description="the cursor of the next page, null on the last one")


def judge_again(
    session: Session,
    *,
    report_id: str | None = None,
    cursor: str | None = None,
    limit: int = MOST_ITEMS,
    apply: bool = False,
    reason: str = "",
    who: str = "",
) -> Judgements:
    """Judge a page of finished runs again, oldest first, of one report or of all.

    `apply` stores the verdicts.

    Raises NotFoundError, InputError.
    """
    if report_id is not None:
        get_report(session, report_id)
    stored_reason = checked_reason(reason) if apply else ""

    def read(after: str | None, most: int) -> Sequence[str]:
        return queries.finished_runs(session, report_id=report_id, after=after, limit=most)

    runs = page(read, cursor=cursor, limit=limit, id_of=str)
    flips, looked_at = list[Flip](), 0
    for run_id in runs.items:
        run = run_queries.lock_run(session, run_id) if apply else run_queries.run_of(session, run_id)
        # The run may have been reopened or withdrawn since the page was read.
        if run is None or run.state != "finished" or run.is_withdrawn:
            continue
        looked_at += 1
        flip = _judge(session, run, apply=apply, reason=stored_reason, who=who)
        if flip is not None:
            flips.append(flip)
    return Judgements(
        present_rules=JUDGING_RULES, applied=apply, looked_at=looked_at, flips=flips, next=runs.next_cursor
    )


def judge_run_again(session: Session, run: RunRow, *, reason: str, who: str) -> Flip | None:
    """Judge a finished run by the present claim and rules, and store its verdicts. The run must be locked."""
    return _judge(session, run, apply=True, reason=reason, who=who)


def flip_of(session: Session, run: RunRow) -> Flip | None:
    """How a finished run flips by the present claim and rules. Nothing is stored."""
    return _judge(session, run, apply=False, reason="", who="")


def _judge(session: Session, run: RunRow, *, apply: bool, reason: str, who: str) -> Flip | None:
    judged = judge_stored(session, run)
    document = judged.document
    jobs = {job.id: job for job in run_queries.jobs_of_run(session, run.id, lock=apply)}
    flip = _flip(run, jobs, document)
    if apply:
        if flip is not None:
            details = {
                **flip.model_dump(mode="json", include={"before", "after", "jobs"}),
                "rules_before": run.rules,
                "rules": JUDGING_RULES,
            }
            store_act(session, "run", run.id, "judged_again", reason=reason, who=who, details=details)
        store_judgement(run, jobs.values(), judged)
        session.flush()
        changes.delete_of_jobs(session, [] if flip is None else [job.job for job in flip.jobs])
        index_run(session, report_of_run(session, run), document)
        store_report_verdict(session, run.report_id, judged)
    return flip


def _flip(run: RunRow, jobs: dict[str, JobRow], document: RunDocument) -> Flip | None:
    changed = [
        JobFlip(job=part.id, before=jobs[part.id].verdict, after=part.verdict)
        for part in document.jobs
        if jobs[part.id].verdict is not part.verdict
    ]
    if document.verdict is run.verdict and not changed:
        return None
    return Flip(
        run=run.id,
        report=run.report_id,
        before=run.verdict,
        after=document.verdict,
        rules=run.rules,
        overruled=run.overruled,
        contributed=run.contributed_by is not None,
        jobs=changed,
    )
