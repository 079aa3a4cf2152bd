"""The answer of a report, for pages and REST."""

from __future__ import annotations

from sqlalchemy.orm import Session

from app.judging.report.attention import Attention
from app.runs.answers.report_answer import answer_and_flip, report_answer
from app.runs.lookup.reports import ReportDetails, current_run
from app.runs.lookup.runs import run_document
from app.runs.run_object.answer.new_warnings import NewWarning, new_warnings_of
from app.runs.run_object.answer.part import AnswerPart
from app.runs.run_object.document import RunDocument


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
