"""Reads the exit status that a shell answered, where it is a crash or the report is about it."""

from __future__ import annotations

import re
from collections.abc import Sequence

from app.intake.claim.claim_text import crash_check, output_check
from app.intake.claim.claims import Check, CheckKind, Role
from app.intake.snippets.parts import Part, PartKind
from app.intake.words.vocabulary import MODALS, SHOW, any_of, is_printed_line

_OF_STATUS = re.compile(
    r"\b(?:exit|return|status|error)[- ]?(?:code|status|level|value)\b|\bexits?\b|\$\?", re.IGNORECASE
)
_SHOULD_EXIT = re.compile(
    rf"\b(?:expected|{any_of(MODALS)} {any_of(SHOW, 'exit')})\b[^\d.;\n]{{0,30}}(?<![\w.-])(\d{{1,3}})"
    r"(?![\w.]*\d)",
    re.IGNORECASE,
)
_STATUSES = 256


def exit_status_checks(
    parts: Sequence[Part], outputs: Sequence[Sequence[str]], texts: Sequence[str]
) -> list[Check]:
    """The checks of the last exit status of a shell session. `outputs` are the lines of each shown output."""
    status = next((part.text for part in reversed(parts) if part.kind == PartKind.STATUS), None)
    if status is None:
        return []
    if crash := crash_check(f"exit code {status}"):
        return crash
    if not any(_OF_STATUS.search(text) for text in texts) or not 0 <= int(status) < _STATUSES:
        return []
    bug = Check(text=f"exit status {status}", kind=CheckKind.EXIT_STATUS, exit_status=int(status))
    expected_status = next(
        (int(match[1]) for text in texts for match in [_SHOULD_EXIT.search(text)] if match), None
    )
    expected_check = Check(
        text=f"exit status {expected_status}",
        kind=CheckKind.EXIT_STATUS,
        role=Role.EXPECTED,
        exit_status=expected_status,
    )
    details = [
        output_check(lines, role=Role.DETAIL)
        for lines in outputs
        if lines and all(map(is_printed_line, lines))
    ]
    return [bug, *([expected_check] if expected_status not in {None, int(status)} else []), *details[:1]]
