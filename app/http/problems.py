"""Errors as problem documents (RFC 9457) on REST, and as pages elsewhere. Their HTTP statuses are here."""

from __future__ import annotations

from collections.abc import Callable
from http import HTTPStatus
from typing import Any

import structlog
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, Response
from fastapi.routing import iter_route_contexts
from pydantic import BaseModel, Field
from sqlalchemy.exc import SQLAlchemyError
from starlette.exceptions import HTTPException as StarletteHTTPException

from app.bounded.callers import NoPlaceError
from app.bounded.waiting import MAY_WAIT
from app.errors import (
    ConflictError,
    ForbiddenError,
    InputError,
    MediaTypeError,
    NotFoundError,
    QuotaError,
    SamehereError,
    SetupError,
    SlowBodyError,
    TooLargeError,
    UnauthorisedError,
    UnavailableError,
)
from app.http.quotas import quota_headers
from app.http.request_log import template_of
from app.http.state import state_of
from app.storage.session import is_busy, is_unavailable

log = structlog.get_logger(__name__)

MEDIA_TYPE = "application/problem+json"
RETRY_AFTER_SECONDS = 5
# A request may have more wrong fields. The first ones are named.
MOST_ERRORS = 20
_STATUS: tuple[tuple[type[SamehereError], int], ...] = (
    (TooLargeError, 413),
    (InputError, 422),
    (NotFoundError, 404),
    (SlowBodyError, 408),
    (MediaTypeError, 415),
    (QuotaError, 429),
    (ConflictError, 409),
    (UnauthorisedError, 401),
    (ForbiddenError, 403),
    (UnavailableError, 503),
    (SetupError, 503),
)


class FieldProblem(BaseModel):
    """The problem with one field."""

    field: str
    message: str


class Problem(BaseModel):
    """A problem document. `code` is stable. `detail` explains the problem."""

    type: str = "about:blank"
    title: str
    status: int
    code: str
    detail: str
    field: str | None = None
    errors: list[FieldProblem] = Field(default_factory=list)


def status_of(error: SamehereError) -> int:
    """The HTTP status of an error."""
    return next((status for kind, status in _STATUS if isinstance(error, kind)), 500)


def problem_of(error: SamehereError) -> Problem:
    """The problem document of an error."""
    status = status_of(error)
    return Problem(
        title=HTTPStatus(status).phrase,
        status=status,
        code=error.code,
        detail=error.message,
        field=error.field,
    )


# Every route can answer with these: an unknown host, an internal error, a database that does not answer.
_ALWAYS = (403, 500, 503)
# A route with a request body can also answer with these.
BODY = (400, 413, 415, 422)
LOCATION = {
    "description": "The run as planned.",
    "headers": {
        "Location": {
            "description": "the address of the run",
            "schema": {"type": "string", "format": "uri-reference"},
        }
    },
}


def problem_responses(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """The `responses` of a route for OpenAPI: problem documents with these statuses."""
    return {status: _description(status) for status in sorted({*statuses, *_ALWAYS})}


def _description(status: int) -> dict[str, Any]:
    content = {
        MEDIA_TYPE: {
            "schema": {"$ref": "#/components/schemas/Problem"},
            "example": _EXAMPLES.get(status, _plain(status)).model_dump(),
        }
    }
    description: dict[str, Any] = {"description": HTTPStatus(status).phrase, "content": content}
    if status in {429, 503}:
        description["headers"] = {
            "Retry-After": {"description": "seconds to wait", "schema": {"type": "integer"}}
        }
    if status == 401:
        description["headers"] = {"WWW-Authenticate": {"schema": {"type": "string"}}}
    return description


def describe(application: FastAPI) -> None:
    """Add the schema of error answers to the OpenAPI document. `problem_responses` refers to it."""
    make_document = application.openapi

    def openapi() -> dict[str, Any]:
        document = make_document()
        schemas = document.setdefault("components", {}).setdefault("schemas", {})
        if "Problem" not in schemas:
            schema = Problem.model_json_schema(
                ref_template="#/components/schemas/{model}", mode="serialization"
            )
            schemas |= schema.pop("$defs", {}) | {"Problem": schema}
            for path, operation in (
                (path, operation)
                for path, operations in document["paths"].items()
                for operation in operations.values()
            ):
                if path.startswith("/api/"):
                    # An unknown query parameter.
                    operation["responses"].setdefault("422", {})
                    operation["responses"].setdefault("429", _description(429))
                if "422" in operation["responses"]:
                    operation["responses"]["422"] = _description(422)
                if "security" in operation:
                    # A token is optional where the settings grant the scope to every caller.
                    operation["security"].append({})
            schemas.pop("HTTPValidationError", None)
            schemas.pop("ValidationError", None)
        return document

    application.openapi = openapi  # type: ignore[method-assign]


def is_rest(path: str) -> bool:
    """Whether errors on a path are answered with problem documents."""
    return path.startswith(("/api/", "/healthz", "/readyz", "/metrics", "/mcp"))


Draw = Callable[[Request, Problem], Response]


def install(application: FastAPI, *, page: Draw) -> None:
    """Handle all expected errors. `page` renders a problem as a page. The guards handle all other errors."""

    async def answer(request: Request, error: Exception) -> Response:
        if isinstance(error, NoPlaceError) and request.scope.get(MAY_WAIT):
            raise error
        return respond(request, error, page=page)

    for kind in (SamehereError, SQLAlchemyError, RequestValidationError, StarletteHTTPException):
        application.add_exception_handler(kind, answer)


def respond(request: Request, error: Exception, *, page: Draw) -> Response:
    """The answer to any error. It shows no internal details."""
    problem = _problem_for(error)
    if problem.status >= 500:
        log.error(
            "request_failed",
            route=template_of(request),
            code=problem.code,
            cause=_name_of_cause(error),
            exc_info=error if problem.status == 500 else None,
        )
    state_of(request).meters.note_refusal(problem.code)
    headers: dict[str, str] = {}
    if problem.status == 405:
        headers["Allow"] = ", ".join(_methods(request))
    if problem.status == 503:
        headers["Retry-After"] = str(RETRY_AFTER_SECONDS)
    if isinstance(error, QuotaError):
        headers["Retry-After"] = str(error.seconds)
    headers |= quota_headers(request)
    if problem.status == 401:
        headers["WWW-Authenticate"] = "Bearer"
    if is_rest(request.url.path):
        return JSONResponse(
            problem.model_dump(exclude_none=True),
            status_code=problem.status,
            media_type=MEDIA_TYPE,
            headers=headers,
        )
    response = page(request, problem)
    response.headers.update(headers)
    return response


def _name_of_cause(error: Exception) -> str:
    """The class of what a driver or a library raised, such as DiskFull, which says where to look."""
    return type(getattr(error, "orig", None) or error.__cause__ or error).__name__


def _methods(request: Request) -> list[str]:
    """The methods of an address. Several routes may share it."""
    methods = {
        method
        for route in iter_route_contexts(request.app.routes)
        if getattr(route, "path_regex", None) is not None and route.path_regex.match(request.url.path)
        for method in route.methods or ()
    }
    return sorted(methods | ({"HEAD"} if "GET" in methods else set()))


def _problem_for(error: Exception) -> Problem:
    if isinstance(error, SamehereError):
        return problem_of(error) if status_of(error) != 500 else _internal_error()
    if isinstance(error, SQLAlchemyError) and is_busy(error):
        return problem_of(
            UnavailableError(
                "Someone else is changing the same thing. Nothing was done. Try again.",
                code="busy",
            )
        )
    if isinstance(error, SQLAlchemyError) and is_unavailable(error):
        return problem_of(
            UnavailableError("The database does not answer. Try again soon.", code="database_unavailable")
        )
    if isinstance(error, RequestValidationError):
        return _invalid(error.errors())
    return _plain(error.status_code) if isinstance(error, StarletteHTTPException) else _internal_error()


def _internal_error() -> Problem:
    return Problem(
        title="Internal Server Error",
        status=500,
        code="fault",
        detail="Something went wrong on our side. Check what was done before you try again.",
    )


_DETAILS = {
    400: "The request can't be read.",
    404: "There is no such page.",
    405: "This address does not take this method.",
}


def _plain(status: int) -> Problem:
    phrase = HTTPStatus(status).phrase
    return Problem(
        title=phrase,
        status=status,
        code=phrase.lower().replace(" ", "_"),
        detail=_DETAILS.get(status, phrase),
    )


_PLACES = {"body", "query", "path", "header", "cookie"}


def _invalid(validation_errors: Any) -> Problem:
    """The problem of a body or a parameter with the wrong form. It does not repeat the input."""
    errors = [_field_problem(error) for error in validation_errors[:MOST_ERRORS]]
    first = errors[0] if errors else FieldProblem(field="", message="The request has the wrong form.")
    problem = _plain(422)
    problem.code = "bad_request_form"
    problem.detail = f"{first.field}: {first.message}" if first.field else first.message
    problem.field = first.field or None
    problem.errors = errors
    return problem


def _field_problem(error: Any) -> FieldProblem:
    place = error["loc"]
    if error["type"] == "json_invalid":
        return FieldProblem(field="", message=f"This is not JSON: see character {place[-1]}.")
    parts = place[1:] if place and place[0] in _PLACES else place
    message = str(error["msg"])
    if error["type"] in {"too_short", "too_long"} and isinstance(error.get("input"), str):
        # For our own text types pydantic would speak of items.
        bound = next(
            f"at {word} {error['ctx'][name]}"
            for name, word in (("min_length", "least"), ("max_length", "most"))
            if name in error["ctx"]
        )
        message = f"The text must have {bound} character{'' if bound.endswith(' 1') else 's'}."
    return FieldProblem(field=".".join(str(part) for part in parts)[:200], message=message[:300])


_EXAMPLES = {
    401: problem_of(UnauthorisedError("This token is not valid.")),
    403: problem_of(ForbiddenError("This token lacks the scope submit.", code="scope_missing")),
    404: problem_of(NotFoundError("There is no run with this id.")),
    409: problem_of(ConflictError("The run has finished.", code="run_finished")),
    413: problem_of(TooLargeError("The script is larger than 262144 bytes.", field="script")),
    429: problem_of(
        QuotaError("There were more than 120 submissions in a minute. Wait 7 seconds.", seconds=7)
    ),
    415: problem_of(MediaTypeError("Send JSON with Content-Type: application/json.")),
    422: problem_of(
        InputError("Send exactly one of script and report.", code="script_or_report", field="script")
    ),
    503: problem_of(
        UnavailableError("The database does not answer. Try again soon.", code="database_unavailable")
    ),
}
