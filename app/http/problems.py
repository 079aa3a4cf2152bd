"""Every error as a problem document (RFC 9457) on REST, and as a page elsewhere; the one place that knows statuses."""

from __future__ import annotations

from collections.abc import Callable
from http import HTTPStatus
from typing import Any

import structlog
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, Response
from pydantic import BaseModel, Field
from sqlalchemy.exc import SQLAlchemyError
from starlette.exceptions import HTTPException as StarletteHTTPException

from app.errors import (
    ConflictError,
    ForbiddenError,
    InputError,
    NotFoundError,
    SamehereError,
    TooLargeError,
    UnauthorisedError,
    UnavailableError,
)
from app.storage.session import is_unavailable

log = structlog.get_logger(__name__)

MEDIA_TYPE = "application/problem+json"
RETRY_AFTER_SECONDS = 5
_STATUS: tuple[tuple[type[SamehereError], int], ...] = (
    (TooLargeError, 413),
    (InputError, 422),
    (NotFoundError, 404),
    (ConflictError, 409),
    (UnauthorisedError, 401),
    (ForbiddenError, 403),
    (UnavailableError, 503),
)


class FieldProblem(BaseModel):
    """What is wrong with one field."""

    field: str
    message: str


class Problem(BaseModel):
    """A problem document. `code` is stable; `detail` says what to do."""

    type: str = "about:blank"
    title: str
    status: int
    code: str
    detail: str
    field: str | None = None
    errors: list[FieldProblem] = Field(default_factory=list)


def status_of(error: SamehereError) -> int:
    """The HTTP status of an error of ours."""
    return next((status for kind, status in _STATUS if isinstance(error, kind)), 500)


def problem_of(error: SamehereError) -> Problem:
    """The document of an error of ours."""
    status = status_of(error)
    return Problem(title=HTTPStatus(status).phrase, status=status, code=error.code, detail=error.message, field=error.field)


def documented(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """The `responses` of a route: these statuses, as problem documents."""
    return {
        status: {
            "description": HTTPStatus(status).phrase,
            "content": {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}},
        }
        for status in sorted({*statuses, 500, 503})
    }


def describe(application: FastAPI) -> None:
    """Put the problem document into the OpenAPI description, which the routes' `documented` responses refer to."""
    described = application.openapi

    def openapi() -> dict[str, Any]:
        document = described()
        schemas = document.setdefault("components", {}).setdefault("schemas", {})
        if "Problem" not in schemas:
            made = Problem.model_json_schema(ref_template="#/components/schemas/{model}")
            schemas |= made.pop("$defs", {}) | {"Problem": made}
            invalid = {
                "description": "Unprocessable Content",
                "content": {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}},
            }
            for operation in (operation for path in document["paths"].values() for operation in path.values()):
                if "422" in operation["responses"]:
                    operation["responses"]["422"] = invalid
            schemas.pop("HTTPValidationError", None)
            schemas.pop("ValidationError", None)
        return document

    application.openapi = openapi  # type: ignore[method-assign]


def is_rest(path: str) -> bool:
    """Whether a path is answered with problem documents."""
    return path.startswith(("/api/", "/healthz", "/readyz", "/metrics"))


def install(application: FastAPI, *, page: Callable[[Request, Problem], Response]) -> None:
    """Map every error; `page` draws the problem for a reader."""

    async def answer(request: Request, error: Exception) -> Response:
        problem = _problem_for(error)
        if problem.status >= 500:
            log.error("request_failed", path=request.url.path, code=problem.code, exc_info=error if problem.status == 500 else None)
        headers = dict(error.headers or {}) if isinstance(error, StarletteHTTPException) else {}
        if problem.status == 503:
            headers["Retry-After"] = str(RETRY_AFTER_SECONDS)
        if problem.status == 401:
            headers["WWW-Authenticate"] = "Bearer"
        if is_rest(request.url.path):
            return JSONResponse(problem.model_dump(exclude_none=True), status_code=problem.status, media_type=MEDIA_TYPE, headers=headers)
        response = page(request, problem)
        response.headers.update(headers)
        return response

    for kind in (SamehereError, SQLAlchemyError, RequestValidationError, StarletteHTTPException, Exception):
        application.add_exception_handler(kind, answer)


def _problem_for(error: Exception) -> Problem:
    if isinstance(error, SamehereError):
        return problem_of(error) if status_of(error) != 500 else _fault()
    if isinstance(error, SQLAlchemyError) and is_unavailable(error):
        return problem_of(UnavailableError("The database does not answer. Try again soon.", code="database_unavailable"))
    if isinstance(error, RequestValidationError):
        return _invalid(error.errors())
    return _plain(error.status_code) if isinstance(error, StarletteHTTPException) else _fault()


def _fault() -> Problem:
    return Problem(title="Internal Server Error", status=500, code="fault", detail="This is our fault. Nothing was done that is not kept.")


_DETAILS = {
    400: "The request can't be read.",
    404: "There is no such page.",
    405: "This address does not take this method.",
    415: "Send JSON with Content-Type: application/json.",
}


def _plain(status: int) -> Problem:
    phrase = HTTPStatus(status).phrase
    return Problem(title=phrase, status=status, code=phrase.lower().replace(" ", "_"), detail=_DETAILS.get(status, phrase))


def _invalid(found: Any) -> Problem:
    """A body or parameter of the wrong form. What was sent is not echoed."""
    errors = [
        FieldProblem(field=".".join(str(part) for part in one["loc"] if part != "body")[:200], message=str(one["msg"])[:300])
        for one in found
    ]
    first = errors[0] if errors else FieldProblem(field="", message="The request has the wrong form.")
    detail = f"{first.field}: {first.message}" if first.field else first.message
    return Problem(
        title="Unprocessable Content", status=422, code="bad_request_form", detail=detail, field=first.field or None, errors=errors[:20]
    )
