"""Runs over REST: submit, read, follow, rerun, cancel."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Header, Query, Request, Response

from app.api.answers.run_answer import (
    BriefAnswer,
    RunAnswer,
    SubmittedRun,
    View,
    base_address,
    run_answer,
    run_content,
    submitted_run,
)
from app.api.answers.waiting import Prefer, WaitingRoute
from app.api.bodies import CellsBody, PageBody, RerunBody, RunBody
from app.api.events import follow, follow_all
from app.api.openapi.events import STREAM
from app.http.access import CanRead, CanSubmit, token_of
from app.http.one_at_a_time import KEY_HEADER
from app.http.problems import BODY, LOCATION, problem_responses
from app.http.state import SessionDep, SettingsDep, commit_here
from app.http.submitter import CanCancel
from app.runs.estimates.waiting import with_waiting
from app.runs.lookup.reports import RunSummary, list_runs
from app.runs.lookup.runs import AttemptDetails, attempt_details
from app.runs.submission.rerun_cells import add_cells, cancel_cell, cancel_whole_run, rerun
from app.runs.submission.submit import submit

router = APIRouter(tags=["runs"], route_class=WaitingRoute)
REOPENED_RUN = {**LOCATION, "description": "The run with these cells in the queue."}
ENDED_RUN = {
    "model": RunAnswer,
    "description": "With `Prefer: wait=SECONDS`: the run, which has ended in time.",
}
Key = Annotated[
    str | None,
    Header(
        alias=KEY_HEADER,
        description="requests with the same key and the same body are done once, and get the same run",
    ),
]


@router.post(
    "/runs",
    operation_id="submit_run",
    status_code=202,
    response_model=SubmittedRun,
    responses={
        200: {
            "model": SubmittedRun,
            "description": "With `dry_run`: the run as it would be planned. With `Prefer`: the run, which has"
            " ended in time.",
        },
        202: LOCATION,
        **problem_responses(401, 409, *BODY),
    },
)
def post_run(
    *,
    body: RunBody,
    request: Request,
    session: SessionDep,
    settings: SettingsDep,
    may: CanSubmit,
    idempotency_key: Key = None,
    _prefer: Prefer = None,
    dry_run: Annotated[
        bool,
        Query(description="plan only, with an estimate of the duration; nothing is stored or run"),
    ] = False,
) -> Response:
    """Submit a script or a report. It becomes public on this service. `withdraw_url` can erase it."""
    result = submit(
        session,
        body.submission(idempotency_key=idempotency_key),
        settings=settings,
        dry_run=dry_run,
        who=token_of(may),
    )
    document = result.document
    headers = {} if dry_run else {"Location": f"/api/v1/runs/{document.id}"}
    if not dry_run:
        document = with_waiting(
            session,
            document,
            settings=settings,
            fleet=result.fleet,
            of_scripts=result.of_scripts,
            new_from=(token_of(may), body.awaited) if result.created else None,
        )
    answer = submitted_run(request, document, secret=result.withdraw_secret, planned_only=dry_run)
    content = answer.model_dump_json(by_alias=True)
    commit_here(session)
    return Response(content, 200 if dry_run else 202, headers, media_type="application/json")


@router.get("/runs", operation_id="list_runs", responses=problem_responses(401, 422))
def get_runs(
    session: SessionDep,
    _may: CanRead,
    cursor: str | None = None,
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
) -> PageBody[RunSummary]:
    """Runs, newest first."""
    return PageBody.of(list_runs(session, cursor=cursor, limit=limit))


@router.get(
    "/runs/{run_id}",
    operation_id="get_run",
    response_model=RunAnswer | BriefAnswer,
    responses=problem_responses(401, 404),
)
def get_run(
    *,
    run_id: str,
    request: Request,
    session: SessionDep,
    settings: SettingsDep,
    _may: CanRead,
    view: View = "full",
    _prefer: Prefer = None,
) -> Response:
    """The run object, or the run in brief. In the full one each waiting cell has its queue position."""
    content = run_content(session, run_id, settings=settings, base=base_address(request), view=view)
    return Response(content, media_type="application/json")


@router.get(
    "/runs/{run_id}/events",
    operation_id="follow_run",
    response_class=Response,
    responses={
        200: {
            "description": "Server-sent events that hold ids only. The stream ends with the run.",
            "content": STREAM,
        },
        204: {"description": "The run has ended, and this was its last event."},
        **problem_responses(401, 404, 422),
    },
)
def get_events(
    run_id: str,
    request: Request,
    _may: CanRead,
    last_event_id: Annotated[str | None, Header(alias="Last-Event-ID")] = None,
) -> Response:
    """Follow the events of a run. With `Last-Event-ID`, the events after that one are replayed."""
    return follow(request, run_id, last_event_id=last_event_id)


@router.get(
    "/events",
    operation_id="follow_all",
    response_class=Response,
    responses={
        200: {
            "description": "Server-sent events that hold ids only. The stream does not end by itself.",
            "content": STREAM,
        },
        **problem_responses(401, 422),
    },
)
def get_all_events(
    request: Request,
    _may: CanRead,
    since: Annotated[
        str | None,
        Query(
            max_length=80,
            description="the `id` of an event of this stream: the events after it come first; `0`: all events"
            " that are stored; without it: those from now on. `Last-Event-ID` takes precedence",
        ),
    ] = None,
    last_event_id: Annotated[str | None, Header(alias="Last-Event-ID")] = None,
) -> Response:
    """Follow the events of all runs.

    Each event is sent once, in an order that never changes. Events of one run that two transactions stored
    may change places, so look at the run and not at the order.
    """
    return follow_all(request, since=since, last_event_id=last_event_id)


@router.post(
    "/runs/{run_id}/cancel",
    operation_id="cancel_run",
    response_model=RunAnswer,
    responses=problem_responses(401, 404, 409, 422),
)
def post_cancel(
    *, run_id: str, request: Request, session: SessionDep, may: CanCancel, idempotency_key: Key = None
) -> RunAnswer:
    """Cancel a run. Its submitter and maintainers can do this. Recorded results stay."""
    run = cancel_whole_run(session, run_id, who=token_of(may), idempotency_key=idempotency_key)
    return run_answer(request, run)


@router.post(
    "/runs/{run_id}/rerun",
    operation_id="rerun_run",
    status_code=202,
    response_model=RunAnswer,
    responses={200: ENDED_RUN, 202: REOPENED_RUN, **problem_responses(401, 404, 409, *BODY)},
)
def post_rerun(
    *,
    run_id: str,
    body: RerunBody,
    request: Request,
    response: Response,
    session: SessionDep,
    settings: SettingsDep,
    may: CanSubmit,
    idempotency_key: Key = None,
    _prefer: Prefer = None,
) -> RunAnswer:
    """Rerun cells: `failed` or `undecided` ones within this run, which opens again; `all` as a new run."""
    run = rerun(
        session, run_id, body.which, settings=settings, who=token_of(may), idempotency_key=idempotency_key
    )
    response.headers["Location"] = f"/api/v1/runs/{run.id}"
    return run_answer(request, with_waiting(session, run, settings=settings))


@router.post(
    "/runs/{run_id}/cells",
    operation_id="add_cells",
    status_code=202,
    response_model=RunAnswer,
    responses={200: ENDED_RUN, 202: REOPENED_RUN, **problem_responses(401, 404, 409, *BODY)},
)
def post_cells(
    *,
    run_id: str,
    body: CellsBody,
    request: Request,
    response: Response,
    session: SessionDep,
    settings: SettingsDep,
    may: CanSubmit,
    idempotency_key: Key = None,
    _prefer: Prefer = None,
) -> RunAnswer:
    """Add a target to a run, for each of its scripts. The run is open until the new cells are judged."""
    run = add_cells(
        session,
        run_id,
        [body.target.target()],
        settings=settings,
        who=token_of(may),
        idempotency_key=idempotency_key,
    )
    response.headers["Location"] = f"/api/v1/runs/{run_id}"
    return run_answer(request, with_waiting(session, run, settings=settings))


@router.post(
    "/runs/{run_id}/cells/{job_id}/cancel",
    operation_id="cancel_cell",
    response_model=RunAnswer,
    responses=problem_responses(401, 404, 409, 422),
)
def post_cancel_cell(
    *,
    run_id: str,
    job_id: str,
    request: Request,
    session: SessionDep,
    settings: SettingsDep,
    may: CanCancel,
    idempotency_key: Key = None,
) -> RunAnswer:
    """Cancel one cell, by the id of its job. Its submitter and maintainers can do this. Other cells go on."""
    run = cancel_cell(session, run_id, job_id, who=token_of(may), idempotency_key=idempotency_key)
    return run_answer(request, with_waiting(session, run, settings=settings))


@router.get("/attempts/{attempt_id}", operation_id="get_attempt", responses=problem_responses(401, 404))
def get_attempt(attempt_id: str, session: SessionDep, _may: CanRead) -> AttemptDetails:
    """An attempt with everything that is stored of it."""
    return attempt_details(session, attempt_id)
