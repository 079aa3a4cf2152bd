"""Reports: list and search them, show one with its runs, launch it again."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from datetime import datetime
from typing import Generic, TypeVar

from pydantic import BaseModel, ConfigDict, Field
from sqlalchemy.orm import Session

from app.errors import InputError, NotFoundError
from app.ids import is_id
from app.judging.judgement import Verdict
from app.judging.report.attention import Attention
from app.judging.report.current_verdict import RunWord, Standing, standing
from app.runs.lookup.search import asked, finds_nothing
from app.runs.rows.acts import acts_on, overruling
from app.runs.rows.facts import reading_of
from app.runs.rows.similar_reports import SameReport, same_as
from app.runs.run_object.assemble import RunFacts, assemble
from app.runs.run_object.document import ReportPart
from app.runs.run_object.maintainer_acts import Act, Overruling
from app.states import Occasion, RunState
from app.storage.models import ReportRow, RunRow
from app.storage.queries import runs as run_queries
from app.storage.queries.reports import reports as queries
from app.storage.queries.reports.search import found
from worker.contract.text import storable_text

Item = TypeVar("Item")


class RunSummary(BaseModel):
    """A run in a list."""

    model_config = ConfigDict(frozen=True)

    id: str
    state: RunState
    preset: str | None
    occasion: Occasion = Field(
        default="submitted",
        description="why it was started; all but `submitted` were started without anybody waiting",
    )
    verdict: Verdict | None
    summary: str
    created_at: datetime
    finished_at: datetime | None
    contributed_by: str | None = None
    overruled: Verdict | None = Field(
        default=None, description="a maintainer's word beside the verdict, which is what was measured"
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
    overruled: Verdict | None = Field(default=None, description="a maintainer's word on the whole report")
    withdrawn_at: datetime | None = Field(
        default=None, description="from then on text, scripts and outputs are erased"
    )


class ReportDetails(BaseModel):
    """A report as read and as submitted, with its runs, newest first."""

    model_config = ConfigDict(frozen=True)

    id: str
    created_at: datetime
    form: str
    text: str
    claim_text: str | None
    report: ReportPart
    standing: Standing = Field(
        description="the verdict of our own runs; beside it what was contributed, which decides nothing"
    )
    runs: list[RunSummary]
    attention: Attention | None = Field(
        default=None, description="the group of what wants attention that it is in; null where nothing does"
    )
    labels: list[str] = Field(default_factory=list)
    closed_at: datetime | None = None
    duplicate_of: str | None = None
    overruled: Overruling | None = Field(
        default=None, description="a maintainer's word on it all; `standing` is what was measured"
    )
    withdrawn_at: datetime | None = Field(
        default=None, description="from then on text, scripts and outputs are erased"
    )
    acts: list[Act] = Field(default_factory=list, description="of maintainers on this report, newest first")
    same_as: list[SameReport] = Field(
        default_factory=list, description="reports with an equal or nearly equal script, newest first"
    )


@dataclass(frozen=True, slots=True)
class Page(Generic[Item]):
    """A page of a list, newest first; `next_cursor` is None on the last one."""

    items: tuple[Item, ...]
    next_cursor: str | None


MOST = 200


def _before(cursor: str | None) -> str | None:
    if cursor is not None and not is_id(cursor):
        raise InputError("This cursor is not one of ours.", code="bad_cursor", field="cursor")
    return cursor


def _limit(limit: int) -> int:
    if not 1 <= limit <= MOST:
        raise InputError(f"limit is a number from 1 to {MOST}.", code="bad_limit", field="limit")
    return limit


def _run_summary(row: RunRow) -> RunSummary:
    return RunSummary(
        id=row.id,
        state=row.state,
        preset=row.preset,
        occasion=row.occasion,
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
    """A page of reports. Raises InputError for a cursor that is none, QueryError for a search that can't be read."""
    # As kept: there is no NUL in Postgres.
    words, address = (None if text is None else storable_text(text) for text in (query, source_url))
    search = None if words is None else asked(session, words)
    if search is not None and finds_nothing(search.query):
        return Page(items=(), next_cursor=None)
    rows = found(session, search, before=_before(cursor), limit=_limit(limit) + 1, source_url=address)
    shown = rows[:limit]
    ids = [row.id for row in shown]
    counts, latest = queries.count_runs(session, ids), queries.latest_runs(session, ids)
    items = tuple(
        ReportSummary(
            id=row.id,
            title=row.title,
            source_url=row.source_url,
            created_at=row.created_at,
            runs=counts.get(row.id, 0),
            latest=_run_summary(latest[row.id]) if row.id in latest else None,
            labels=row.labels,
            closed_at=row.closed_at,
            duplicate_of=row.duplicate_of,
            overruled=row.overruled,
            withdrawn_at=row.withdrawn_at,
        )
        for row in shown
    )
    return Page(items=items, next_cursor=shown[-1].id if len(rows) > limit else None)


def list_runs(session: Session, *, cursor: str | None = None, limit: int = 50) -> Page[RunSummary]:
    """A page of runs. Raises InputError for a cursor that is none."""
    rows = queries.runs(session, before=_before(cursor), limit=_limit(limit) + 1)
    shown = rows[:limit]
    return Page(
        items=tuple(_run_summary(row) for row in shown),
        next_cursor=shown[-1].id if len(rows) > limit else None,
    )


def _found(row: ReportRow | None) -> ReportRow:
    if row is None:
        raise NotFoundError("There is no report with this id.")
    return row


def report_details(session: Session, report_id: str) -> ReportDetails:
    """A report with its runs. Raises NotFoundError."""
    row = _found(run_queries.report_of(session, report_id))
    runs = queries.runs_of_report(session, report_id)
    facts = RunFacts(
        id=row.id,
        state="queued",
        created_at=row.created_at,
        report_id=row.id,
        title=row.title,
        source_url=row.source_url,
    )
    return ReportDetails(
        id=row.id,
        created_at=row.created_at,
        form=row.form,
        text=row.text,
        claim_text=row.claim_text,
        report=assemble(facts, reading_of(session, row), ()).report,
        standing=standing(
            [
                RunWord(run=run.id, verdict=run.verdict, contributed_by=run.contributed_by)
                for run in runs
                if run.verdict is not None
            ]
        ),
        runs=[_run_summary(run) for run in runs],
        attention=row.attention,
        labels=row.labels,
        closed_at=row.closed_at,
        duplicate_of=row.duplicate_of,
        overruled=overruling(session, "report", row.id, row.overruled),
        withdrawn_at=row.withdrawn_at,
        acts=acts_on(session, "report", row.id),
        same_as=same_as(session, row),
    )


def made_from(session: Session, report: ReportDetails) -> str | None:
    """A digest of all that is told of a report, its runs and their history, and that may change; None while something is at work on it."""
    runs = queries.runs_as_kept(session, report.id)
    if runs is None:
        return None
    return hashlib.sha256(f"{runs} {report.model_dump_json()}".encode()).hexdigest()
