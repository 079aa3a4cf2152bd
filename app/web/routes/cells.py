"""The page of one cell, and the file that repeats it."""

from __future__ import annotations

from fastapi import APIRouter, Request
from fastapi.responses import Response

from app.http.access import CanRead
from app.http.checked_route import CheckedRoute
from app.http.state import SessionDep
from app.runs.lookup.cell import cell
from app.web.formats import Format, address_of, as_file, as_json, negotiate_format
from app.web.pages import page
from app.web.views.cells import cell_values, repeat_file

router = APIRouter(include_in_schema=False, route_class=CheckedRoute)


@router.get("/jobs/{job_id}")
def get_cell(job_id: str, request: Request, session: SessionDep, _may: CanRead) -> Response:
    """A cell: its attempts, and how to repeat it."""
    name, chosen = negotiate_format(job_id, request)
    details = cell(session, name)
    return as_json(details.job) if chosen is Format.JSON else page("cell.html", **cell_values(details))


@router.get("/jobs/{job_id}/repeat.py")
def get_repeat(job_id: str, request: Request, session: SessionDep, _may: CanRead) -> Response:
    """A file that repeats a cell in the reader's own Python."""
    program = repeat_file(cell(session, job_id), address=address_of(request, f"/jobs/{job_id}"))
    return as_file(program, f"repeat-{job_id[-8:]}.py", media_type="text/x-python; charset=utf-8")
