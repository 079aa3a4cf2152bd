"""Reports over REST: read a text, list reports, show one, run it again."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Request, Response

from app.api.answers.run_answer import RunAnswer, run_answer
from app.api.answers.waiting import Prefer, WaitingRoute
from app.api.bodies import PageBody, ReadBody, ReadingBody, RunRequestBody
from app.api.correction_body import CorrectionBody
from app.api.runs import ENDED_RUN, Key
from app.errors import InputError
from app.http.access import CanRead, CanSubmit, token_of
from app.http.problems import BODY, LOCATION, problem_responses
from app.http.state import SessionDep, SettingsDep
from app.http.submitter import CanCorrect
from app.intake.text.corrected_environment import with_corrected_environment
from app.judging.judgement import Verdict
from app.runs.lookup.answers import with_answer
from app.runs.lookup.matrix import Matrix, matrix
from app.runs.lookup.reports import ReportDetails, ReportSummary, list_reports, report_details
from app.runs.maintenance.correct_claim import correct_claim
from app.runs.run_object.assemble import report_part
from app.runs.submission.relaunch import relaunch
from app.runs.submission.report_intake import read_bounded
from app.search.fields import FIELDS

router = APIRouter(tags=["reports"], route_class=WaitingRoute)
EXAMPLE = "verdict:reproduced device:cuda toolchain:torch>=2.11 -exception:RuntimeError logdet"
SEARCH = (
    "Terms that must all match. A `-` before a term excludes it. Words are searched in titles, texts,"
    " addresses and outputs. Words in quotation marks must be adjacent. Fields: "
    + "; ".join(f"`{name}:` {kind.about} ({kind.takes})" for name, kind in FIELDS.items())
    + "."
)


@router.post("/reports:read", operation_id="read_report", responses=problem_responses(401, *BODY))
def post_read(body: ReadBody, settings: SettingsDep, _may: CanRead) -> ReadingBody:
    """Read a report: scripts, claim, environment, missing parts. Nothing is stored or run."""
    if (body.script is None) == (body.report is None):
        raise InputError("Send exactly one of script and report.", code="script_or_report", field="script")
    reading = read_bounded(
        (body.script if body.report is None else body.report) or "",
        form="script" if body.report is None else "report",
        claim=body.claim,
        title=body.title,
        settings=settings,
        ignore_needs=body.ignore_needs,
    )
    reading = with_corrected_environment(reading, body.corrections())
    verdict = Verdict.NEEDS_INFO if reading.ask else None
    return ReadingBody(report=report_part(reading), verdict=verdict, ask=list(reading.ask))


@router.get("/reports", operation_id="list_reports", responses=problem_responses(401, 422))
def get_reports(
    session: SessionDep,
    _may: CanRead,
    source_url: Annotated[str | None, Query(max_length=2000)] = None,
    q: Annotated[str | None, Query(max_length=300, description=SEARCH, examples=[EXAMPLE])] = None,
    cursor: str | None = None,
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
) -> PageBody[ReportSummary]:
    """Reports, newest first."""
    return PageBody.of(list_reports(session, cursor=cursor, limit=limit, source_url=source_url, query=q))


@router.get("/reports/{report_id}", operation_id="get_report", responses=problem_responses(401, 404))
def get_report(report_id: str, session: SessionDep, _may: CanRead) -> ReportDetails:
    """A report with its runs, and the verdict in four sentences."""
    return with_answer(session, report_details(session, report_id))


@router.get("/reports/{report_id}/matrix", operation_id="get_matrix", responses=problem_responses(401, 404))
def get_matrix(report_id: str, session: SessionDep, _may: CanRead) -> Matrix:
    """The latest verdict of every script on every target that a run of the report had."""
    return matrix(session, report_id)


@router.put(
    "/reports/{report_id}/claim",
    operation_id="correct_claim",
    responses=problem_responses(401, 404, 409, *BODY),
)
def put_claim(
    report_id: str, body: CorrectionBody, session: SessionDep, settings: SettingsDep, may: CanCorrect
) -> ReportDetails:
    """Correct the claim of a report, by another claim or by the stances of its exhibits.

    Stored attempts are judged again; `earlier_claims` has the old claim.
    """
    correct_claim(session, report_id, body.correction(), reason=body.reason, who=may, settings=settings)
    return report_details(session, report_id)


@router.post(
    "/reports/{report_id}/runs",
    operation_id="run_report",
    status_code=202,
    response_model=RunAnswer,
    responses={200: ENDED_RUN, 202: LOCATION, **problem_responses(401, 404, 409, *BODY)},
)
def post_report_run(
    *,
    report_id: str,
    body: RunRequestBody,
    request: Request,
    response: Response,
    session: SessionDep,
    settings: SettingsDep,
    may: CanSubmit,
    idempotency_key: Key = None,
    _prefer: Prefer = None,
) -> RunAnswer:
    """Start a new run of a stored report."""
    document = relaunch(
        session,
        report_id,
        body.run_request(),
        settings=settings,
        who=token_of(may),
        idempotency_key=idempotency_key,
    )
    response.headers["Location"] = f"/api/v1/runs/{document.id}"
    return run_answer(request, document)
