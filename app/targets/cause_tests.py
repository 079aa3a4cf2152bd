"""Cells that a preset gains because of what a report claims: each tests for one cause, on the devices of the preset."""

from __future__ import annotations

from app.intake.claims import CheckKind, Claim, Role
from app.intake.reading import Script
from app.intake.unwritten import takes_unwritten_memory

# Memory that nobody wrote is NaN: does the result rest on it?
FILLED = {"fill": "nan"}
# Do repeats agree once kernels are made to?
DETERMINISTIC = {"deterministic": "on"}


def cause_tests(claim: Claim, script: Script) -> tuple[dict[str, str], ...]:
    """The settings under which a script should run once more, beyond those of the preset."""
    tests = []
    if any(check.kind is CheckKind.VARIES for check in claim.having(Role.BUG)) and not script.unseeded:
        tests.append(DETERMINISTIC)
    if takes_unwritten_memory(script.script):
        tests.append(FILLED)
    return tuple(tests)
