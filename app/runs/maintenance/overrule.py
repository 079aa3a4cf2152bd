"""Overrule a verdict with a reason, or take that back. The measured verdict and all acts stay stored."""

from __future__ import annotations

from typing import Literal

from sqlalchemy.orm import Session

from app.errors import ConflictError
from app.judging.judgement import Verdict
from app.runs.lifecycle.report_verdict import store_report_verdict
from app.runs.rows.acts import store_act
from app.runs.rows.by_id import get_report, get_run
from app.runs.webhooks.news import announce_verdict
from app.storage.models import ReportRow, RunRow

Overrulable = Literal["run", "report"]


def overrule_run(session: Session, run_id: str, verdict: Verdict, *, reason: str, who: str) -> None:
    """Overrule the verdict of a finished run. Raises NotFoundError, ConflictError, InputError."""
    run = get_run(session, run_id, lock=True)
    if run.state != "finished":
        raise ConflictError(
            "This run has no verdict yet, so there is nothing to overrule.", code="run_not_finished"
        )
    _overrule(session, "run", run, verdict, measured=run.verdict, reason=reason, who=who)
    store_report_verdict(session, run.report_id)


def take_back_run(session: Session, run_id: str, *, reason: str, who: str) -> None:
    """Take back the overruling of a run. Raises NotFoundError, ConflictError, InputError."""
    run = get_run(session, run_id, lock=True)
    _take_back(session, "run", run, reason=reason, who=who)
    store_report_verdict(session, run.report_id)


def overrule_report(session: Session, report_id: str, verdict: Verdict, *, reason: str, who: str) -> None:
    """Overrule the verdict of a report. Raises NotFoundError, InputError."""
    report = get_report(session, report_id, lock=True)
    before = report.overruled or report.verdict
    _overrule(session, "report", report, verdict, measured=None, reason=reason, who=who)
    store_report_verdict(session, report_id)
    announce_verdict(session, report, before=before, after=verdict)


def take_back_report(session: Session, report_id: str, *, reason: str, who: str) -> None:
    """Take back the overruling of a report. Raises NotFoundError, ConflictError, InputError."""
    report = get_report(session, report_id, lock=True)
    before = report.overruled
    _take_back(session, "report", report, reason=reason, who=who)
    store_report_verdict(session, report_id)
    announce_verdict(session, report, before=before, after=report.verdict)


def _overrule(
    session: Session,
    kind: Overrulable,
    row: RunRow | ReportRow,
    verdict: Verdict,
    *,
    measured: Verdict | None,
    reason: str,
    who: str,
) -> None:
    if row.overruled is None and verdict is row.verdict:
        raise ConflictError(
            "This is the measured verdict, so there is nothing to overrule. To say that it is by design,"
            " announced or not yours, close the report with that word.",
            code="same_verdict",
        )
    details = {
        "verdict": verdict.value,
        "before": row.overruled and row.overruled.value,
        "measured": measured and measured.value,
    }
    store_act(session, kind, row.id, "overruled", reason=reason, who=who, details=details)
    row.overruled = verdict


def _take_back(
    session: Session, kind: Overrulable, row: RunRow | ReportRow, *, reason: str, who: str
) -> None:
    if row.overruled is None:
        raise ConflictError(
            "Nobody has overruled this, so there is nothing to take back.", code="not_overruled"
        )
    store_act(
        session, kind, row.id, "taken_back", reason=reason, who=who, details={"before": row.overruled.value}
    )
    row.overruled = None
