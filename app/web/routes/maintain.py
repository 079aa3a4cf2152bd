"""The forms of maintainers, and the page on which a submitter withdraws. They work without JavaScript; each act says why."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated

from fastapi import APIRouter, Form
from fastapi.responses import RedirectResponse, Response

from app.errors import InputError
from app.http.access import CanRead, MaintainerByForm
from app.http.state import SessionDep, SettingsDep
from app.judging.judgement import Verdict
from app.runs.maintenance import overrule, quarantine, rejudge, triage, withdraw
from app.states import QuarantineKind
from app.web.pages import page

router = APIRouter(include_in_schema=False)
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
    """Say another verdict of a run."""
    overrule.overrule_run(session, run_id, verdict, reason=reason, who=who)
    return _back(f"/runs/{run_id}")


@router.post("/runs/{run_id}/take-back")
def post_take_back_run(
    run_id: str, session: SessionDep, who: MaintainerByForm, reason: Text = ""
) -> Response:
    """Let the measured verdict of a run stand again."""
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
    """Say a verdict of a report."""
    overrule.overrule_report(session, report_id, verdict, reason=reason, who=who)
    return _back(f"/reports/{report_id}")


@router.post("/reports/{report_id}/take-back")
def post_take_back_report(
    report_id: str, session: SessionDep, who: MaintainerByForm, reason: Text = ""
) -> Response:
    """Let what the runs of a report measured stand again."""
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
    *, report_id: str, session: SessionDep, who: MaintainerByForm, duplicate_of: Text = "", reason: Text = ""
) -> Response:
    """Close a report."""
    triage.close_report(session, report_id, duplicate_of=duplicate_of.strip() or None, reason=reason, who=who)
    return _back(f"/reports/{report_id}")


@router.post("/reports/{report_id}/reopen")
def post_reopen(report_id: str, session: SessionDep, who: MaintainerByForm, reason: Text = "") -> Response:
    """Open a report again."""
    triage.reopen_report(session, report_id, reason=reason, who=who)
    return _back(f"/reports/{report_id}")


@router.post("/reports/{report_id}/withdraw")
def post_withdraw(report_id: str, session: SessionDep, who: MaintainerByForm, reason: Text = "") -> Response:
    """Erase a report."""
    withdraw.withdraw(session, report_id, reason=reason, who=who)
    return _back(f"/reports/{report_id}")


@router.get("/reports/{report_id}/judge-again")
def get_judge_again(report_id: str, session: SessionDep, _may: CanRead) -> Response:
    """What the rules of today say of a report's runs."""
    return page("judge_again.html", report=report_id, found=rejudge.judge_again(session, report_id=report_id))


@router.post("/reports/{report_id}/judge-again")
def post_judge_again(
    report_id: str, session: SessionDep, who: MaintainerByForm, reason: Text = ""
) -> Response:
    """Keep that."""
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
    """Hold something back."""
    quarantine.quarantine(
        session, kind, name.strip(), reason=reason, who=who, settings=settings, since=_moment(since)
    )
    return _back("/nodes#quarantine")


def _moment(text: str) -> datetime | None:
    """What a browser sends of a date and a time; it is said to be UTC beside the field."""
    if not text.strip():
        return None
    try:
        moment = datetime.fromisoformat(text.strip())
    except ValueError as error:
        raise InputError(
            "A moment is written as 2026-11-28T14:00.", code="bad_since", field="since"
        ) from error
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)


@router.post("/quarantines/{quarantine_id}/lift")
def post_lift(quarantine_id: str, session: SessionDep, who: MaintainerByForm, reason: Text = "") -> Response:
    """Let it be used again."""
    quarantine.lift(session, quarantine_id, reason=reason, who=who)
    return _back("/nodes#quarantine")


@router.get("/withdraw/{secret}")
def get_withdrawal(secret: str, session: SessionDep, _may: CanRead) -> Response:
    """What the submitter's link leads to: it says what would be erased, and erases nothing yet."""
    return page("withdraw.html", report=withdraw.report_to_withdraw(session, secret), secret=secret)


@router.post("/withdraw/{secret}")
def post_withdrawal(secret: str, session: SessionDep, _may: CanRead, reason: Text = "") -> Response:
    """Erase it."""
    return _back(f"/reports/{withdraw.withdraw_with_secret(session, secret, reason=reason)}")
