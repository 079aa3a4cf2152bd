"""The page of a run, and the part of it that changes while the run goes on."""

from __future__ import annotations

from contextlib import suppress
from typing import Annotated
from urllib.parse import quote

from fastapi import APIRouter, Query, Request
from fastapi.responses import RedirectResponse, Response

from app.errors import ConflictError
from app.http.access import CanRead, ViewerDep
from app.http.checked_route import CheckedRoute
from app.http.state import SessionDep, SettingsDep
from app.http.submitter import CanCancel, WithdrawCookie
from app.runs.lifecycle.cancel import cancel_run
from app.runs.lookup.answers import is_decided, known_by_report
from app.runs.lookup.runs import run_document
from app.web.formats import Format, address_of, as_json, as_markdown, negotiate_format
from app.web.pages import page
from app.web.parts import lazily
from app.web.views.markdown_copy import run_markdown
from app.web.views.pictures import run_picture
from app.web.views.run_page import Places, run_values

router = APIRouter(include_in_schema=False, route_class=CheckedRoute)
Beginning = Annotated[int, Query(alias="from", ge=0, le=10_000)]


@router.get("/runs/{run_id}")
def get_run(
    *,
    run_id: str,
    request: Request,
    session: SessionDep,
    settings: SettingsDep,
    _may: CanRead,
    viewer: ViewerDep,
    start: Beginning = 0,
    compared: Annotated[int, Query(ge=0, le=10_000)] = 0,
    environment: Annotated[int, Query(ge=0, le=10_000)] = 0,
    secret: WithdrawCookie = None,
) -> Response:
    """A run. Its page is updated while the run goes on. The submitter gets a link to withdraw the report."""
    name, chosen = negotiate_format(run_id, request)
    run = run_document(session, name, settings=settings)
    if chosen is Format.JSON:
        return as_json(run)
    address = address_of(request, f"/runs/{name}")
    if chosen is Format.MARKDOWN:
        return as_markdown(run_markdown(run, address=address, of_report=known_by_report(session, run)))
    places = Places(cell=start, comparison=compared, environment=environment)
    values = run_values(
        run,
        address=address,
        places=places,
        of_report=known_by_report(session, run),
        is_decided=is_decided(session, run),
    )
    return page("run.html", **values, withdraw_url=_withdraw_url(secret), viewer=viewer)


@router.get("/runs/{run_id}/map")
def get_run_map(run_id: str, session: SessionDep, settings: SettingsDep, _may: CanRead) -> Response:
    """All cells of a run as a picture."""
    run = run_document(session, run_id, settings=settings)
    picture = lazily(run_picture, run)
    heading = run.report.title or ""
    return page("map.html", picture=picture, heading=heading, back=f"/runs/{run.id}", columns="toolchains")


@router.get("/runs/{run_id}/fragment")
def get_run_fragment(
    run_id: str,
    request: Request,
    session: SessionDep,
    settings: SettingsDep,
    _may: CanRead,
    secret: WithdrawCookie = None,
) -> Response:
    """The part of a run's page that changes."""
    run = run_document(session, run_id, settings=settings)
    values = run_values(
        run,
        address=address_of(request, f"/runs/{run.id}"),
        of_report=known_by_report(session, run),
        is_decided=is_decided(session, run),
    )
    return page("run_body.html", **values, withdraw_url=_withdraw_url(secret))


def _withdraw_url(secret: str | None) -> str | None:
    """The submitter's link that erases the report; None in other browsers."""
    return None if secret is None else f"/withdraw/{quote(secret, safe='')}"


@router.post("/runs/{run_id}/cancel")
def post_cancel(run_id: str, session: SessionDep, _may: CanCancel) -> Response:
    """Cancel a run. If it has finished in the meantime, its page shows the result."""
    with suppress(ConflictError):
        cancel_run(session, run_id)
    return RedirectResponse(f"/runs/{run_id}", status_code=303)
