"""Pages of one cell, and texts as they were kept: what a reader takes away."""

from __future__ import annotations

from typing import Literal

from fastapi import APIRouter, Request
from fastapi.responses import Response

from app.errors import NotFoundError
from app.http.access import CanRead
from app.http.state import SessionDep
from app.runs.lookup.cell import cell
from app.runs.lookup.reports import ReportDetails, report_details
from app.runs.lookup.runs import attempt_details
from app.web.formats import Form, address_of, as_file, as_json, as_text, asked
from app.web.pages import page
from app.web.views.cells import cell_values, repeat_file

router = APIRouter(include_in_schema=False)


@router.get("/jobs/{job_id}")
def get_cell(job_id: str, request: Request, session: SessionDep, _may: CanRead) -> Response:
    """A cell: its attempts, and how to repeat it."""
    name, form = asked(job_id, request)
    found = cell(session, name)
    return as_json(found.job) if form is Form.JSON else page("cell.html", **cell_values(found))


@router.get("/jobs/{job_id}/repeat.py")
def get_repeat(job_id: str, request: Request, session: SessionDep, _may: CanRead) -> Response:
    """A file that repeats a cell in the reader's own Python."""
    found = cell(session, job_id)
    program = repeat_file(found, address=address_of(request, f"/jobs/{job_id}"))
    return as_file(program, f"repeat-{job_id[-8:]}.py", media_type="text/x-python; charset=utf-8")


@router.get("/attempts/{attempt_id}/{stream}")
def get_stream(
    attempt_id: str, stream: Literal["stdout", "stderr"], session: SessionDep, _may: CanRead
) -> Response:
    """A stream of an attempt as it was kept."""
    seen = attempt_details(session, attempt_id).observation
    return as_text("" if seen is None else str(getattr(seen, stream)))


@router.get("/reports/{report_id}/text")
def get_text(report_id: str, session: SessionDep, _may: CanRead) -> Response:
    """A report as it was submitted."""
    return as_text(_kept(report_details(session, report_id)).text)


@router.get("/reports/{report_id}/scripts/{number}")
def get_script(report_id: str, number: int, session: SessionDep, _may: CanRead) -> Response:
    """A script of a report as it is run."""
    scripts = _kept(report_details(session, report_id)).report.scripts
    if not 1 <= number <= len(scripts):
        raise NotFoundError("The report has no script with this number.")
    return as_file(
        scripts[number - 1].script,
        f"script-{report_id[-8:]}-{number}.py",
        media_type="text/x-python; charset=utf-8",
    )


def _kept(report: ReportDetails) -> ReportDetails:
    """A report that still has its texts. Raises NotFoundError."""
    if report.withdrawn_at is not None:
        raise NotFoundError("This report was withdrawn: its text and its scripts are erased.")
    return report
