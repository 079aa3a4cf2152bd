"""Runs and reports by the id that a caller sent."""

from __future__ import annotations

from sqlalchemy.orm import Session

from app.errors import ConflictError, NotFoundError
from app.storage.models import ReportRow, RunRow
from app.storage.queries import runs as queries


def get_run(session: Session, run_id: str, *, lock: bool = False) -> RunRow:
    """The run with this id. Raises NotFoundError."""
    run = queries.lock_run(session, run_id) if lock else queries.run_of(session, run_id)
    if run is None:
        raise NotFoundError("There is no run with this id.")
    return run


def get_report(session: Session, report_id: str, *, lock: bool = False) -> ReportRow:
    """The report with this id. Raises NotFoundError."""
    report = queries.lock_report(session, report_id) if lock else queries.report_of(session, report_id)
    if report is None:
        raise NotFoundError("There is no report with this id.")
    return report


def get_runnable_report(session: Session, report_id: str) -> ReportRow:
    """The report with this id. Nobody can withdraw it before this transaction ends.

    Raises NotFoundError, and ConflictError for a withdrawn report.
    """
    report = queries.hold_report(session, report_id)
    if report is None:
        raise NotFoundError("There is no report with this id.")
    if report.withdrawn_at is not None:
        raise withdrawn_error()
    return report


def withdrawn_error() -> ConflictError:
    """The error for a report that can no longer be run."""
    return ConflictError("This report was withdrawn: there is nothing left to run.", code="withdrawn")
