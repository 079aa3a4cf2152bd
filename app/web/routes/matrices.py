"""The forms that cancel, rerun or add cells."""

from __future__ import annotations

from contextlib import suppress
from typing import Annotated

from fastapi import APIRouter, Form
from fastapi.responses import RedirectResponse, Response

from app.errors import ConflictError, InputError
from app.http.access import CanSubmit, token_of
from app.http.checked_route import CheckedRoute
from app.http.problems import status_of
from app.http.state import SessionDep, SettingsDep
from app.http.submitter import CanCancel
from app.judging.verdict.rerunnable import Which
from app.runs.submission.rerun_cells import add_cells, cancel_cell, rerun
from app.targets.parse import parse_target
from app.web.pages import page

router = APIRouter(include_in_schema=False, route_class=CheckedRoute)


@router.post("/runs/{run_id}/stop-cell")
def post_stop_cell(
    run_id: str, session: SessionDep, may: CanCancel, cell: Annotated[str, Form()] = ""
) -> Response:
    """Cancel one cell. If it was judged in the meantime, the page shows its verdict."""
    with suppress(ConflictError):
        cancel_cell(session, run_id, cell, who=token_of(may))
    return RedirectResponse(f"/runs/{run_id}", status_code=303)


@router.post("/runs/{run_id}/rerun")
def post_rerun(
    run_id: str,
    session: SessionDep,
    settings: SettingsDep,
    may: CanSubmit,
    which: Annotated[Which, Form()] = Which.FAILED,
) -> Response:
    """Run cells again. If no node can run them, the page of the run says so."""
    document = rerun(session, run_id, which, settings=settings, who=token_of(may))
    return RedirectResponse(f"/runs/{document.id}", status_code=303)


@router.post("/runs/{run_id}/cells")
def post_cell(
    run_id: str,
    session: SessionDep,
    settings: SettingsDep,
    may: CanSubmit,
    target: Annotated[str, Form(max_length=500)] = "",
) -> Response:
    """Add a cell. An error is shown beside the field."""
    try:
        # A savepoint: after an error the page can still use the session.
        with session.begin_nested():
            add_cells(session, run_id, [parse_target(target)], settings=settings, who=token_of(may))
    except (InputError, ConflictError) as error:
        return page("cell_form.html", status=status_of(error), run_id=run_id, target=target, problem=error)
    return RedirectResponse(f"/runs/{run_id}", status_code=303)
