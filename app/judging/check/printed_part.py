"""The part of an attempt's output that a check is about: a stream, and a line of it."""

from __future__ import annotations

from app.intake.claim.claims import Check, CheckKind, Stream
from app.judging.output.value_position import has_label
from worker.contract import Result

_PRINTED = {CheckKind.OUTPUT, CheckKind.VALUE}


def names_part(check: Check) -> bool:
    """Whether the check is about a part of the output only."""
    return check.kind in _PRINTED and (check.stream is not None or check.occurrence is not None)


def part_of(check: Check, result: Result) -> Result:
    """The result with nothing but the output that the check is about, which is then its stdout."""
    if not names_part(check):
        return result
    seen = result.observation
    stdout = seen.stderr if check.stream is Stream.STDERR else seen.stdout
    if check.occurrence is not None:
        stdout = _lines_from(check, stdout, check.occurrence)
    return result.model_copy(update={"observation": seen.model_copy(update={"stdout": stdout, "stderr": ""})})


def _lines_from(check: Check, text: str, occurrence: int) -> str:
    """As many lines as are claimed, from the line with this number on. Empty if there is no such line."""
    lines = [line for line in text.splitlines() if line.strip()]
    begins = [at for at, line in enumerate(lines) if not check.label or has_label(line, check.label)]
    if len(begins) < occurrence:
        return ""
    first = begins[occurrence - 1]
    return "\n".join(lines[first : first + max(1, len(check.lines))])
