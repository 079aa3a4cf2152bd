"""The pages: form, runs, attempts, reports, nodes. Everything works without JavaScript."""

from __future__ import annotations

from contextlib import suppress
from typing import Annotated, Any

from fastapi import APIRouter, Form, Query
from fastapi.responses import PlainTextResponse, RedirectResponse, Response

from app.errors import ConflictError, InputError
from app.http.access import CanRead, CanSubmit
from app.http.problems import status_of
from app.http.state import BrokerDep, SessionDep, SettingsDep
from app.intake.thread import looks_like_report
from app.runs.as_read import reporters_place
from app.runs.cancel import cancel_run
from app.runs.comparisons import compare_attempts, comparison
from app.runs.matrix import matrix
from app.runs.nodes import list_nodes
from app.runs.reports import launch, list_reports, report_details
from app.runs.show import attempt_details, run_document
from app.runs.submit import Submission, submit
from app.targets.presets import PRESETS
from app.web import side_by_side, views
from app.web.pages import page
from worker.reporters_probe import probe_program

router = APIRouter(include_in_schema=False)
RECENT = 8


@router.get("/")
def get_home(session: SessionDep, _may: CanRead) -> Response:
    """The form, and what happened lately."""
    return page("home.html", values={}, problem=None, presets=PRESETS.values(), recent=list_reports(session, limit=RECENT).items)


@router.post("/")
def post_home(
    *,
    session: SessionDep,
    settings: SettingsDep,
    _may: CanSubmit,
    text: Annotated[str, Form()] = "",
    form: Annotated[str, Form()] = "auto",
    claim: Annotated[str, Form()] = "",
    title: Annotated[str, Form()] = "",
    preset: Annotated[str, Form()] = "",
    source_url: Annotated[str, Form()] = "",
) -> Response:
    """Submit; an error is shown beside its field, and nothing typed is lost."""
    text = text.replace("\r\n", "\n")
    is_report = form == "report" or (form != "script" and looks_like_report(text))
    request = Submission(
        script=None if is_report else text,
        report=text if is_report else None,
        claim=claim.strip() or None,
        preset=preset or None,
        title=title.strip(),
        source_url=source_url.strip() or None,
    )
    try:
        # A savepoint: what a refused submission wrote is undone, and the page can still be drawn from the same session.
        with session.begin_nested():
            document = submit(session, request, settings=settings).document
    except InputError as error:
        values = {"text": text, "form": form, "claim": claim, "title": title, "preset": preset, "source_url": source_url}
        recent = list_reports(session, limit=RECENT).items
        return page("home.html", status=status_of(error), values=values, problem=error, presets=PRESETS.values(), recent=recent)
    return RedirectResponse(f"/runs/{document.id}", status_code=303)


def _run_values(session: SessionDep, run_id: str) -> dict[str, Any]:
    run = run_document(session, run_id)
    return {
        "run": run,
        "cells": views.cells_of(run),
        "checks": views.checks_of(run),
        "place": reporters_place(run),
        "comparisons": views.comparisons_of(run),
        "attempts": views.attempts_of(run),
        "printed": views.printed_of(run),
        "command": views.command_of(run),
        "ended": sum(attempt.outcome is not None for job in run.jobs for attempt in job.attempts),
        "live": run.state in {"queued", "running"},
    }


@router.get("/runs/{run_id}")
def get_run(run_id: str, session: SessionDep, _may: CanRead) -> Response:
    """A run; fills in while it goes on."""
    return page("run.html", **_run_values(session, run_id))


@router.get("/runs/{run_id}/fragment")
def get_run_fragment(run_id: str, session: SessionDep, _may: CanRead) -> Response:
    """The part of a run's page that changes."""
    return page("run_body.html", **_run_values(session, run_id))


@router.post("/runs/{run_id}/cancel")
def post_cancel(run_id: str, session: SessionDep, _may: CanSubmit) -> Response:
    """Stop a run; one that finished meanwhile is shown as it is."""
    with suppress(ConflictError):
        cancel_run(session, run_id)
    return RedirectResponse(f"/runs/{run_id}", status_code=303)


@router.get("/attempts/{attempt_id}")
def get_attempt(attempt_id: str, session: SessionDep, _may: CanRead) -> Response:
    """An attempt with its streams as kept."""
    return page("attempt.html", **side_by_side.attempt_values(attempt_details(session, attempt_id)))


@router.get("/compare")
def get_compare(
    session: SessionDep,
    _may: CanRead,
    baseline: Annotated[str, Query(max_length=100)] = "",
    candidate: Annotated[str, Query(max_length=100)] = "",
    id: Annotated[str, Query(max_length=100)] = "",  # noqa: A002
) -> Response:
    """Two attempts side by side, by their ids or by that of their comparison; without ids, a form for them."""
    if not (id or baseline or candidate):
        return page("compare_form.html", baseline="", candidate="")
    found = comparison(session, id) if id else compare_attempts(session, baseline, candidate)
    return page("compare.html", **side_by_side.values_of(found))


@router.get("/reports")
def get_reports(session: SessionDep, _may: CanRead, q: Annotated[str, Query(max_length=300)] = "", cursor: str | None = None) -> Response:
    """Reports, newest first; searched by words."""
    found = list_reports(session, cursor=cursor, limit=30, query=q.strip() or None)
    return page("reports.html", found=found, q=q)


@router.get("/reports/{report_id}")
def get_report(report_id: str, session: SessionDep, _may: CanRead) -> Response:
    """A report with its runs."""
    return page("report.html", report=report_details(session, report_id), matrix=matrix(session, report_id), presets=PRESETS.values())


@router.post("/reports/{report_id}/runs")
def post_report_run(
    report_id: str, session: SessionDep, settings: SettingsDep, _may: CanSubmit, preset: Annotated[str, Form()] = ""
) -> Response:
    """Run a report again."""
    document = launch(session, report_id, settings=settings, preset=preset or None)
    return RedirectResponse(f"/runs/{document.id}", status_code=303)


@router.get("/probe.py")
def get_probe(_may: CanRead) -> Response:
    """The file that a reporter runs in their own Python."""
    headers = {"Content-Disposition": 'attachment; filename="probe.py"'}
    return PlainTextResponse(probe_program(), media_type="text/x-python", headers=headers)


@router.get("/nodes")
def get_nodes(session: SessionDep, broker: BrokerDep, _may: CanRead) -> Response:
    """The machines that execute."""
    return page("nodes.html", nodes=list_nodes(session, broker))
