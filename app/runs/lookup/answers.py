"""The answer of a report: that of its current run, with the regression or fix that its runs show together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from sqlalchemy import Row
from sqlalchemy.orm import Session

from app.judging.report.attention import Attention
from app.judging.report.change import ChangeKind
from app.runs.lookup.reports import ReportDetails, current_run
from app.runs.lookup.runs import run_document
from app.runs.run_object.answer.flips import Flip
from app.runs.run_object.answer.part import AnswerPart
from app.runs.run_object.answer.sentences import answer_of
from app.runs.run_object.document import JobPart, RunDocument
from app.runs.run_object.removal_part import RemovalPart
from app.storage.models import ChangeRow
from app.storage.queries import changes as queries
from worker.contract.versions import NO_VERSION, parse_version


def with_answer(session: Session, report: ReportDetails) -> ReportDetails:
    """The report with its answer, if it was run. A withdrawn report has it, too: it holds no text."""
    current = current_run(report)
    if current is None:
        return report
    answer = answer_of_report(session, report, run_document(session, current.id))
    return report.model_copy(update={"answer": answer})


def answer_of_run(
    session: Session, run_id: str, *, report_id: str, attention: Attention | None
) -> AnswerPart:
    """The answer of a report by one of its runs. Raises NotFoundError."""
    return _answer(session, run_document(session, run_id), report_id=report_id, attention=attention)


def answer_of_report(session: Session, report: ReportDetails, run: RunDocument | None) -> AnswerPart:
    """The answer of a report, whose current run is `run`."""
    if run is None:
        return AnswerPart()
    return _answer(session, run, report_id=report.id, attention=report.attention)


def _answer(session: Session, run: RunDocument, *, report_id: str, attention: Attention | None) -> AnswerPart:
    row = _newest_flip(queries.flips_of(session, report_id), attention)
    return run.answer if row is None else answer_of(run, _flip(session, *row, run=run))


class _FlipRow(NamedTuple):
    change: ChangeRow
    before_run: str


def _newest_flip(rows: Sequence[Row[ChangeRow, str]], attention: Attention | None) -> _FlipRow | None:
    """The change in the newest version, if what it says still holds.

    A report that is fixed on one target and regressed on another one has regressed.
    """
    newest = max((parse_version(row.ChangeRow.newer) or NO_VERSION for row in rows), default=None)
    here = [_FlipRow(*row) for row in rows if (parse_version(row.ChangeRow.newer) or NO_VERSION) == newest]
    kind = ChangeKind.FIXED if attention is Attention.FIXED else ChangeKind.REGRESSED
    return next((row for row in here if row.change.kind is kind), None)


def _flip(session: Session, change: ChangeRow, before_run: str, *, run: RunDocument) -> Flip:
    return Flip(
        kind=change.kind,
        package=change.axis,
        older=change.older,
        newer=change.newer,
        before=_job(session, before_run, change.before_job_id, run=run),
        after=_job(session, change.run_id, change.job_id, run=run),
        removal=None if change.removal is None else RemovalPart.model_validate(change.removal),
    )


def _job(session: Session, run_id: str, job_id: str, *, run: RunDocument) -> JobPart | None:
    document = run if run.id == run_id else run_document(session, run_id)
    return next((job for job in document.jobs if job.id == job_id), None)
