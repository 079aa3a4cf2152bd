"""The errors of the service, by who can fix them. REST, pages and the command line map them to statuses.

The docstrings give the HTTP status and the exit status.
"""

from __future__ import annotations


class SamehereError(Exception):
    """The base class. `code` never changes, `message` says what to do, and `field` names the input field."""

    code = "error"

    def __init__(self, message: str, *, code: str | None = None, field: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.code = code or self.code
        self.field = field


class InputError(SamehereError):
    """The input can't be used, and nothing was done: 422, exit status 2."""

    code = "bad_input"


class TooLargeError(InputError):
    """The input is over a size limit: 413."""

    code = "too_large"


class SlowBodyError(SamehereError):
    """The body did not arrive in time: 408."""

    code = "slow_body"


class MediaTypeError(SamehereError):
    """The body has a media type that is not accepted: 415."""

    code = "unsupported_media_type"


class NotFoundError(SamehereError):
    """There is nothing with this id or name: 404."""

    code = "not_found"


class ConflictError(SamehereError):
    """The present state of a run, report or other object does not allow the request: 409."""

    code = "conflict"


class IdempotencyError(InputError):
    """The idempotency key was used before with another body: 422."""

    code = "idempotency_key_reused"


class UnauthorisedError(SamehereError):
    """The token is missing or wrong: 401."""

    code = "unauthorised"


class ForbiddenError(SamehereError):
    """The token lacks the scope, or the request comes from a foreign page: 403."""

    code = "forbidden"


class UnavailableError(SamehereError):
    """The database or the broker is down: 503 with Retry-After."""

    code = "unavailable"


class QuotaError(SamehereError):
    """The caller has sent too many requests: 429 with Retry-After, in `seconds`."""

    code = "too_many_requests"

    def __init__(self, message: str, *, seconds: int) -> None:
        super().__init__(message)
        self.seconds = seconds


class SetupError(SamehereError):
    """A setting or an installation can't work, so nothing was started: exit status 2."""

    code = "setup"


class NodeError(SamehereError):
    """The node on this machine failed: exit status 1."""

    code = "node_failed"


def start_status(error: SamehereError) -> int:
    """The exit status of a process that could not start: 1 if a later start may succeed, else 2."""
    return 1 if isinstance(error, UnavailableError) else 2
