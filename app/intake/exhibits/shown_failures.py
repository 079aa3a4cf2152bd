"""Reads the failure that a report shows: in an output, or as a message on a line of its own."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import islice

from app.intake.claim.claim_text import crash_check, exception_claim, type_above_traceback
from app.intake.claim.claims import Check, Role
from app.intake.claim.known_messages import failed_comparison
from app.intake.claim.named_errors import own_message
from app.intake.exhibits.conditions import condition_of
from app.intake.exhibits.shown_warnings import split_warnings
from app.intake.memory import remembers
from app.intake.snippets.parts import Part
from app.intake.snippets.roles import says_it_works

_QUOTED_LINE = re.compile(r"^\s*`([^`\n]{1,1000})`[.!]?\s*$")
# Among so many outputs, and so many of their failures, a second one is looked for.
_MOST_OUTPUTS, _MOST_FAILURES = 6, 3


def failure_checks(outputs: Sequence[Part], prose: Sequence[Part], main: str) -> list[Check]:
    for part in outputs:
        if not part.expected and not part.elsewhere and not says_it_works(part.before):
            checks = failure_of(part)
            if checks:
                return checks
    for part in prose:
        # A message counts on a line of its own, also between backticks, and not inside a sentence.
        lines = [line for line in part.text.split("\n") if not line.lstrip().startswith(("-", "*", "|"))]
        checks = exception_claim("\n".join(_QUOTED_LINE.sub(r"\1", line) for line in lines))
        if checks and not part.expected and not condition_of(part.text, main):
            is_quoted = any(map(_QUOTED_LINE.match, lines)) or "Traceback (most recent" in part.text
            return (
                checks
                if is_quoted
                else [
                    check.model_copy(update={"message": own_message(check.message or "")}) for check in checks
                ]
            )
    tracebacks = (
        type_above_traceback(part.text) for part in outputs if not (part.expected or part.elsewhere)
    )
    return next(filter(None, tracebacks), [])


def second_failure(outputs: Sequence[Part]) -> list[Check]:
    """The next failure behind the first one, if it is another one. Only the first few failures are read."""
    own = (part for part in outputs if not (part.expected or part.elsewhere or says_it_works(part.before)))
    failures = list(islice(filter(None, map(failure_of, islice(own, _MOST_OUTPUTS))), _MOST_FAILURES))
    return next((checks for checks in failures[1:] if _names_of(checks) != _names_of(failures[0])), [])


def _names_of(checks: Sequence[Check]) -> set[str]:
    """The kind and the type of each failure; two messages of one type may be one failure."""
    return {f"{check.kind} {check.exception_type or ''}" for check in checks}


def failure_of(part: Part) -> list[Check]:
    """The failure that an output shows. A warning is one only if the output shows nothing else."""
    return [*_failure_in(part.text)]


@remembers()
def _failure_in(text: str) -> tuple[Check, ...]:
    lines, warnings = split_warnings(text.split("\n"))
    if not warnings:
        return tuple(exception_claim(text) or crash_check(text) or failed_comparison(text))
    rest = "\n".join(lines)
    if checks := exception_claim(rest) or crash_check(rest):
        return tuple(checks)
    return () if rest.strip() else (warnings[0].model_copy(update={"role": Role.BUG}),)
