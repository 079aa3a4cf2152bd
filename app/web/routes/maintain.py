"""The forms for maintainers, and the page for withdrawing a report. A maintainer must give a reason."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated

from fastapi import APIRouter, Form
from fastapi.responses import RedirectResponse, Response

from app.errors import InputError
from app.http.access import CanRead, MaintainerByForm, ViewerDep
from app.http.checked_route import CheckedRoute
from app.http.state import SessionDep, SettingsDep
from app.judging.judgement import Verdict
from app.runs.maintenance import overrule, quarantine, rejudge, triage, withdraw
from app.states import Disposition, QuarantineKind
from app.web.pages import page

router = APIRouter(include_in_schema=False, route_class=CheckedRoute)
Text = Annotated[str, Form()]


def _back(path: str) -> Response:
    return RedirectResponse(path, status_code=303)


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


@router.post("/runs/{run_id}/overrule")
def post_overrule_run(
    *,
    run_id: str,
    session: SessionDep,
    who: MaintainerByForm,
    verdict: Annotated[Verdict, Form()],
    reason: Text = "",
) -> Response:
    """Overrule the verdict of a run."""
    overrule.overrule_run(session, run_id, verdict, reason=reason, who=who)
    return _back(f"/runs/{run_id}")


@router.post("/runs/{run_id}/take-back")
def post_take_back_run(
    run_id: str, session: SessionDep, who: MaintainerByForm, reason: Text = ""
) -> Response:
    """Take the overruling of a run back: its measured verdict is valid again."""
    overrule.take_back_run(session, run_id, reason=reason, who=who)
    return _back(f"/runs/{run_id}")


@router.post("/reports/{report_id}/overrule")
def post_overrule_report(
    *,
    report_id: str,
    session: SessionDep,
    who: MaintainerByForm,
    verdict: Annotated[Verdict, Form()],
    reason: Text = "",
) -> Response:
    """Overrule the verdict of a report."""
    overrule.overrule_report(session, report_id, verdict, reason=reason, who=who)
    return _back(f"/reports/{report_id}")


@router.post("/reports/{report_id}/take-back")
def post_take_back_report(
    report_id: str, session: SessionDep, who: MaintainerByForm, reason: Text = ""
) -> Response:
    """Take the overruling of a report back: the verdict of its runs is valid again."""
    overrule.take_back_report(session, report_id, reason=reason, who=who)
    return _back(f"/reports/{report_id}")


@router.post("/reports/{report_id}/label")
def post_label(
    *,
    report_id: str,
    session: SessionDep,
    who: MaintainerByForm,
    add: Text = "",
    remove: Text = "",
    reason: Text = "",
) -> Response:
    """Add and remove labels."""
    triage.label_report(session, report_id, add=_names(add), remove=_names(remove), reason=reason, who=who)
    return _back(f"/reports/{report_id}#maintain")


@router.post("/reports/{report_id}/close")
def post_close(
    *,
    report_id: str,
    session: SessionDep,
    who: MaintainerByForm,
    disposition: Annotated[Disposition | None, Form()] = None,
    duplicate_of: Text = "",
    fixed_by: Text = "",
    reason: Text = "",
) -> Response:
    """Close a report. The other report of a duplicate is named by its id or by its address."""
    triage.close_report(
        session,
        report_id,
        disposition=disposition,
        duplicate_of=duplicate_of.strip().rstrip("/").rpartition("/")[2] or None,
        fixed_by=fixed_by,
        reason=reason,
        who=who,
    )
    return _back(f"/reports/{report_id}")


@router.post("/reports/{report_id}/reopen")
def post_reopen(report_id: str, session: SessionDep, who: MaintainerByForm, reason: Text = "") -> Response:
    """Reopen a report."""
    triage.reopen_report(session, report_id, reason=reason, who=who)
    return _back(f"/reports/{report_id}")


@router.post("/reports/{report_id}/confirm")
def post_confirm(report_id: str, session: SessionDep, who: MaintainerByForm, reason: Text = "") -> Response:
    """Confirm that a report is a bug."""
    triage.confirm_report(session, report_id, reason=reason, who=who)
    return _back(f"/reports/{report_id}")


@router.post("/reports/{report_id}/unconfirm")
def post_unconfirm(report_id: str, session: SessionDep, who: MaintainerByForm, reason: Text = "") -> Response:
    """Take the confirmation of a bug back."""
    triage.unconfirm_report(session, report_id, reason=reason, who=who)
    return _back(f"/reports/{report_id}")


@router.post("/reports/{report_id}/withdraw")
def post_withdraw(report_id: str, session: SessionDep, who: MaintainerByForm, reason: Text = "") -> Response:
    """Withdraw a report and erase its texts."""
    withdraw.withdraw(session, report_id, reason=reason, who=who)
    return _back(f"/reports/{report_id}")


@router.get("/reports/{report_id}/judge-again")
def get_judge_again(report_id: str, session: SessionDep, _may: CanRead, viewer: ViewerDep) -> Response:
    """Show which runs of a report the present rules would judge differently. Nothing is stored."""
    judgements = rejudge.judge_again(session, report_id=report_id)
    return page("judge_again.html", report=report_id, judgements=judgements, viewer=viewer)


@router.post("/reports/{report_id}/judge-again")
def post_judge_again(
    report_id: str, session: SessionDep, who: MaintainerByForm, reason: Text = ""
) -> Response:
    """Judge the runs of a report again, and store the verdicts."""
    rejudge.judge_again(session, report_id=report_id, apply=True, reason=reason, who=who)
    return _back(f"/reports/{report_id}")


@router.post("/quarantines")
def post_quarantine(
    *,
    session: SessionDep,
    settings: SettingsDep,
    who: MaintainerByForm,
    kind: Annotated[QuarantineKind, Form()],
    name: Text = "",
    since: Text = "",
    reason: Text = "",
) -> Response:
    """Put a node, a toolchain or a script into quarantine."""
    quarantine.quarantine(
        session, kind, name.strip(), reason=reason, who=who, settings=settings, since=_moment(since)
    )
    return _back("/nodes#quarantine")


def _moment(text: str) -> datetime | None:
    """The moment in a form field, in UTC as the form says. None if the field is empty. Raises InputError."""
    if not text.strip():
        return None
    try:
        moment = datetime.fromisoformat(text.strip())
    except ValueError as error:
        raise InputError(
            "Write the date and time as 2026-11-28T14:00.", code="bad_since", field="since"
        ) from error
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)


@router.post("/quarantines/{quarantine_id}/lift")
def post_lift(quarantine_id: str, session: SessionDep, who: MaintainerByForm, reason: Text = "") -> Response:
    """Lift a quarantine."""
    quarantine.lift(session, quarantine_id, reason=reason, who=who)
    return _back("/nodes#quarantine")


@router.get("/withdraw/{secret}")
def get_withdrawal(secret: str, session: SessionDep, _may: CanRead) -> Response:
    """The page behind the submitter's link. It lists what will be erased, and erases nothing yet."""
    return page("withdraw.html", report=withdraw.report_to_withdraw(session, secret), secret=secret)


@router.post("/withdraw/{secret}")
def post_withdrawal(secret: str, session: SessionDep, _may: CanRead, reason: Text = "") -> Response:
    """Withdraw the report and erase its texts."""
    return _back(f"/reports/{withdraw.withdraw_with_secret(session, secret, reason=reason)}")
