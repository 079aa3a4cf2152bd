"""The page of a bisection, and the part of it that changes."""

from __future__ import annotations

from contextlib import suppress

from fastapi import APIRouter
from fastapi.responses import RedirectResponse, Response

from app.errors import ConflictError
from app.http.access import CanRead, CanSubmit
from app.http.state import SessionDep
from app.runs.bisections import bisection_document, cancel_bisection
from app.web.pages import page

router = APIRouter(include_in_schema=False)


@router.get("/bisections/{bisection_id}")
def get_bisection(bisection_id: str, session: SessionDep, _may: CanRead) -> Response:
    """A bisection: the answer, then every point."""
    return page("bisection_page.html", bisection=bisection_document(session, bisection_id))


@router.get("/bisections/{bisection_id}/fragment")
def get_fragment(bisection_id: str, session: SessionDep, _may: CanRead) -> Response:
    """The part that other pages may take in."""
    return page("bisection.html", bisection=bisection_document(session, bisection_id))


@router.post("/bisections/{bisection_id}/cancel")
def post_cancel(bisection_id: str, session: SessionDep, _may: CanSubmit) -> Response:
    """Stop it; one that finished meanwhile is shown as it is."""
    with suppress(ConflictError):
        cancel_bisection(session, bisection_id)
    return RedirectResponse(f"/bisections/{bisection_id}", status_code=303)
