"""Reports and runs: lists, searches, and one report with its runs."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from datetime import datetime
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, Field
from sqlalchemy import Row
from sqlalchemy.orm import Session

from app.judging.judgement import Verdict
from app.judging.report.attention import Attention
from app.judging.report.current_verdict import CurrentVerdict
from app.runs.lifecycle.report_verdict import standing_of
from app.runs.lookup.search import finds_nothing, parse_search
from app.runs.rows.acts import acts_on, confirmation_of, disposition_of, earlier_claims, overruling
from app.runs.rows.by_id import get_report
from app.runs.rows.facts import reading_of
from app.runs.rows.page import Page, page
from app.runs.rows.similar_reports import SameReport, same_as
from app.runs.run_object.answer.disposition_part import DispositionPart, reply_markdown
from app.runs.run_object.answer.new_warnings import NewWarning
from app.runs.run_object.answer.part import AnswerPart
from app.runs.run_object.assemble import report_part
from app.runs.run_object.bisection_document import BisectionPart
from app.runs.run_object.document import ReportPart
from app.runs.run_object.maintainer_acts import Act, EarlierClaim, Overruling
from app.runs.run_object.removal_part import RemovalPart
from app.states import Disposition, RunState, Trigger
from app.storage.models import ReportRow, RunRow
from app.storage.queries.bisections import bisections_of_report
from app.storage.queries.changes import removals_of
from app.storage.queries.reports import reports as queries
from app.storage.queries.reports.search import find_reports
from worker.contract.text import storable_text

MOST_BISECTIONS = 10


class RunSummary(BaseModel):
    """A run in a list."""

    model_config = ConfigDict(frozen=True)

    id: str
    state: RunState
    preset: str | None
    occasion: Trigger = Field(
        default="submitted",
        description="why the run was started; nobody waits for a run that was not `submitted`",
    )
    verdict: Verdict | None
    summary: str
    created_at: datetime
    finished_at: datetime | None
    contributed_by: str | None = None
    overruled: Verdict | None = Field(
        default=None, description="a maintainer's verdict; `verdict` stays as measured"
    )


class ReportSummary(BaseModel):
    """A report in a list, with its latest run by our own nodes."""

    model_config = ConfigDict(frozen=True)

    id: str
    title: str
    source_url: str | None
    created_at: datetime
    runs: int
    latest: RunSummary | None
    labels: list[str] = Field(default_factory=list)
    closed_at: datetime | None = None
    duplicate_of: str | None = None
    disposition: Disposition | None = Field(
        default=None, description="why a maintainer closed it; null if it is open, or closed without a word"
    )
    confirmed_at: datetime | None = Field(
        default=None, description="when a maintainer confirmed that it is a bug; it stays open"
    )
    overruled: Verdict | None = Field(default=None, description="a maintainer's verdict on the whole report")
    attention: Attention | None = Field(
        default=None, description="why the report needs attention; null if it needs none"
    )
    withdrawn_at: datetime | None = Field(
        default=None, description="when its text, its scripts and their output were erased"
    )


class ReportDetails(BaseModel):
    """A report: its text, its reading, and its runs, newest first."""

    model_config = ConfigDict(frozen=True)

    id: str
    created_at: datetime
    form: str
    text: str
    claim_text: str | None
    report: ReportPart
    standing: CurrentVerdict = Field(
        description="the current verdict of our own runs; contributed verdicts are listed but decide nothing"
    )
    runs: list[RunSummary]
    attention: Attention | None = Field(
        default=None, description="why the report needs attention; null if it needs none"
    )
    labels: list[str] = Field(default_factory=list)
    closed_at: datetime | None = None
    duplicate_of: str | None = None
    disposition: DispositionPart | None = Field(
        default=None,
        description="why a maintainer closed it; null if it is open, or closed with a reason alone",
    )
    confirmed: DispositionPart | None = Field(
        default=None, description="the word of a maintainer that an open report is a bug"
    )
    overruled: Overruling | None = Field(
        default=None, description="a maintainer's verdict on the report; `standing` stays as measured"
    )
    withdrawn_at: datetime | None = Field(
        default=None, description="when its text, its scripts and their output were erased"
    )
    earlier_claims: list[EarlierClaim] = Field(
        default_factory=list,
        description="the claims before each correction, the newest first, with its author and reason",
    )
    bisections: list[BisectionPart] = Field(
        default_factory=list, description="the newest bisections of this report, newest first"
    )
    acts: list[Act] = Field(
        default_factory=list, description="the acts of maintainers on this report, newest first"
    )
    removals: list[RemovalPart] = Field(
        default_factory=list,
        description="what newer versions lack by the changes of this report, with the warnings of older ones",
    )
    answer: AnswerPart | None = Field(
        default=None,
        description="the verdict in four sentences, over all runs of the report; null without a run",
    )
    new_warnings: list[NewWarning] = Field(
        default_factory=list,
        description="warnings of the newer side of the regression or fix that the older side does not give",
    )
    same_as: list[SameReport] = Field(
        default_factory=list, description="reports with an equal or similar script, newest first"
    )


def _run_summary(row: RunRow | Row[Any]) -> RunSummary:
    return RunSummary(
        id=row.id,
        state=row.state,
        preset=row.preset,
        occasion=row.trigger,
        verdict=row.verdict,
        summary=row.summary,
        created_at=row.created_at,
        finished_at=row.finished_at,
        contributed_by=row.contributed_by,
        overruled=row.overruled,
    )


def list_reports(
    session: Session,
    *,
    cursor: str | None = None,
    limit: int = 50,
    source_url: str | None = None,
    query: str | None = None,
) -> Page[ReportSummary]:
    """A page of reports, newest first.

    Raises InputError, and QueryError for a search that can't be parsed.
    """
    # Postgres stores no NUL characters, so a search with one could never match.
    words, address = (None if text is None else storable_text(text) for text in (query, source_url))
    search = None if words is None else parse_search(session, words)
    if search is not None and finds_nothing(search.query):
        return Page(())

    def read(before: str | None, most: int) -> Sequence[ReportRow]:
        return find_reports(session, search, before=before, limit=most, source_url=address)

    reports = page(read, cursor=cursor, limit=limit)
    runs = queries.latest_runs(session, [row.id for row in reports.items])

    def summary(row: ReportRow) -> ReportSummary:
        latest = runs[row.id]
        return ReportSummary(
            id=row.id,
            title=row.title,
            source_url=row.source_url,
            created_at=row.created_at,
            runs=latest.runs,
            latest=None if latest.id is None else _run_summary(latest),
            labels=row.labels,
            closed_at=row.closed_at,
            duplicate_of=row.duplicate_of,
            disposition=row.disposition,
            confirmed_at=row.confirmed_at,
            overruled=row.overruled,
            attention=row.attention,
            withdrawn_at=row.withdrawn_at,
        )

    return reports.map(summary)


def list_runs(session: Session, *, cursor: str | None = None, limit: int = 50) -> Page[RunSummary]:
    """A page of runs, newest first. Raises InputError for a bad cursor or limit."""

    def read(before: str | None, most: int) -> Sequence[RunRow]:
        return queries.runs(session, before=before, limit=most)

    return page(read, cursor=cursor, limit=limit).map(_run_summary)


def report_details(session: Session, report_id: str) -> ReportDetails:
    """A report with its runs. Raises NotFoundError."""
    row = get_report(session, report_id)
    runs = queries.runs_of_report(session, report_id)
    return ReportDetails(
        id=row.id,
        created_at=row.created_at,
        form=row.form,
        text=row.text,
        claim_text=row.claim_text,
        report=report_part(
            reading_of(session, row), report_id=row.id, title=row.title, source_url=row.source_url
        ),
        standing=standing_of(runs),
        runs=[_run_summary(run) for run in runs],
        attention=row.attention,
        labels=row.labels,
        closed_at=row.closed_at,
        duplicate_of=row.duplicate_of,
        disposition=disposition_of(session, row),
        confirmed=confirmation_of(session, row),
        overruled=overruling(session, "report", row.id, row.overruled),
        withdrawn_at=row.withdrawn_at,
        earlier_claims=earlier_claims(row),
        bisections=_bisections(session, report_id),
        acts=acts_on(session, "report", row.id),
        removals=list(dict.fromkeys(map(RemovalPart.model_validate, removals_of(session, row.id)))),
        same_as=same_as(session, row),
    )


def current_run(report: ReportDetails) -> RunSummary | None:
    """The run that speaks for a report: that of the current verdict, else our newest run, else the newest."""
    return _speaking(report.runs, report.standing)


def current_run_id(session: Session, report_id: str) -> str | None:
    """The id of the run that speaks for a report, as `current_run`, by one question."""
    runs = queries.runs_of_report(session, report_id)
    speaking = _speaking(runs, standing_of(runs))
    return None if speaking is None else speaking.id


AnyRun = TypeVar("AnyRun", RunRow, RunSummary)


def _speaking(runs: Sequence[AnyRun], standing: CurrentVerdict) -> AnyRun | None:
    """The run of the current verdict, else our newest run, else the newest one."""
    current = next((run for run in runs if run.id == standing.run), None)
    own = next((run for run in runs if run.contributed_by is None), None)
    return current or own or next(iter(runs), None)


def _bisections(session: Session, report_id: str) -> list[BisectionPart]:
    """The newest bisections of a report, each with its answer so far."""
    rows = bisections_of_report(session, report_id, before=None, limit=MOST_BISECTIONS)
    return [
        BisectionPart.model_validate(
            {
                **row.answer,
                "id": row.id,
                "axis": row.axis,
                "state": run.state,
                "created_at": row.created_at,
                "finished_at": run.finished_at,
            }
        )
        for row, run in rows
    ]


def reply_of(report: ReportDetails, answer: AnswerPart, *, base: str) -> str | None:
    """The reply to the reporter in Markdown. `base` is the address of this service.

    None if no maintainer has closed the report with a disposition or confirmed it.
    """
    word = report.disposition or report.confirmed
    if word is None:
        return None
    return reply_markdown(
        word,
        summary=" ".join(filter(None, (answer.what, answer.where))) if report.standing.run else "",
        address=f"{base}/reports/{report.id}",
        other=f"{base}/reports/{report.duplicate_of}",
    )


def source_digest(session: Session, report: ReportDetails) -> str | None:
    """The digest of everything that the page of a report shows. None while a run of the report is open."""
    runs = queries.digest_of_runs(session, report.id)
    if runs is None:
        return None
    return hashlib.sha256(f"{runs} {report.model_dump_json()}".encode()).hexdigest()
