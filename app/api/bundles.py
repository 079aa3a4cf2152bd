"""Bundles over REST: a run out of this service as one document, and a run of others into it."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Request, Response
from fastapi.responses import JSONResponse

from app.http.access import CanRead, CanSubmit
from app.http.problems import BODY, documented
from app.http.state import SessionDep, SettingsDep
from app.runs.exchange.bundle import Bundle
from app.runs.exchange.contribute import contribute, contributor, export
from app.runs.run_object.document import RunDocument

router = APIRouter(tags=["bundles"])
_LOCATION = {
    "Location": {
        "description": "the address of the run",
        "schema": {"type": "string", "format": "uri-reference"},
    }
}


async def _raw(request: Request) -> bytes:
    """As it was sent: its digest is over every field, and one that is cut must be refused in words of its own."""
    return await request.body()


@router.get(
    "/runs/{run_id}/bundle",
    operation_id="export_run",
    response_model=Bundle,
    responses=documented(401, 404, 409),
)
def get_bundle(run_id: str, session: SessionDep, _may: CanRead) -> Response:
    """A run that ended, as one document that explains itself: report, attempts, environments. It holds the text of the report."""
    disposition = f'attachment; filename="samehere-{run_id}.json"'
    return JSONResponse(export(session, run_id), headers={"Content-Disposition": disposition})


@router.post(
    "/bundles",
    operation_id="import_run",
    status_code=201,
    response_model=RunDocument,
    responses={
        200: {"model": RunDocument, "description": "The run, which was here before.", "headers": _LOCATION},
        201: {"description": "The run, as it is kept here.", "headers": _LOCATION},
        **documented(401, 404, 409, *BODY),
    },
    openapi_extra={
        "requestBody": {
            "required": True,
            "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Bundle"}}},
        }
    },
)
def post_bundle(
    *,
    response: Response,
    session: SessionDep,
    settings: SettingsDep,
    token: CanSubmit,
    body: Annotated[bytes, Depends(_raw)],
    by: Annotated[
        str | None,
        Query(max_length=100, description="who contributes it; with a token its name stands beside"),
    ] = None,
    report: Annotated[
        str | None,
        Query(max_length=100, description="the report it belongs to; else found by its text or address"),
    ] = None,
) -> Any:
    """Take in a run that others made. It is judged anew from its attempts, marked as contributed, and decides no verdict alone.

    What is sent becomes public here. The same evidence twice is one run, and the second answer is a 200.
    """
    name = contributor(by, token=None if token is None else token.name)
    found = contribute(session, body, by=name, settings=settings, report_id=report)
    response.status_code = 201 if found.created else 200
    response.headers["Location"] = f"/api/v1/runs/{found.document.id}"
    return found.document
