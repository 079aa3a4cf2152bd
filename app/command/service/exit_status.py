"""Exit statuses: what a caller learns without reading."""

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
# For `git bisect run`: the claim was seen (bad), is absent (good), or can't be told (skip).
ABSENT = 0
SEEN = 1
CANNOT_TELL = 125
INTERRUPTED = 130

# What the caller can mend: nothing was done.
_CALLERS = (InputError, SetupError, NotFoundError, ConflictError, UnauthorisedError, ForbiddenError)


def status_of_error(error: SamehereError) -> int:
    """2 where the caller can mend it, 1 where it is ours."""
    return BAD_INPUT if isinstance(error, _CALLERS) else OWN_FAULT


def status_of_run(*, state: RunState, verdict: Verdict | None, seen: bool, as_answer: bool) -> int:
    """Of a run that ended; `as_answer` is `--exit-code`."""
    if state != "finished" or verdict is None:
        return INTERRUPTED
    if not as_answer:
        return NO_RESULT if verdict is Verdict.NO_RESULT else 0
    if seen:
        return SEEN
    return ABSENT if verdict is Verdict.NOT_REPRODUCED else CANNOT_TELL
