"""The page of one attempt, and its streams."""

from __future__ import annotations

from typing import Literal

from fastapi import APIRouter, Request
from fastapi.responses import Response

from app.http.access import CanRead
from app.http.checked_route import CheckedRoute
from app.http.state import SessionDep
from app.runs.lookup.runs import attempt_details
from app.web.formats import Format, as_json, as_text, negotiate_format
from app.web.pages import page
from app.web.views.side_by_side import attempt_values

router = APIRouter(include_in_schema=False, route_class=CheckedRoute)


@router.get("/attempts/{attempt_id}")
def get_attempt(attempt_id: str, request: Request, session: SessionDep, _may: CanRead) -> Response:
    """An attempt with its stored streams and values."""
    name, chosen = negotiate_format(attempt_id, request)
    details = attempt_details(session, name)
    return as_json(details) if chosen is Format.JSON else page("attempt.html", **attempt_values(details))


@router.get("/attempts/{attempt_id}/{stream}")
def get_stream(
    attempt_id: str, stream: Literal["stdout", "stderr"], session: SessionDep, _may: CanRead
) -> Response:
    """The stored text of a stream."""
    observation = attempt_details(session, attempt_id).observation
    return as_text("" if observation is None else str(getattr(observation, stream)))
