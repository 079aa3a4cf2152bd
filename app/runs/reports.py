"""Reports: list and search them, show one with its runs, launch it again."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Generic, TypeVar

from pydantic import BaseModel, ConfigDict
from sqlalchemy.orm import Session

from app.judging.judgement import Verdict
from app.runs.document import ReportPart, RunDocument, RunState
from app.settings import ServiceSettings
from app.targets.target import Target

Item = TypeVar("Item")


class RunSummary(BaseModel):
    """A run in a list."""

    model_config = ConfigDict(frozen=True)

    id: str
    state: RunState
    preset: str | None
    verdict: Verdict | None
    summary: str
    created_at: datetime
    finished_at: datetime | None


class ReportSummary(BaseModel):
    """A report in a list, with its latest run."""

    model_config = ConfigDict(frozen=True)

    id: str
    title: str
    source_url: str | None
    created_at: datetime
    runs: int
    latest: RunSummary | None


class ReportDetails(BaseModel):
    """A report as read and as submitted, with its runs, newest first."""

    model_config = ConfigDict(frozen=True)

    id: str
    created_at: datetime
    form: str
    text: str
    claim_text: str | None
    report: ReportPart
    runs: list[RunSummary]


@dataclass(frozen=True, slots=True)
class Page(Generic[Item]):
    """A page of a list, newest first; `next_cursor` is None on the last one."""

    items: tuple[Item, ...]
    next_cursor: str | None


def list_reports(
    session: Session, *, cursor: str | None = None, limit: int = 50, source_url: str | None = None, query: str | None = None
) -> Page[ReportSummary]:
    """A page of reports. Raises InputError for a cursor that is none."""
    raise NotImplementedError


def list_runs(session: Session, *, cursor: str | None = None, limit: int = 50) -> Page[RunSummary]:
    """A page of runs."""
    raise NotImplementedError


def report_details(session: Session, report_id: str) -> ReportDetails:
    """A report with its runs. Raises NotFoundError."""
    raise NotImplementedError


def launch(
    session: Session,
    report_id: str,
    *,
    settings: ServiceSettings,
    preset: str | None = None,
    targets: tuple[Target, ...] | None = None,
    repeats: int | None = None,
    idempotency_key: str | None = None,
) -> RunDocument:
    """A new run of a report that is kept. Raises NotFoundError, InputError; the caller commits."""
    raise NotImplementedError
