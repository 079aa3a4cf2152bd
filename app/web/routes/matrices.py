"""Pages around matrices: see what a submission would run, stop a cell, run cells again, add one."""

from __future__ import annotations

from contextlib import suppress
from typing import Annotated

from fastapi import APIRouter, Form
from fastapi.responses import RedirectResponse, Response

from app.errors import ConflictError, InputError
from app.http.access import CanSubmit, token_of
from app.http.problems import status_of
from app.http.state import SessionDep, SettingsDep
from app.judging.verdict.rerunnable import Which
from app.runs.rows.presets import known_presets
from app.runs.submission.rerun_cells import add_cells, cancel_cell, rerun
from app.runs.submission.submit import submit
from app.targets.parse import parse_target
from app.web.pages import page
from app.web.submission import SubmissionForm, submission_of

router = APIRouter(include_in_schema=False)


@router.post("/plan")
def post_plan(
    session: SessionDep, settings: SettingsDep, _may: CanSubmit, typed: Annotated[SubmissionForm, Form()]
) -> Response:
    """What a submission would run, and what it would take; nothing is kept. What was typed can be changed there, or run."""
    presets = known_presets(settings).values()
    try:
        plan = submit(session, submission_of(typed), settings=settings, dry_run=True).document
    except InputError as error:
        return page(
            "plan.html", status=status_of(error), values=typed, problem=error, plan=None, presets=presets
        )
    return page("plan.html", values=typed, problem=None, plan=plan, presets=presets)


@router.post("/runs/{run_id}/stop-cell")
def post_stop_cell(
    run_id: str, session: SessionDep, may: CanSubmit, cell: Annotated[str, Form()] = ""
) -> Response:
    """Stop one cell; one that was judged meanwhile is shown as it is."""
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
    """Run cells again; where nobody serves them still, that is said."""
    found = rerun(session, run_id, which, settings=settings, who=token_of(may))
    return RedirectResponse(f"/runs/{found.id}", status_code=303)


@router.post("/runs/{run_id}/cells")
def post_cell(
    run_id: str,
    session: SessionDep,
    settings: SettingsDep,
    may: CanSubmit,
    target: Annotated[str, Form(max_length=500)] = "",
) -> Response:
    """Add a cell; what can't be added is said beside what was typed."""
    try:
        # A savepoint: the page can still be drawn from the same session.
        with session.begin_nested():
            add_cells(session, run_id, [parse_target(target)], settings=settings, who=token_of(may))
    except (InputError, ConflictError) as error:
        return page("cell_form.html", status=status_of(error), run_id=run_id, target=target, problem=error)
    return RedirectResponse(f"/runs/{run_id}", status_code=303)
