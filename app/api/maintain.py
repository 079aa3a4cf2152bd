"""Maintainers' word over REST: overrule, label, close, withdraw, hold back, judge again; each act with its reason, kept with who did it."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import AwareDatetime, Field

from app.api.bodies import Body, PageBody, Words
from app.http.access import CanMaintain, CanRead, who
from app.http.problems import BODY, documented
from app.http.state import SessionDep, SettingsDep
from app.judging.judgement import Verdict
from app.runs.lookup.reports import ReportDetails, report_details
from app.runs.lookup.runs import run_document
from app.runs.maintenance import overrule, quarantine, rejudge, triage, withdraw
from app.runs.rows.acts import REASON_CHARACTERS, list_acts
from app.runs.rows.page import MOST_ITEMS
from app.runs.run_object.document import RunDocument
from app.runs.run_object.maintainer_acts import Act
from app.states import QuarantineKind, SubjectKind

router = APIRouter(tags=["maintainers"])
_ACT = documented(401, 404, 409, *BODY)

Reason = Annotated[
    Words,
    Field(
        min_length=1,
        max_length=REASON_CHARACTERS,
        description="why; kept and shown",
        examples=["Per the accuracy policy."],
    ),
]
Id = Annotated[Words, Field(max_length=100)]
Cursor = Annotated[Words | None, Field(default=None, description="`next` of the page before")]
Limit = Annotated[int, Query(ge=1, le=200)]


class ReasonBody(Body):
    """Why."""

    reason: Reason


class OverruleBody(ReasonBody):
    """Another verdict than what was measured."""

    verdict: Verdict


class LabelBody(ReasonBody):
    """Labels to add and to remove."""

    add: list[Words] = Field(default_factory=list, max_length=20, examples=[["accuracy"]])
    remove: list[Words] = Field(default_factory=list, max_length=20)


class CloseBody(ReasonBody):
    """Why a report is closed, and of which it is a duplicate."""

    duplicate_of: Id | None = Field(default=None, description="the id of another report")


class WithdrawalBody(Body):
    """The secret of a submitter: the end of `withdraw_url`."""

    secret: Words = Field(min_length=1, max_length=100)
    reason: Words = Field(default="", max_length=REASON_CHARACTERS)


class QuarantineBody(ReasonBody):
    """What is to be held back."""

    kind: QuarantineKind
    name: Words = Field(
        min_length=1,
        max_length=300,
        description="of a node or a toolchain; of a script, its digest",
        examples=["lab-h100"],
    )
    since: AwareDatetime | None = Field(
        default=None,
        description="from when on its evidence is in doubt; without it, that of runs which are open or stand for their report",
    )


class JudgeBody(Body):
    """Which runs: those of one report, or a page of all finished ones."""

    report: Id | None = None
    cursor: Cursor = None
    limit: int = Field(default=MOST_ITEMS, ge=1, le=MOST_ITEMS)


class ApplyBody(JudgeBody):
    """Which runs, and why."""

    reason: Reason


@router.post("/runs/{run_id}/overrule", operation_id="overrule_run", responses=_ACT)
def post_overrule_run(
    run_id: str, body: OverruleBody, session: SessionDep, token: CanMaintain
) -> RunDocument:
    """Say another verdict of a finished run. `verdict` stays what was measured; the word is in `overruled`."""
    overrule.overrule_run(session, run_id, body.verdict, reason=body.reason, who=who(token))
    return run_document(session, run_id)


@router.post("/runs/{run_id}/take-back", operation_id="take_back_run", responses=_ACT)
def post_take_back_run(run_id: str, body: ReasonBody, session: SessionDep, token: CanMaintain) -> RunDocument:
    """Let the measured verdict of a run stand again; the history keeps both acts."""
    overrule.take_back_run(session, run_id, reason=body.reason, who=who(token))
    return run_document(session, run_id)


@router.post("/reports/{report_id}/overrule", operation_id="overrule_report", responses=_ACT)
def post_overrule_report(
    report_id: str, body: OverruleBody, session: SessionDep, token: CanMaintain
) -> ReportDetails:
    """Say a verdict of a report. `standing` stays what its runs measured; the word is in `overruled`."""
    overrule.overrule_report(session, report_id, body.verdict, reason=body.reason, who=who(token))
    return report_details(session, report_id)


@router.post("/reports/{report_id}/take-back", operation_id="take_back_report", responses=_ACT)
def post_take_back_report(
    report_id: str, body: ReasonBody, session: SessionDep, token: CanMaintain
) -> ReportDetails:
    """Let what the runs of a report measured stand again."""
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
    """Close a report, perhaps as a duplicate of another. It can still be run and is still shown."""
    triage.close_report(
        session, report_id, duplicate_of=body.duplicate_of, reason=body.reason, who=who(token)
    )
    return report_details(session, report_id)


@router.post("/reports/{report_id}/reopen", operation_id="reopen_report", responses=_ACT)
def post_reopen(report_id: str, body: ReasonBody, session: SessionDep, token: CanMaintain) -> ReportDetails:
    """Open a closed report again."""
    triage.reopen_report(session, report_id, reason=body.reason, who=who(token))
    return report_details(session, report_id)


@router.post("/reports/{report_id}/withdraw", operation_id="withdraw_report", responses=_ACT)
def post_withdraw(report_id: str, body: ReasonBody, session: SessionDep, token: CanMaintain) -> ReportDetails:
    """Erase the text of a report, its scripts and what they printed; digests and verdicts stay. This can't be taken back."""
    withdraw.withdraw(session, report_id, reason=body.reason, who=who(token))
    return report_details(session, report_id)


@router.post("/withdrawals", operation_id="withdraw_own_report", responses=_ACT)
def post_withdrawal(body: WithdrawalBody, session: SessionDep, _may: CanRead) -> ReportDetails:
    """As its submitter, with the secret of `withdraw_url`: erase a report as a maintainer can. This can't be taken back."""
    return report_details(session, withdraw.withdraw_with_secret(session, body.secret, reason=body.reason))


@router.get("/quarantines", operation_id="list_quarantines", responses=documented(401, 422))
def get_quarantines(
    session: SessionDep, _may: CanRead, cursor: str | None = None, limit: Limit = 50
) -> PageBody[quarantine.Quarantine]:
    """What is and was held back, newest first."""
    return PageBody.of(quarantine.list_quarantines(session, cursor=cursor, limit=limit))


@router.post("/quarantines", operation_id="quarantine", status_code=201, responses=_ACT)
def post_quarantine(
    body: QuarantineBody, session: SessionDep, settings: SettingsDep, token: CanMaintain
) -> quarantine.Quarantine:
    """Hold back a node, a toolchain or a script: it gets nothing more, and what rests on it is run again elsewhere."""
    return quarantine.quarantine(
        session, body.kind, body.name, reason=body.reason, who=who(token), settings=settings, since=body.since
    )


@router.post("/quarantines/{quarantine_id}/lift", operation_id="lift_quarantine", responses=_ACT)
def post_lift(
    quarantine_id: str, body: ReasonBody, session: SessionDep, token: CanMaintain
) -> quarantine.Quarantine:
    """Let it be used again. What was reopened meanwhile stays so."""
    return quarantine.lift(session, quarantine_id, reason=body.reason, who=who(token))


@router.get("/acts", operation_id="list_acts", responses=documented(401, 422))
def get_acts(
    *,
    session: SessionDep,
    _may: CanRead,
    subject_kind: SubjectKind | None = None,
    subject: Annotated[
        str | None, Query(max_length=300, description="an id, a name or a digest; with subject_kind")
    ] = None,
    cursor: str | None = None,
    limit: Limit = 50,
) -> PageBody[Act]:
    """What maintainers did, newest first."""
    acts = list_acts(session, cursor=cursor, limit=limit, subject_kind=subject_kind, subject=subject)
    return PageBody.of(acts)


@router.post("/judgements:preview", operation_id="preview_judgements", responses=_ACT)
def post_preview(body: JudgeBody, session: SessionDep, _may: CanMaintain) -> rejudge.Judgements:
    """Judge stored attempts by the rules of today and say which verdicts flip. Nothing is changed."""
    return rejudge.judge_again(session, report_id=body.report, cursor=body.cursor, limit=body.limit)


@router.post("/judgements:apply", operation_id="apply_judgements", responses=_ACT)
def post_apply(body: ApplyBody, session: SessionDep, token: CanMaintain) -> rejudge.Judgements:
    """Judge stored attempts by the rules of today and keep what that says, with an act for each run that flips."""
    return rejudge.judge_again(
        session,
        report_id=body.report,
        cursor=body.cursor,
        limit=body.limit,
        apply=True,
        reason=body.reason,
        who=who(token),
    )
