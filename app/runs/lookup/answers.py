"""The answer of a report, for pages and REST."""

from __future__ import annotations

from sqlalchemy.orm import Session

from app.judging.judgement import SIGHTINGS
from app.judging.report.attention import Attention
from app.judging.report.owner import Owner
from app.runs.answers.report_answer import answer_and_flip, report_answer
from app.runs.lookup.reports import ReportDetails, current_run, current_run_id
from app.runs.lookup.runs import run_document
from app.runs.rows.acts import confirmation_of, disposition_of
from app.runs.rows.by_id import get_report
from app.runs.run_object.answer.disposition_part import DISPOSITIONS
from app.runs.run_object.answer.new_warnings import NewWarning, new_warnings_of
from app.runs.run_object.answer.part import AnswerPart
from app.runs.run_object.document import RunDocument

REPORT_KNOWS = "The report knows more:"


def with_answer(session: Session, report: ReportDetails) -> ReportDetails:
    """The report with its answer and its new warnings, if it was run.

    A withdrawn report has its answer, too: it holds no text.
    """
    current = current_run(report)
    if current is None:
        return report
    answer, warnings = answer_and_warnings(session, report, run_document(session, current.id))
    return report.model_copy(update={"answer": answer, "new_warnings": warnings})


def answer_of_run(
    session: Session, run_id: str, *, report_id: str, attention: Attention | None
) -> AnswerPart:
    """The answer of a report by one of its runs. Raises NotFoundError."""
    run = run_document(session, run_id)
    return report_answer(session, run, report_id=report_id, attention=attention)


def answer_of_report(session: Session, report: ReportDetails, run: RunDocument | None) -> AnswerPart:
    """The answer of a report, whose current run is `run`."""
    return answer_and_warnings(session, report, run)[0]


def answer_and_warnings(
    session: Session, report: ReportDetails, run: RunDocument | None
) -> tuple[AnswerPart, list[NewWarning]]:
    """The answer of a report, whose current run is `run`, and the warnings that only its newer side gives."""
    if run is None:
        return AnswerPart(), []
    answer, flip = answer_and_flip(session, run, report_id=report.id, attention=report.attention)
    return answer, new_warnings_of(flip)


def is_decided(session: Session, run: RunDocument) -> bool:
    """Whether a maintainer has closed, confirmed or overruled the report of a run, or the run."""
    if run.report.id is None or run.overruled is not None:
        return run.overruled is not None
    row = get_report(session, run.report.id)
    return any(word is not None for word in (row.closed_at, row.confirmed_at, row.overruled))


def known_by_report(session: Session, run: RunDocument) -> str:
    """The answer of a run's report in a sentence, if it knows more than the run; else empty.

    Only a run that saw the claim and leaves open whose it is can be told more.
    """
    if (
        run.report.id is None
        or run.contributed is not None
        or run.withdrawn_at is not None
        or run.overruled is not None
        or run.verdict not in SIGHTINGS
        or run.answer.owner is not Owner.OPEN
    ):
        return ""
    row = get_report(session, run.report.id)
    word = disposition_of(session, row) or confirmation_of(session, row)
    if word is not None:
        known = DISPOSITIONS[word.word]
        return f"{REPORT_KNOWS} a maintainer decided: {known.name}. {known.sentence}"
    current = current_run_id(session, row.id) or run.id
    newest = run if current == run.id else run_document(session, current)
    of_report = report_answer(session, newest, report_id=row.id, attention=row.attention)
    known_answer = of_report if of_report.owner is not Owner.OPEN else of_report.known or of_report
    what = of_report.what if of_report.baseline and of_report.what != run.answer.what else ""
    whose = "" if known_answer.owner in {Owner.OPEN, Owner.NOBODY} else known_answer.whose
    words = " ".join(filter(None, (what, whose)))
    return f"{REPORT_KNOWS} {words}" if words else ""
