"""The answer of a report: that of its current run, with what its runs show together and earlier ones know."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from sqlalchemy import Row
from sqlalchemy.orm import Session

from app.judging.judgement import SIGHTINGS
from app.judging.report.attention import Attention
from app.judging.report.change import ChangeKind
from app.runs.rows.document_cache import cache_document, cached_document
from app.runs.rows.facts import document_of
from app.runs.run_object.answer.flips import Flip, flip_in
from app.runs.run_object.answer.known_answer import known_answer, leaves_open
from app.runs.run_object.answer.part import AnswerPart
from app.runs.run_object.answer.sentences import answer_of
from app.runs.run_object.document import JobPart, RunDocument
from app.runs.run_object.removal_part import RemovalPart
from app.storage.models import ChangeRow, RunRow
from app.storage.queries import changes as queries
from app.storage.queries.reports.report_verdict import runs_that_saw
from worker.contract.versions import NO_VERSION, parse_version

# Earlier runs that are read for the known answer.
MOST_EARLIER = 4


def report_answer(
    session: Session, run: RunDocument, *, report_id: str, attention: Attention | None
) -> AnswerPart:
    """The answer of a report by one of its runs. `attention` is the group that its cells put it in."""
    return answer_and_flip(session, run, report_id=report_id, attention=attention)[0]


def answer_and_flip(
    session: Session, run: RunDocument, *, report_id: str, attention: Attention | None
) -> tuple[AnswerPart, Flip | None]:
    """The answer, and the regression or fix that it rests on: of several runs, or of this one alone."""
    row = _newest_flip(queries.flips_of(session, report_id), attention)
    flip = None if row is None else _flip(session, *row, run=run)
    return _answer(session, run, flip, report_id=report_id), flip or flip_in(run)


def _answer(session: Session, run: RunDocument, flip: Flip | None, *, report_id: str) -> AnswerPart:
    answer = run.answer if flip is None else answer_of(run, flip)
    if run.contributed is not None or not leaves_open(run, answer):
        return answer
    rows = runs_that_saw(session, report_id, SIGHTINGS, before=run.id, limit=MOST_EARLIER)
    known = known_answer(run, [_document(session, row) for row in rows], flip)
    return answer if known is None else answer.model_copy(update={"known": known})


def _document(session: Session, run: RunRow) -> RunDocument:
    document = cached_document(session, run)
    if document is None:
        document = document_of(session, run)
        cache_document(session, run, document)
    return document


class _FlipRow(NamedTuple):
    change: ChangeRow
    before_run: str


def _newest_flip(rows: Sequence[Row[ChangeRow, str]], attention: Attention | None) -> _FlipRow | None:
    """The change in the newest version, if what it says still holds.

    A report that is fixed on one target and regressed on another one has regressed. A change whose older side
    warned of it counts first: a later run that did not keep warnings takes nothing of that back.
    """
    newest = max((parse_version(row.ChangeRow.newer) or NO_VERSION for row in rows), default=None)
    here = [_FlipRow(*row) for row in rows if (parse_version(row.ChangeRow.newer) or NO_VERSION) == newest]
    kind = ChangeKind.FIXED if attention is Attention.FIXED else ChangeKind.REGRESSED
    candidates = [row for row in here if row.change.kind is kind]
    foretold = (row for row in candidates if row.change.removal is not None)
    return next(foretold, candidates[0] if candidates else None)


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
    row = None if run.id == run_id else session.get(RunRow, run_id)
    document = run if row is None else _document(session, row)
    return next((job for job in document.jobs if job.id == job_id), None)
