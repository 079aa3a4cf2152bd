"""The errors of the trusted side, by whose fault; each has a stable code. The doors map them to HTTP and exit statuses."""

from __future__ import annotations


class SamehereError(Exception):
    """Root. `code` is stable, `message` says what to do."""

    code = "error"

    def __init__(self, message: str, *, code: str | None = None, field: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.code = code or self.code
        self.field = field


class InputError(SamehereError):
    """What was submitted can't be used: 422, exit status 2. Nothing was done."""

    code = "bad_input"


class TooLargeError(InputError):
    """Over a size limit: 413."""

    code = "too_large"


class MediaTypeError(SamehereError):
    """A body in a form that is not taken: 415."""

    code = "unsupported_media_type"


class NotFoundError(SamehereError):
    """No such thing: 404."""

    code = "not_found"


class ConflictError(SamehereError):
    """The thing is not in a state that allows this: 409."""

    code = "conflict"


class IdempotencyError(InputError):
    """The same idempotency key with another body: 422."""

    code = "idempotency_key_reused"


class UnauthorisedError(SamehereError):
    """No token or a wrong one: 401."""

    code = "unauthorised"


class ForbiddenError(SamehereError):
    """The token lacks the scope, or the request comes from a foreign page: 403."""

    code = "forbidden"


class UnavailableError(SamehereError):
    """The database or the broker is down: 503 with Retry-After."""

    code = "unavailable"


class SetupError(SamehereError):
    """What the operator set up can't work: nothing is started, exit status 2."""

    code = "setup"


class NodeError(SamehereError):
    """The node on this machine did not do its part: exit status 1."""

    code = "node_failed"
