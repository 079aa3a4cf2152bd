"""Bundles over REST: export a run as one document, and import a run from elsewhere."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Request, Response
from fastapi.responses import JSONResponse

from app.api.answers.run_answer import RunAnswer, run_answer
from app.http.access import CanRead, CanSubmit
from app.http.checked_route import CheckedRoute
from app.http.problems import BODY, problem_responses
from app.http.state import SessionDep, SettingsDep
from app.runs.exchange.bundle import Bundle
from app.runs.exchange.contribute import contribute, contributor, export
from app.runs.exchange.envelope import MOST_SIGNATURES, PAYLOAD_TYPE

router = APIRouter(tags=["bundles"], route_class=CheckedRoute)
_LOCATION = {
    "Location": {
        "description": "the address of the run",
        "schema": {"type": "string", "format": "uri-reference"},
    }
}

_ENVELOPE = {
    "type": "object",
    "required": ["payload", "payloadType", "signatures"],
    "properties": {
        "payload": {
            "type": "string",
            "description": "base64 of an in-toto statement whose predicate is the bundle",
        },
        "payloadType": {"const": PAYLOAD_TYPE},
        "signatures": {
            "type": "array",
            "minItems": 1,
            "maxItems": MOST_SIGNATURES,
            "items": {
                "type": "object",
                "required": ["sig"],
                "properties": {"keyid": {"type": "string"}, "sig": {"type": "string"}},
            },
        },
    },
    "description": "A signed bundle: an envelope (DSSE), signed by a registered key.",
}


async def _raw_body(request: Request) -> bytes:
    """The body as bytes. The digest covers every field, and an incomplete bundle has its own message."""
    return await request.body()


@router.get(
    "/runs/{run_id}/bundle",
    operation_id="export_run",
    response_model=Bundle,
    responses=problem_responses(401, 404, 409),
)
def get_bundle(run_id: str, session: SessionDep, _may: CanRead) -> Response:
    """Export a run that ended: its report with its text, its attempts and their environments."""
    disposition = f'attachment; filename="samehere-{run_id}.json"'
    return JSONResponse(export(session, run_id), headers={"Content-Disposition": disposition})


@router.post(
    "/bundles",
    operation_id="import_run",
    status_code=201,
    response_model=RunAnswer,
    responses={
        200: {
            "model": RunAnswer,
            "description": "The run, which was imported before.",
            "headers": _LOCATION,
        },
        201: {"description": "The run, as it is stored here.", "headers": _LOCATION},
        **problem_responses(401, 404, 409, *BODY),
    },
    openapi_extra={
        "requestBody": {
            "required": True,
            "content": {
                "application/json": {
                    "schema": {"anyOf": [{"$ref": "#/components/schemas/Bundle"}, _ENVELOPE]}
                }
            },
        }
    },
)
def post_bundle(
    *,
    request: Request,
    response: Response,
    session: SessionDep,
    settings: SettingsDep,
    token: CanSubmit,
    body: Annotated[bytes, Depends(_raw_body)],
    by: Annotated[
        str | None,
        Query(max_length=100, description="the name of the contributor; the name of a token is shown too"),
    ] = None,
    report: Annotated[
        str | None,
        Query(
            max_length=100,
            description="the id of its report; by default the report is found by its text or address",
        ),
    ] = None,
) -> Any:
    """Import a run. It is judged again here and marked as contributed. Alone it decides no verdict.

    The bundle becomes public on this service. If the same evidence is sent again, the answer is 200 and the
    first run.
    """
    name = contributor(by, token=None if token is None else token.name)
    result = contribute(session, body, by=name, settings=settings, report_id=report)
    response.status_code = 201 if result.created else 200
    response.headers["Location"] = f"/api/v1/runs/{result.document.id}"
    return run_answer(request, result.document)
