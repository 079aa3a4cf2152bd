"""The pages: form, runs, attempts, reports, nodes. Everything works without JavaScript."""

from __future__ import annotations

from contextlib import suppress
from typing import Annotated, Any, Literal
from urllib.parse import quote

from fastapi import APIRouter, Cookie, Form, Query, Request
from fastapi.responses import PlainTextResponse, RedirectResponse, Response

from app.errors import ConflictError, InputError
from app.http.access import CanRead, CanSubmit
from app.http.problems import status_of
from app.http.state import BrokerDep, SessionDep, SettingsDep
from app.judging.report.attention import Attention
from app.runs.lifecycle.cancel import cancel_run
from app.runs.lookup.attention import group, groups
from app.runs.lookup.changes import newest_changes
from app.runs.lookup.comparisons import compare_attempts, comparison
from app.runs.lookup.history import history
from app.runs.lookup.reports import list_reports, report_details, source_digest
from app.runs.lookup.runs import attempt_details, run_document
from app.runs.maintenance.quarantine import active_quarantines
from app.runs.rows.nodes import list_nodes
from app.runs.rows.presets import known_presets
from app.runs.run_object.document import RunDocument
from app.runs.run_object.reading_notes import environment_differences
from app.runs.submission.relaunch import relaunch
from app.runs.submission.submit import submit
from app.search.fields import FIELDS
from app.search.terms import QueryError
from app.states import OPEN_STATES
from app.targets.planning.run_request import RunRequest
from app.web import formats
from app.web.formats import address_of, as_json, as_markdown, asked
from app.web.pages import as_page, drawn, drawn_lately, page
from app.web.routes import cells as cell_routes
from app.web.submission import SubmissionForm, submission_of
from app.web.views import reports as report_views
from app.web.views import runs as views
from app.web.views import side_by_side
from app.web.views.environments import surroundings
from app.web.views.grouped_rows import toolchains_alike
from app.web.views.markdown_copy import run_markdown
from app.web.views.wording import defect_words, headline
from worker.contract.programs.probe import probe_program

router = APIRouter(include_in_schema=False)
router.include_router(cell_routes.router)
RECENT = 8
WITHDRAW_COOKIE = "samehere_withdraw"
KEPT_LINK_SECONDS = 24 * 3600
# Of each group on the first page.
EACH = 6


def _home(
    session: SessionDep,
    settings: SettingsDep,
    *,
    status: int = 200,
    typed: SubmissionForm | None = None,
    problem: InputError | None = None,
) -> Response:
    shown = {
        "newest": newest_changes(session, limit=EACH),
        "groups": groups(session, each=EACH),
        "recent": list_reports(session, limit=RECENT).items,
    }
    presets = known_presets(settings).values()
    return page(
        "home.html",
        status=status,
        values=typed or SubmissionForm(),
        problem=problem,
        presets=presets,
        **shown,
    )


@router.get("/")
def get_home(session: SessionDep, settings: SettingsDep, _may: CanRead) -> Response:
    """What wants attention, and the form."""
    return _home(session, settings)


@router.get("/attention/{attention}")
def get_attention(
    attention: Attention, session: SessionDep, _may: CanRead, cursor: str | None = None
) -> Response:
    """All reports of a group, lately verified first."""
    return page("attention.html", group=group(session, attention, cursor=cursor, limit=50))


@router.post("/")
def post_home(
    session: SessionDep, settings: SettingsDep, _may: CanSubmit, typed: Annotated[SubmissionForm, Form()]
) -> Response:
    """Submit; an error is shown beside its field, and nothing typed is lost."""
    try:
        # A savepoint: what a refused submission wrote is undone, and the page can still be drawn from the same session.
        with session.begin_nested():
            submitted = submit(session, submission_of(typed), settings=settings)
    except InputError as error:
        return _home(session, settings, status=status_of(error), typed=typed, problem=error)
    there = f"/runs/{submitted.document.id}"
    response = RedirectResponse(there, status_code=303)
    if submitted.withdraw_secret is not None:
        # Not in the address, which is passed on.
        response.set_cookie(
            WITHDRAW_COOKIE,
            submitted.withdraw_secret,
            max_age=KEPT_LINK_SECONDS,
            path=there,
            httponly=True,
            samesite="strict",
        )
    return response


def _run_values(whole: RunDocument, request: Request, *, start: int = 0) -> dict[str, Any]:
    run = views.without_erased(whole)
    cells = views.cells_of(run)
    comparisons = views.comparisons_of(run)
    attempts = views.attempts_alike(run)
    return {
        "run": run,
        "headline": headline(run),
        "defect": defect_words(run, why=False),
        "cells": cells[start : start + views.MOST_CELLS],
        "cells_all": len(cells),
        "start": start,
        "tally": views.tally_of(run),
        "checks": views.checks_of(run),
        "place": environment_differences(run),
        "comparisons": comparisons[: views.MOST_COMPARED],
        "comparisons_all": len(comparisons),
        "traces": views.traces_of(run),
        "alike": attempts,
        "printed": views.printed_of(run),
        "command": views.command_of(run),
        "surroundings": surroundings(run.environments, most=8, most_rows=views.MOST_FACTS),
        "live": run.state in OPEN_STATES,
        "markdown": run_markdown(run, address=address_of(request, f"/runs/{run.id}")),
    }


@router.get("/runs/{run_id}")
def get_run(
    *,
    run_id: str,
    request: Request,
    session: SessionDep,
    settings: SettingsDep,
    _may: CanRead,
    start: Annotated[int, Query(alias="from", ge=0, le=10_000)] = 0,
    secret: Annotated[str | None, Cookie(alias=WITHDRAW_COOKIE, max_length=100)] = None,
) -> Response:
    """A run; fills in while it goes on. Who submitted it is shown the link that withdraws it."""
    name, form = asked(run_id, request)
    run = run_document(session, name, settings=settings)
    if form is formats.Form.JSON:
        return as_json(run)
    if form is formats.Form.MARKDOWN:
        return as_markdown(run_markdown(run, address=address_of(request, f"/runs/{name}")))
    url = None if secret is None else f"/withdraw/{quote(secret, safe='')}"
    return page("run.html", **_run_values(run, request, start=start), withdraw_url=url)


@router.get("/runs/{run_id}/fragment")
def get_run_fragment(
    run_id: str, request: Request, session: SessionDep, settings: SettingsDep, _may: CanRead
) -> Response:
    """The part of a run's page that changes."""
    return page("run_body.html", **_run_values(run_document(session, run_id, settings=settings), request))


@router.post("/runs/{run_id}/cancel")
def post_cancel(run_id: str, session: SessionDep, _may: CanSubmit) -> Response:
    """Stop a run; one that finished meanwhile is shown as it is."""
    with suppress(ConflictError):
        cancel_run(session, run_id)
    return RedirectResponse(f"/runs/{run_id}", status_code=303)


@router.get("/attempts/{attempt_id}")
def get_attempt(attempt_id: str, request: Request, session: SessionDep, _may: CanRead) -> Response:
    """An attempt with its streams as kept."""
    name, form = asked(attempt_id, request)
    found = attempt_details(session, name)
    return (
        as_json(found)
        if form is formats.Form.JSON
        else page("attempt.html", **side_by_side.attempt_values(found))
    )


@router.get("/compare")
def get_compare(  # noqa: PLR0917 - a query and what answers it
    request: Request,
    session: SessionDep,
    _may: CanRead,
    a: Annotated[str, Query(max_length=100)] = "",
    b: Annotated[str, Query(max_length=100)] = "",
    baseline: Annotated[str, Query(max_length=100)] = "",
    candidate: Annotated[str, Query(max_length=100)] = "",
    id: Annotated[str, Query(max_length=100)] = "",  # noqa: A002
) -> Response:
    """Two attempts side by side, by their ids (`a` is the baseline) or by that of their comparison; without ids, a form for them."""
    one, other = (a or baseline).strip(), (b or candidate).strip()
    if not (id or one or other):
        return page("compare_form.html", baseline="", candidate="")
    found = comparison(session, id) if id else compare_attempts(session, one, other)
    if asked("", request)[1] is formats.Form.JSON:
        return as_json(found)
    return page("compare.html", **side_by_side.values_of(found))


@router.get("/reports")
def get_reports(
    session: SessionDep,
    _may: CanRead,
    q: Annotated[str, Query(max_length=300)] = "",
    cursor: str | None = None,
) -> Response:
    """Reports, newest first; searched by words and fields."""
    try:
        found = list_reports(session, cursor=cursor, limit=30, query=q)
    except QueryError as error:
        return page("reports.html", status=status_of(error), found=None, q=q, problem=error, fields=FIELDS)
    return page("reports.html", found=found, q=q, problem=None, fields=FIELDS)


@router.get("/reports/{report_id}")
def get_report(
    *,
    report_id: str,
    request: Request,
    session: SessionDep,
    settings: SettingsDep,
    _may: CanRead,
    start: Annotated[int, Query(alias="from", ge=0, le=10_000)] = 0,
    older: Annotated[int, Query(ge=0, le=10_000)] = 0,
    rows: Annotated[Literal["", "each"], Query()] = "",
) -> Response:
    """A report for good: what stands, where it happens, and since when."""
    name, form = asked(report_id, request)
    report = report_details(session, name)
    if form is formats.Form.JSON:
        return as_json(report)
    address = address_of(request, f"/reports/{name}")
    if report.withdrawn_at is not None:
        gone = f"This report was withdrawn: {address}\n"
        return (
            as_markdown(gone)
            if form is formats.Form.MARKDOWN
            else page("report_withdrawn.html", report=report)
        )
    unchanged = source_digest(session, report)

    def draw() -> str:
        stands = report_views.standing_run(report)
        run = None if stands is None else run_document(session, stands.id, settings=settings)
        points = history(session, name, scripts=report.report.scripts)
        values = report_views.report_values(
            report, run, points, address=address, start=start, older=older, each=rows == "each"
        )
        if form is formats.Form.MARKDOWN:
            return values["markdown"] or f"Nothing was run yet: {address}\n"
        return drawn("report.html", **values, presets=known_presets(settings).values())

    text = drawn_lately(
        None if unchanged is None else f"{unchanged} {form} {address} {start} {older} {rows}", draw
    )
    return as_markdown(text) if form is formats.Form.MARKDOWN else as_page(text)


@router.post("/reports/{report_id}/runs")
def post_report_run(
    report_id: str,
    session: SessionDep,
    settings: SettingsDep,
    _may: CanSubmit,
    preset: Annotated[str, Form()] = "",
) -> Response:
    """Run a report again."""
    document = relaunch(session, report_id, RunRequest(preset=preset or None), settings=settings)
    return RedirectResponse(f"/runs/{document.id}", status_code=303)


@router.get("/probe.py")
def get_probe(_may: CanRead) -> Response:
    """The file that a reporter runs in their own Python."""
    headers = {"Content-Disposition": 'attachment; filename="probe.py"'}
    return PlainTextResponse(probe_program(), media_type="text/x-python", headers=headers)


@router.get("/nodes")
def get_nodes(
    session: SessionDep,
    broker: BrokerDep,
    _may: CanRead,
    start: Annotated[int, Query(alias="from", ge=0, le=10_000)] = 0,
) -> Response:
    """The machines that execute."""
    nodes = list_nodes(session, broker)
    return page(
        "nodes.html",
        nodes=nodes,
        start=start,
        toolchains=toolchains_alike(nodes),
        quarantines=active_quarantines(session),
    )
