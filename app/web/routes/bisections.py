"""The page of a bisection, and the part of it that changes while the bisection goes on."""

from __future__ import annotations

from contextlib import suppress
from typing import Annotated

from fastapi import APIRouter, Form, Request
from fastapi.responses import RedirectResponse, Response

from app.errors import ConflictError
from app.http.access import CanRead, CanSubmit, token_of
from app.http.checked_route import CheckedRoute
from app.http.state import SessionDep, SettingsDep
from app.http.submitter import CanCancel
from app.runs.rows.by_id import get_report
from app.runs.run_object.bisection_state import BisectionRequest
from app.runs.submission.bisections import bisection_document, cancel_bisection, start_bisection
from app.targets.target import Target
from app.web.formats import Format, address_of, as_json, as_markdown, negotiate_format
from app.web.pages import page
from app.web.parts import lazily
from app.web.views.copies.copied_pages import bisection_markdown
from app.web.views.pictures import bisection_picture

router = APIRouter(include_in_schema=False, route_class=CheckedRoute)


@router.post("/reports/{report_id}/bisections")
def post_bisection(
    report_id: str,
    session: SessionDep,
    settings: SettingsDep,
    who: CanSubmit,
    over: Annotated[str, Form(max_length=100)] = "torch",
) -> Response:
    """Start a bisection on the CPU, over all values of an axis that the fleet has. REST has more options."""
    request = BisectionRequest(axis=over.strip() or "torch", base=Target())
    bisection = start_bisection(
        session,
        report_id,
        request,
        settings=settings,
        asked_by=None if who is None else who.name,
        who=token_of(who),
    )
    return RedirectResponse(f"/bisections/{bisection.id}", status_code=303)


@router.get("/bisections/{bisection_id}")
def get_bisection(bisection_id: str, request: Request, session: SessionDep, _may: CanRead) -> Response:
    """A bisection: first the answer, then every point."""
    name, chosen = negotiate_format(bisection_id, request)
    bisection = bisection_document(session, name)
    if chosen is Format.JSON:
        return as_json(bisection)
    if chosen is Format.MARKDOWN:
        address = address_of(request, f"/bisections/{name}")
        return as_markdown(bisection_markdown(bisection, address=address))
    title = get_report(session, bisection.report or "").title
    picture = lazily(bisection_picture, bisection)
    return page("bisection_page.html", bisection=bisection, report_title=title, picture=picture)


@router.get("/bisections/{bisection_id}/fragment")
def get_fragment(bisection_id: str, session: SessionDep, _may: CanRead) -> Response:
    """The part of the page that changes. Other pages can include it."""
    bisection = bisection_document(session, bisection_id)
    return page("bisection.html", bisection=bisection, picture=lazily(bisection_picture, bisection))


@router.post("/bisections/{bisection_id}/cancel")
def post_cancel(bisection_id: str, session: SessionDep, _may: CanCancel) -> Response:
    """Cancel a bisection. If it has finished in the meantime, its page shows the result."""
    with suppress(ConflictError):
        cancel_bisection(session, bisection_id)
    return RedirectResponse(f"/bisections/{bisection_id}", status_code=303)
