"""The acts of maintainers over REST: overrule, label, close, withdraw, quarantine, judge again.

Each act needs a reason. It is stored with the name of the maintainer.
"""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Request
from pydantic import AwareDatetime, BaseModel, Field

from app.api.answers.run_answer import RunAnswer, run_answer
from app.api.bodies import Body, PageBody, Words
from app.errors import NotFoundError
from app.http.access import CanMaintain, CanRead, who
from app.http.checked_route import CheckedRoute
from app.http.problems import BODY, problem_responses
from app.http.state import SessionDep, SettingsDep
from app.judging.judgement import Verdict
from app.runs.lookup.answers import with_answer
from app.runs.lookup.reports import ReportDetails, reply_of, report_details
from app.runs.lookup.runs import run_document
from app.runs.maintenance import overrule, quarantine, rejudge, triage, withdraw
from app.runs.rows.acts import REASON_CHARACTERS, list_acts
from app.runs.rows.page import MOST_ITEMS
from app.runs.run_object.answer.part import AnswerPart
from app.runs.run_object.maintainer_acts import Act
from app.states import Disposition, QuarantineKind, SubjectKind

router = APIRouter(tags=["maintainers"], route_class=CheckedRoute)
_ACT = problem_responses(401, 404, 409, *BODY)

Reason = Annotated[
    Words,
    Field(
        min_length=1,
        max_length=REASON_CHARACTERS,
        description="the reason; it is stored and shown",
        examples=["Per the accuracy policy."],
    ),
]
Id = Annotated[Words, Field(max_length=100)]
Cursor = Annotated[Words | None, Field(default=None, description="`next` of the previous page")]
Limit = Annotated[int, Query(ge=1, le=200)]


class ReasonBody(Body):
    """The reason of an act."""

    reason: Reason


class OverruleBody(ReasonBody):
    """A verdict that replaces the measured one."""

    verdict: Verdict = Field(examples=["not_reproduced"])


class LabelBody(ReasonBody):
    """Labels to add and to remove."""

    add: list[Words] = Field(default_factory=list, max_length=20, examples=[["accuracy"]])
    remove: list[Words] = Field(default_factory=list, max_length=20)


class CloseBody(Body):
    """Why a report is closed: a reason, a disposition, or both."""

    reason: Words = Field(
        default="",
        max_length=REASON_CHARACTERS,
        description="the reason; it is stored and shown. Only a disposition may come without one",
        examples=["Per the accuracy policy."],
    )
    disposition: Disposition | None = Field(
        default=None, description="`fixed` needs `fixed_by`, and `duplicate` needs `duplicate_of`"
    )
    duplicate_of: Id | None = Field(default=None, description="the id of another report")
    fixed_by: Words = Field(
        default="",
        max_length=triage.FIX_CHARACTERS,
        description="a version, or the address of a change",
        examples=["numpy 2.4.1"],
    )


class ConfirmBody(Body):
    """Why a report is a bug."""

    reason: Words = Field(
        default="",
        max_length=REASON_CHARACTERS,
        description="the reason; it is stored and shown, and may be left out",
        examples=["The sign of the result is wrong."],
    )


class Reply(BaseModel):
    """The reply to the reporter of a closed report, or of a confirmed bug."""

    markdown: str = Field(
        description="three lines: what was decided, what was measured, where the evidence is"
    )


class WithdrawalBody(Body):
    """The secret of a submitter, which is the last part of `withdraw_url`."""

    secret: Words = Field(min_length=1, max_length=100, examples=["JkW2…"])
    reason: Words = Field(default="", max_length=REASON_CHARACTERS)


class QuarantineBody(ReasonBody):
    """The node, toolchain or script to quarantine."""

    kind: QuarantineKind = Field(examples=["node"])
    name: Words = Field(
        min_length=1,
        max_length=300,
        description="the name of a node or a toolchain, or the digest of a script",
        examples=["lab-h100"],
    )
    since: AwareDatetime | None = Field(
        default=None,
        description=(
            "its evidence since this moment is in doubt; by default only the evidence of open runs and of the"
            " run that gives a report its current verdict"
        ),
    )


class JudgeBody(Body):
    """The runs to judge again: those of one report, or a page of all finished runs."""

    report: Id | None = None
    cursor: Cursor = None
    limit: int = Field(default=MOST_ITEMS, ge=1, le=MOST_ITEMS)


class ApplyBody(JudgeBody):
    """The runs to judge again, and the reason."""

    reason: Reason


@router.post("/runs/{run_id}/overrule", operation_id="overrule_run", responses=_ACT)
def post_overrule_run(
    run_id: str, body: OverruleBody, request: Request, session: SessionDep, token: CanMaintain
) -> RunAnswer:
    """Overrule the verdict of a finished run. `verdict` stays as measured; `overruled` has the new one."""
    overrule.overrule_run(session, run_id, body.verdict, reason=body.reason, who=who(token))
    return run_answer(request, run_document(session, run_id))


@router.post("/runs/{run_id}/take-back", operation_id="take_back_run", responses=_ACT)
def post_take_back_run(
    run_id: str, body: ReasonBody, request: Request, session: SessionDep, token: CanMaintain
) -> RunAnswer:
    """Take back the overruling of a run. The history keeps both acts."""
    overrule.take_back_run(session, run_id, reason=body.reason, who=who(token))
    return run_answer(request, run_document(session, run_id))


@router.post("/reports/{report_id}/overrule", operation_id="overrule_report", responses=_ACT)
def post_overrule_report(
    report_id: str, body: OverruleBody, session: SessionDep, token: CanMaintain
) -> ReportDetails:
    """Overrule the verdict of a report. `standing` keeps the measured one; `overruled` has the new one."""
    overrule.overrule_report(session, report_id, body.verdict, reason=body.reason, who=who(token))
    return report_details(session, report_id)


@router.post("/reports/{report_id}/take-back", operation_id="take_back_report", responses=_ACT)
def post_take_back_report(
    report_id: str, body: ReasonBody, session: SessionDep, token: CanMaintain
) -> ReportDetails:
    """Take back the overruling of a report."""
    overrule.take_back_report(session, report_id, reason=body.reason, who=who(token))
    return report_details(session, report_id)


@router.post("/reports/{report_id}/label", operation_id="label_report", responses=_ACT)
def post_label(report_id: str, body: LabelBody, session: SessionDep, token: CanMaintain) -> ReportDetails:
    """Add and remove labels."""
    triage.label_report(
        session, report_id, add=body.add, remove=body.remove, reason=body.reason, who=who(token)
    )
    return report_details(session, report_id)


@router.post("/reports/{report_id}/close", operation_id="close_report", responses=_ACT)
def post_close(report_id: str, body: CloseBody, session: SessionDep, token: CanMaintain) -> ReportDetails:
    """Close a report, perhaps with a disposition. It can still be run and is still shown."""
    triage.close_report(
        session,
        report_id,
        disposition=body.disposition,
        duplicate_of=body.duplicate_of,
        fixed_by=body.fixed_by,
        reason=body.reason,
        who=who(token),
    )
    return report_details(session, report_id)


@router.get(
    "/reports/{report_id}/reply", operation_id="reply_to_reporter", responses=problem_responses(401, 404)
)
def get_reply(report_id: str, request: Request, session: SessionDep, _may: CanRead) -> Reply:
    """The reply to the reporter, in Markdown. 404 without a word of a maintainer."""
    report = with_answer(session, report_details(session, report_id))
    text = reply_of(report, report.answer or AnswerPart(), base=str(request.base_url).rstrip("/"))
    if text is None:
        raise NotFoundError("No maintainer has closed this report with a disposition, or confirmed it.")
    return Reply(markdown=text)


@router.post("/reports/{report_id}/reopen", operation_id="reopen_report", responses=_ACT)
def post_reopen(report_id: str, body: ReasonBody, session: SessionDep, token: CanMaintain) -> ReportDetails:
    """Open a closed report again."""
    triage.reopen_report(session, report_id, reason=body.reason, who=who(token))
    return report_details(session, report_id)


@router.post("/reports/{report_id}/confirm", operation_id="confirm_report", responses=_ACT)
def post_confirm(report_id: str, body: ConfirmBody, session: SessionDep, token: CanMaintain) -> ReportDetails:
    """Confirm that a report is a bug. It stays open and leaves the unexplained ones."""
    triage.confirm_report(session, report_id, reason=body.reason, who=who(token))
    return report_details(session, report_id)


@router.post("/reports/{report_id}/unconfirm", operation_id="unconfirm_report", responses=_ACT)
def post_unconfirm(
    report_id: str, body: ReasonBody, session: SessionDep, token: CanMaintain
) -> ReportDetails:
    """Take the confirmation of a bug back."""
    triage.unconfirm_report(session, report_id, reason=body.reason, who=who(token))
    return report_details(session, report_id)


@router.post("/reports/{report_id}/withdraw", operation_id="withdraw_report", responses=_ACT)
def post_withdraw(report_id: str, body: ReasonBody, session: SessionDep, token: CanMaintain) -> ReportDetails:
    """Erase the text of a report, its scripts and their output; digests stay. This can't be undone."""
    withdraw.withdraw(session, report_id, reason=body.reason, who=who(token))
    return report_details(session, report_id)


@router.post("/withdrawals", operation_id="withdraw_own_report", responses=_ACT)
def post_withdrawal(body: WithdrawalBody, session: SessionDep, _may: CanRead) -> ReportDetails:
    """Withdraw one's own report with the secret of `withdraw_url`. This can't be undone."""
    return report_details(session, withdraw.withdraw_with_secret(session, body.secret, reason=body.reason))


@router.get("/quarantines", operation_id="list_quarantines", responses=problem_responses(401, 422))
def get_quarantines(
    session: SessionDep, _may: CanRead, cursor: str | None = None, limit: Limit = 50
) -> PageBody[quarantine.Quarantine]:
    """Quarantines, newest first, with those that were lifted."""
    return PageBody.of(quarantine.list_quarantines(session, cursor=cursor, limit=limit))


@router.post("/quarantines", operation_id="quarantine", status_code=201, responses=_ACT)
def post_quarantine(
    body: QuarantineBody, session: SessionDep, settings: SettingsDep, token: CanMaintain
) -> quarantine.Quarantine:
    """Quarantine a node, a toolchain or a script. It gets no new work; results that rely on it are rerun."""
    return quarantine.quarantine(
        session, body.kind, body.name, reason=body.reason, who=who(token), settings=settings, since=body.since
    )


@router.post("/quarantines/{quarantine_id}/lift", operation_id="lift_quarantine", responses=_ACT)
def post_lift(
    quarantine_id: str, body: ReasonBody, session: SessionDep, token: CanMaintain
) -> quarantine.Quarantine:
    """Lift a quarantine. Runs that it reopened stay open."""
    return quarantine.lift(session, quarantine_id, reason=body.reason, who=who(token))


@router.get("/acts", operation_id="list_acts", responses=problem_responses(401, 422))
def get_acts(
    *,
    session: SessionDep,
    _may: CanRead,
    subject_kind: SubjectKind | None = None,
    subject: Annotated[
        str | None, Query(max_length=300, description="an id, a name or a digest; it needs `subject_kind`")
    ] = None,
    cursor: str | None = None,
    limit: Limit = 50,
) -> PageBody[Act]:
    """The acts of maintainers, newest first."""
    acts = list_acts(session, cursor=cursor, limit=limit, subject_kind=subject_kind, subject=subject)
    return PageBody.of(acts)


@router.post("/judgements:preview", operation_id="preview_judgements", responses=_ACT)
def post_preview(body: JudgeBody, session: SessionDep, _may: CanMaintain) -> rejudge.Judgements:
    """Judge stored attempts by the current rules and list the verdicts that would change."""
    return rejudge.judge_again(session, report_id=body.report, cursor=body.cursor, limit=body.limit)


@router.post("/judgements:apply", operation_id="apply_judgements", responses=_ACT)
def post_apply(body: ApplyBody, session: SessionDep, token: CanMaintain) -> rejudge.Judgements:
    """Judge stored attempts by the current rules and store the verdicts. Each changed run gets an act."""
    return rejudge.judge_again(
        session,
        report_id=body.report,
        cursor=body.cursor,
        limit=body.limit,
        apply=True,
        reason=body.reason,
        who=who(token),
    )
