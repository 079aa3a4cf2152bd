"""Runs over REST: submit, look, follow, cancel."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Header, Query, Request, Response

from app.api.bodies import PageBody, RunBody
from app.api.events import follow
from app.http.access import CanRead, CanSubmit
from app.http.problems import BODY, LOCATION, documented
from app.http.state import SessionDep, SettingsDep
from app.runs.cancel import cancel_run
from app.runs.document import RunDocument
from app.runs.reports import RunSummary, list_runs
from app.runs.show import AttemptDetails, attempt_details, run_document
from app.runs.submit import submit

router = APIRouter(tags=["runs"])
Key = Annotated[str | None, Header(alias="Idempotency-Key", description="the same key with the same body is answered once")]


@router.post(
    "/runs",
    operation_id="submit_run",
    status_code=202,
    response_model=RunDocument,
    responses={
        200: {"model": RunDocument, "description": "The run as it would be planned (dry_run)."},
        202: LOCATION,
        **documented(401, *BODY),
    },
)
def post_run(
    *,
    body: RunBody,
    response: Response,
    session: SessionDep,
    settings: SettingsDep,
    _may: CanSubmit,
    idempotency_key: Key = None,
    dry_run: Annotated[bool, Query(description="plan only: nothing is stored, nothing is run")] = False,
) -> RunDocument:
    """Submit a script or a report. What is submitted becomes public here."""
    result = submit(session, body.submission(idempotency_key=idempotency_key), settings=settings, dry_run=dry_run)
    if dry_run:
        response.status_code = 200
    else:
        response.headers["Location"] = f"/api/v1/runs/{result.document.id}"
    return result.document


@router.get("/runs", operation_id="list_runs", responses=documented(401, 422))
def get_runs(
    session: SessionDep, _may: CanRead, cursor: str | None = None, limit: Annotated[int, Query(ge=1, le=200)] = 50
) -> PageBody[RunSummary]:
    """Runs, newest first."""
    page = list_runs(session, cursor=cursor, limit=limit)
    return PageBody(items=list(page.items), next=page.next_cursor)


@router.get("/runs/{run_id}", operation_id="get_run", response_model=RunDocument, responses=documented(401, 404))
def get_run(run_id: str, session: SessionDep, _may: CanRead) -> RunDocument:
    """The run object."""
    return run_document(session, run_id)


@router.get(
    "/runs/{run_id}/events",
    operation_id="follow_run",
    response_class=Response,
    responses={
        200: {
            "description": "Server-sent events, ids only; ends with the run.",
            "content": {"text/event-stream": {"schema": {"type": "string"}}},
        },
        204: {"description": "The run is over, and there is nothing after this event."},
        **documented(401, 404, 422),
    },
)
def get_events(
    run_id: str, request: Request, _may: CanRead, last_event_id: Annotated[str | None, Header(alias="Last-Event-ID")] = None
) -> Response:
    """Follow a run; `Last-Event-ID` replays what came after it."""
    return follow(request, run_id, last_event_id=last_event_id)


@router.post("/runs/{run_id}/cancel", operation_id="cancel_run", response_model=RunDocument, responses=documented(401, 404, 409))
def post_cancel(run_id: str, session: SessionDep, _may: CanSubmit) -> RunDocument:
    """Stop a run. What was recorded stays."""
    cancel_run(session, run_id)
    session.flush()
    return run_document(session, run_id)


@router.get("/attempts/{attempt_id}", operation_id="get_attempt", responses=documented(401, 404))
def get_attempt(attempt_id: str, session: SessionDep, _may: CanRead) -> AttemptDetails:
    """An attempt with everything that was kept of it."""
    return attempt_details(session, attempt_id)
