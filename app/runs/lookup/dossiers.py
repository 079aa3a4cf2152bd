"""The dossier of a stored report: that of its newest run with a traced cell, if possible our own."""

from __future__ import annotations

from sqlalchemy.orm import Session

from app.errors import NotFoundError
from app.judging.dossier.document import Dossier
from app.runs.lookup.reports import report_details
from app.runs.lookup.runs import run_document
from app.runs.run_object.dossier_of_run import dossier_of_run, has_trace
from app.settings import ServiceSettings
from app.states import OPEN_STATES

# Runs of the report to look through, newest first.
MOST_RUNS = 20


def dossier_of_report(session: Session, report_id: str, *, settings: ServiceSettings) -> Dossier:
    """The dossier of a report. Raises NotFoundError if no run of it was traced, or if it is withdrawn."""
    report = report_details(session, report_id)
    if report.withdrawn_at is not None:
        raise NotFoundError("This report was withdrawn: its results are erased.")
    # A contributed trace is better than none.
    rows = sorted(report.runs[:MOST_RUNS], key=lambda run: run.contributed_by is not None)
    is_under_way = False
    for row in rows:
        run = run_document(session, row.id, settings=settings)
        if has_trace(run):
            return dossier_of_run(run)
        is_under_way |= run.state in OPEN_STATES
    if is_under_way:
        raise NotFoundError("A run of this report is under way, and none of its cells is traced yet.")
    raise NotFoundError(
        "No run of this report was traced. Start one: POST to `explain` of the report, or the tool `explain`"
        " with `start`."
    )
