"""The dossier of a report over REST: start a traced run, and read what it shows about the numbers."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response

from app.api.answers.run_answer import RunAnswer, run_answer
from app.api.runs import Key
from app.http.access import CanRead, CanSubmit, token_of
from app.http.checked_route import CheckedRoute
from app.http.problems import LOCATION, problem_responses
from app.http.state import SessionDep, SettingsDep
from app.judging.dossier.document import Dossier
from app.runs.lookup.dossiers import dossier_of_report
from app.runs.submission.relaunch import relaunch
from app.targets.planning.presets import EXPLAIN
from app.targets.planning.run_request import RunRequest

router = APIRouter(tags=["reports"], route_class=CheckedRoute)


@router.post(
    "/reports/{report_id}/explain",
    operation_id="explain_report",
    status_code=202,
    response_model=RunAnswer,
    responses={202: LOCATION, **problem_responses(401, 404, 409, 422)},
)
def post_explain(
    *,
    report_id: str,
    request: Request,
    response: Response,
    session: SessionDep,
    settings: SettingsDep,
    may: CanSubmit,
    idempotency_key: Key = None,
) -> RunAnswer:
    """Start a run of a stored report in which every operation of torch is held against float64.

    When it has ended, GET of the same address answers the dossier. No claim is needed.
    """
    document = relaunch(
        session,
        report_id,
        RunRequest(preset=EXPLAIN),
        settings=settings,
        who=token_of(may),
        idempotency_key=idempotency_key,
    )
    response.headers["Location"] = f"/api/v1/runs/{document.id}"
    return run_answer(request, document)


@router.get("/reports/{report_id}/explain", operation_id="get_dossier", responses=problem_responses(401, 404))
def get_explain(report_id: str, session: SessionDep, settings: SettingsDep, _may: CanRead) -> Dossier:
    """The dossier of the newest traced run: the numbers in question, and what explains them."""
    return dossier_of_report(session, report_id, settings=settings)
