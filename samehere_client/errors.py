"""The errors: the service refuses with a problem document (RFC 9457), or it can't be reached."""

from __future__ import annotations

import json
from collections.abc import Mapping

from pydantic import BaseModel, ConfigDict, ValidationError


class Problem(BaseModel):
    """A problem document: a stable `code`, a `detail` that says what to do, and the wrong `field`."""

    model_config = ConfigDict(extra="allow", frozen=True)

    title: str = ""
    status: int = 0
    code: str = ""
    detail: str = ""
    field: str | None = None


class UnreachableError(Exception):
    """There is no answer of a samehere service at this address."""


class MovedError(UnreachableError):
    """The server answers from another address. The token does not follow there."""


class CertificateError(UnreachableError):
    """The server's certificate is not trusted."""


class ApiError(Exception):
    """The service refused. `problem` says why; `retry_after` is in seconds, if the service gave it."""

    def __init__(self, status: int, problem: Problem, *, retry_after: float | None = None) -> None:
        super().__init__(f"{problem.detail or problem.title or 'The service refused.'} (HTTP {status})")
        self.status = status
        self.problem = problem
        self.retry_after = retry_after


class InvalidError(ApiError):
    """The request is wrong (400, 415, 422): `problem.field` names the part."""


class UnauthorisedError(ApiError):
    """A token is missing, or it is wrong (401)."""


class ForbiddenError(ApiError):
    """The token may not do this (403)."""


class NotFoundError(ApiError):
    """There is no such thing (404)."""


class ConflictError(ApiError):
    """It can't be done in this state (409)."""


class TooLargeError(ApiError):
    """The request is too large (413)."""


class QuotaError(ApiError):
    """There were too many requests in a minute (429)."""


class UnavailableError(ApiError):
    """A fault of the service (5xx)."""


_BY_STATUS: Mapping[int, type[ApiError]] = {
    400: InvalidError,
    401: UnauthorisedError,
    403: ForbiddenError,
    404: NotFoundError,
    409: ConflictError,
    413: TooLargeError,
    415: InvalidError,
    422: InvalidError,
    429: QuotaError,
}


def error_of(status: int, content: bytes, *, retry_after: float | None = None) -> ApiError:
    """The error for an answer that is no success."""
    try:
        problem = Problem.model_validate(json.loads(content))
    except (ValueError, ValidationError, RecursionError):
        problem = Problem(status=status)
    kind = _BY_STATUS.get(status, UnavailableError if status >= 500 else ApiError)
    return kind(status, problem, retry_after=retry_after)
