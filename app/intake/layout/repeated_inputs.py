"""Reads a session in which one input is typed again and again, and answered differently each time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from app.intake.sessions.shell_sessions import REPEATED
from app.intake.snippets.parts import Part, PartKind

_MOST_LINES = 200


def with_repeated_inputs(parts: Sequence[Part]) -> list[Part]:
    """The parts, in which each answer of such a session is the output of one of several runs."""
    result: list[Part] = []
    has_script = False
    above: Part | None = None
    for part in parts:
        count = _count_of_inputs(above) if has_script and part.kind is PartKind.OUTPUT else 0
        answers = _answers(part.text) if count and part.transcript else []
        if len(answers) == count > 1 and len(set(answers)) > 1:
            result += [replace(part, text=answer, before=REPEATED) for answer in answers]
        else:
            result.append(part)
        has_script = has_script or (part.kind is PartKind.CODE and not part.transcript)
        above = part
    return result


def _count_of_inputs(part: Part | None) -> int:
    """How often a session has its one input; 0 if it has several."""
    if part is None or part.kind is not PartKind.CODE or not part.transcript:
        return 0
    lines = [line for line in part.text.split("\n")[:_MOST_LINES] if line.strip()]
    return len(lines) if len(set(lines)) == 1 else 0


def _answers(text: str) -> list[str]:
    return [line.strip() for line in text.split("\n")[:_MOST_LINES] if line.strip()]
