"""The home page: what regressed, the reports that need attention, and the form for a submission."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Form
from fastapi.responses import PlainTextResponse, RedirectResponse, Response

from app.errors import InputError
from app.http.access import CanRead, CanSubmit, token_of
from app.http.checked_route import CheckedRoute
from app.http.problems import status_of
from app.http.state import SessionDep, SettingsDep
from app.http.submitter import WITHDRAW_COOKIE
from app.judging.report.attention import Attention
from app.runs.lookup.attention import group, groups
from app.runs.lookup.reports import list_reports
from app.runs.lookup.triage import triage
from app.runs.rows.presets import known_presets
from app.runs.submission.submit import submit
from app.web.pages import page
from app.web.parts import Lazy, lazily
from app.web.submission import SubmissionForm, submission_of
from worker.contract.programs.probe import probe_program

router = APIRouter(include_in_schema=False, route_class=CheckedRoute)
# The limits of the home page: newest reports, reports of each group, and lines of each group of triage.
MOST_RECENT, MOST_OF_A_GROUP, MOST_OF_TRIAGE = 8, 6, 10
WITHDRAW_SECONDS = 24 * 3600


def _home(
    session: SessionDep,
    settings: SettingsDep,
    *,
    status: int = 200,
    form: SubmissionForm | None = None,
    problem: InputError | None = None,
) -> Response:
    return page(
        "home.html",
        status=status,
        values=form or SubmissionForm(),
        problem=problem,
        presets=known_presets(settings).values(),
        triage=lazily(triage, session, each=MOST_OF_TRIAGE),
        groups=lazily(groups, session, each=MOST_OF_A_GROUP),
        recent=Lazy(lambda: list_reports(session, limit=MOST_RECENT).items),
    )


@router.get("/")
def get_home(session: SessionDep, settings: SettingsDep, _may: CanRead) -> Response:
    """The reports that need attention, and the form."""
    return _home(session, settings)


@router.get("/attention/{attention}")
def get_attention(
    attention: Attention, session: SessionDep, _may: CanRead, cursor: str | None = None
) -> Response:
    """All reports of one group. The most recently verified ones come first."""
    return page("attention.html", group=group(session, attention, cursor=cursor, limit=50))


@router.post("/")
def post_home(
    session: SessionDep, settings: SettingsDep, may: CanSubmit, form: Annotated[SubmissionForm, Form()]
) -> Response:
    """Submit. An error is shown beside its field, and the form keeps its values."""
    try:
        # A savepoint: it undoes the writes of a refused submission, and the page can still use the session.
        with session.begin_nested():
            submitted = submit(session, submission_of(form), settings=settings, who=token_of(may))
    except InputError as error:
        return _home(session, settings, status=status_of(error), form=form, problem=error)
    path = f"/runs/{submitted.document.id}"
    response = RedirectResponse(path, status_code=303)
    if submitted.withdraw_secret is not None:
        # The secret is not in the address, because people pass addresses on.
        response.set_cookie(
            WITHDRAW_COOKIE,
            submitted.withdraw_secret,
            max_age=WITHDRAW_SECONDS,
            path=path,
            httponly=True,
            samesite="strict",
        )
    return response


@router.get("/probe.py")
def get_probe(_may: CanRead) -> Response:
    """The program that a reporter runs in their own Python."""
    headers = {"Content-Disposition": 'attachment; filename="probe.py"'}
    return PlainTextResponse(probe_program(), media_type="text/x-python", headers=headers)
