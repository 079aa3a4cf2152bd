"""Withdraw a report: its text, its scripts and their output are erased; digests and verdicts stay.

A maintainer can do this, and the submitter, who has a secret for it.
"""

from __future__ import annotations

from typing import Any

import structlog
from pydantic import ValidationError
from sqlalchemy.orm import Session

from app.clock import now
from app.errors import ConflictError, NotFoundError
from app.runs.lifecycle.cancel import cancel_run
from app.runs.lifecycle.extra.contrast import stop_contrast
from app.runs.lifecycle.report_verdict import store_report_verdict
from app.runs.rows.acts import SUBMITTER, checked_reason, store_act
from app.runs.rows.by_id import get_report
from app.runs.rows.facts import document_of
from app.runs.rows.withdraw_secret import secret_digest
from app.runs.run_object.erase import (
    erased_bisection,
    erased_document,
    erased_points,
    erased_reading,
    erased_result,
)
from app.runs.run_object.storable import digests_in, join_result, split_result, to_storable
from app.states import OPEN_STATES
from app.storage.models import BisectionRow, ReportRow, RunRow
from app.storage.queries import run_documents
from app.storage.queries import runs as queries
from app.storage.queries.changes import forget_removals
from app.storage.queries.reports import withdrawals
from app.storage.queries.reports.search import delete_words

log = structlog.get_logger(__name__)

SUBMITTERS_REASON = "Withdrawn by the submitter."


def report_to_withdraw(session: Session, secret: str) -> ReportRow:
    """The report that a submitter's secret belongs to. Raises NotFoundError."""
    report = withdrawals.report_of_secret(session, secret_digest(secret))
    if report is None:
        raise NotFoundError(
            "No report has this secret. It is the last part of the link in the answer to the submission."
        )
    return report


def withdraw_with_secret(session: Session, secret: str, *, reason: str = "") -> str:
    """Withdraw one's own report and return its id.

    Raises NotFoundError, ConflictError if it was withdrawn before, InputError.
    """
    report_id = report_to_withdraw(session, secret).id
    withdraw(session, report_id, reason=reason.strip() or SUBMITTERS_REASON, who=SUBMITTER)
    return report_id


def withdraw(session: Session, report_id: str, *, reason: str, who: str) -> None:
    """Erase a report, its scripts and their output.

    Raises NotFoundError, ConflictError if it was withdrawn before, InputError.
    """
    stored_reason = checked_reason(reason)
    get_report(session, report_id)
    # Runs are locked before their report. A run that was started in between is locked without waiting, which
    # avoids a deadlock.
    withdrawals.lock_runs(session, withdrawals.run_ids(session, report_id), wait=True)
    report = queries.lock_report(session, report_id)
    if report is None or report.withdrawn_at is not None:
        raise ConflictError("This report was withdrawn before.", code="withdrawn")
    runs = withdrawals.lock_runs(session, withdrawals.run_ids(session, report_id), wait=False)
    for run in runs:
        _erase_run(session, run)
    digests = digests_in(report.reading)
    _erase_report(report)
    store_report_verdict(session, report_id)
    delete_words(session, report_id)
    run_documents.delete_of_report(session, report_id)
    forget_removals(session, report_id)
    erased = withdrawals.erase_scripts(session, digests, report_id=report_id, moment=now())
    details = {
        "runs": len(runs),
        "scripts_erased": erased,
        "scripts_of_others_too": sorted(set(digests) - set(erased)),
    }
    store_act(session, "report", report_id, "withdrawn", reason=stored_reason, who=who, details=details)
    log.info("report_withdrawn", report_id=report_id, runs=len(runs), scripts=len(erased))


def _erase_run(session: Session, run: RunRow) -> None:
    """Cancel an open run, store its run object without texts, and erase the results of its attempts."""
    if run.state in OPEN_STATES:
        cancel_run(session, run.id)
        session.flush()
    stop_contrast(session, run)
    document = erased_document(document_of(session, run), moment=now())
    for attempt in withdrawals.attempts_with_results(session, run.id):
        attempt.result = _erase_result(attempt.result or {})
    withdrawals.delete_comparisons(
        session, (attempt.id for attempt in queries.attempts_of_run(session, run.id))
    )
    bisection = session.get(BisectionRow, run.id)
    if bisection is not None:
        bisection.answer = erased_bisection(bisection.answer)
        bisection.points = erased_points(bisection.points)
    run.plan_record = None
    run.withdrawn_record = to_storable(document.model_dump(mode="json", by_alias=True))


def _erase_result(stored: dict[str, Any]) -> dict[str, Any] | None:
    """A stored result without texts; None if it can't be read: erasing must work, whatever is stored."""
    try:
        return split_result(erased_result(join_result(stored, None)))[0]
    except ValidationError:
        return None


def _erase_report(report: ReportRow) -> None:
    report.title, report.text = "", ""
    report.claim_text = report.source_url = report.main_script = None
    report.reading = erased_reading(report.reading)
    report.earlier_claims = []
    report.withdrawn_at = now()
