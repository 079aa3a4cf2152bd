"""The address to which GitHub sends the events of the App."""

from __future__ import annotations

from functools import partial

import structlog
from anyio import to_thread
from fastapi import APIRouter, Request

from app.errors import NotFoundError, SetupError, UnavailableError
from app.http.checked_route import CheckedRoute
from app.http.state import WebState, state_of
from app.runs.github.receive import Receipt, take_event

log = structlog.get_logger(__name__)
PATH = "/github/events"
router = APIRouter(tags=["github"], route_class=CheckedRoute)


@router.post(PATH, operation_id="take_github_event", status_code=202, include_in_schema=False)
async def post_event(request: Request) -> Receipt:
    """Take an event that GitHub has signed. The work is done later."""
    state = state_of(request)
    if not state.settings.github_is_on:
        raise NotFoundError("The GitHub App is not set up here; see docs/github-app.md.")
    body = await request.body()
    return await to_thread.run_sync(partial(_take, state, body, dict(request.headers)))


def _take(state: WebState, body: bytes, headers: dict[str, str]) -> Receipt:
    try:
        with state.sessions.begin() as session:
            return take_event(session, body, headers, settings=state.settings)
    except SetupError as error:
        # GitHub shows the answer to the owner of the App, who may be somebody else than the operator.
        log.warning("github_setup", problem=error.message)
        raise UnavailableError("The GitHub App of this service is not set up well: see its log.") from error
