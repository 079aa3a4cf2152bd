"""Overrule a verdict with a reason, and take that back: the measured verdict stays where it is, and every act stays in the history."""

from __future__ import annotations

from typing import Literal

from sqlalchemy.orm import Session

from app.errors import ConflictError, NotFoundError
from app.judging.judgement import Verdict
from app.runs.lifecycle.report_verdict import keep_standing
from app.runs.rows.acts import keep_act
from app.storage.models import ReportRow, RunRow
from app.storage.queries import runs as queries

Overrulable = Literal["run", "report"]


def overrule_run(session: Session, run_id: str, verdict: Verdict, *, reason: str, who: str) -> None:
    """Say another verdict of a finished run. Raises NotFoundError, ConflictError, InputError."""
    run = _run(session, run_id)
    if run.state != "finished":
        raise ConflictError(
            "This run has no verdict yet, so there is nothing to overrule.", code="run_not_finished"
        )
    _overrule(session, "run", run, verdict, measured=run.verdict, reason=reason, who=who)
    keep_standing(session, run.report_id)


def take_back_run(session: Session, run_id: str, *, reason: str, who: str) -> None:
    """Let the measured verdict of a run stand again. Raises NotFoundError, ConflictError, InputError."""
    run = _run(session, run_id)
    _take_back(session, "run", run, reason=reason, who=who)
    keep_standing(session, run.report_id)


def overrule_report(session: Session, report_id: str, verdict: Verdict, *, reason: str, who: str) -> None:
    """Say a verdict of a report, whatever its runs measured. Raises NotFoundError, InputError."""
    _overrule(session, "report", _report(session, report_id), verdict, measured=None, reason=reason, who=who)
    keep_standing(session, report_id)


def take_back_report(session: Session, report_id: str, *, reason: str, who: str) -> None:
    """Let what the runs of a report measured stand again. Raises NotFoundError, ConflictError, InputError."""
    _take_back(session, "report", _report(session, report_id), reason=reason, who=who)
    keep_standing(session, report_id)


def _run(session: Session, run_id: str) -> RunRow:
    run = queries.lock_run(session, run_id)
    if run is None:
        raise NotFoundError("There is no run with this id.")
    return run


def _report(session: Session, report_id: str) -> ReportRow:
    report = queries.lock_report(session, report_id)
    if report is None:
        raise NotFoundError("There is no report with this id.")
    return report


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
    said = {
        "verdict": verdict.value,
        "before": row.overruled and row.overruled.value,
        "measured": measured and measured.value,
    }
    keep_act(session, kind, row.id, "overruled", reason=reason, who=who, details=said)
    row.overruled = verdict


def _take_back(
    session: Session, kind: Overrulable, row: RunRow | ReportRow, *, reason: str, who: str
) -> None:
    if row.overruled is None:
        raise ConflictError(
            "Nobody has overruled this, so there is nothing to take back.", code="not_overruled"
        )
    keep_act(
        session, kind, row.id, "taken_back", reason=reason, who=who, details={"before": row.overruled.value}
    )
    row.overruled = None
