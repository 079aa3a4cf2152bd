"""The answer of a report, for pages and REST."""

from __future__ import annotations

from sqlalchemy.orm import Session

from app.judging.report.attention import Attention
from app.runs.answers.report_answer import report_answer
from app.runs.lookup.reports import ReportDetails, current_run
from app.runs.lookup.runs import run_document
from app.runs.run_object.answer.part import AnswerPart
from app.runs.run_object.document import RunDocument


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
    run = run_document(session, run_id)
    return report_answer(session, run, report_id=report_id, attention=attention)


def answer_of_report(session: Session, report: ReportDetails, run: RunDocument | None) -> AnswerPart:
    """The answer of a report, whose current run is `run`."""
    if run is None:
        return AnswerPart()
    return report_answer(session, run, report_id=report.id, attention=report.attention)
