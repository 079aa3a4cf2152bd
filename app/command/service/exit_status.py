"""Exit statuses: the answer for a program that does not read the output."""

from __future__ import annotations

from app.errors import (
    ConflictError,
    ForbiddenError,
    InputError,
    NotFoundError,
    SamehereError,
    SetupError,
    UnauthorisedError,
)
from app.judging.judgement import Verdict
from app.states import RunState

OWN_FAULT = 1
BAD_INPUT = 2
NO_RESULT = 3
# For `git bisect run`: the claim is absent (good), was seen (bad), or can't be decided (skip).
ABSENT = 0
SEEN = 1
CANNOT_TELL = 125
# For `gate`: an issue still happens, or none does and at least one may not be closed for another reason.
STILL_HAPPENS = 4
MAY_NOT_CLOSE = 5
INTERRUPTED = 130

# Errors that the caller can correct. Nothing was done.
_CALLERS = (InputError, SetupError, NotFoundError, ConflictError, UnauthorisedError, ForbiddenError)


def status_of_error(error: SamehereError) -> int:
    """2 if the caller can correct the error, 1 if it is a fault of ours."""
    return BAD_INPUT if isinstance(error, _CALLERS) else OWN_FAULT


def status_of_run(*, state: RunState, verdict: Verdict | None, seen: bool, as_answer: bool) -> int:
    """The status of a run. `as_answer` is the option `--exit-code`, for `git bisect run`."""
    if state != "finished" or verdict is None:
        return INTERRUPTED
    if not as_answer:
        return NO_RESULT if verdict is Verdict.NO_RESULT else 0
    if seen:
        return SEEN
    return ABSENT if verdict is Verdict.NOT_REPRODUCED else CANNOT_TELL
