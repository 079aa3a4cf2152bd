"""Cells that a preset gains because of what a report claims: each tests for one cause, on the devices of the preset."""

from __future__ import annotations

import re

from app.intake.claim.claims import Check, CheckKind, Claim, Role
from app.intake.code.uninitialised_memory import uses_uninitialised_memory
from app.intake.reading import Script
from worker.contract import Device

# Memory that nobody wrote is NaN: does the result rest on it?
FILLED = {"fill": "nan"}
# Do repeats agree once kernels are made to?
DETERMINISTIC = {"deterministic": "on"}
# Do the CPU and a card agree once convolutions and products on the card keep all digits?
WITHOUT_TF32 = {"tf32": "off"}

# Does every operation lie within what rounding can do?
TRACED = {"trace": "on"}

_NUMBER = re.compile(r"\d|\binf\b|\bnan\b", re.IGNORECASE)
_TORCH = re.compile(r"^\s*(?:import|from)\s+torch\b", re.MULTILINE)
_MULTIPLIES = re.compile(
    r"\b(?:conv\w*|Conv\w*|matmul|mm|bmm|addmm|einsum|linear|Linear|\w*Attention|LSTM|GRU)\(|\w @ \w"
)


def cause_tests(claim: Claim, script: Script) -> tuple[tuple[Device | None, dict[str, str]], ...]:
    """Under which settings a script should run once more, beyond those of the preset, and on which device (None: on each)."""
    bugs = claim.having(Role.BUG)
    tests: list[tuple[Device | None, dict[str, str]]] = []
    if any(check.kind is CheckKind.VARIES for check in bugs) and not script.unseeded:
        tests.append((None, DETERMINISTIC))
    if uses_uninitialised_memory(script.script):
        tests.append((None, FILLED))
    if any(set(check.sides) == {"cpu", "cuda"} for check in bugs) and _MULTIPLIES.search(script.script):
        tests.append((Device.CUDA, WITHOUT_TF32))
    if _TORCH.search(script.script) and not script.unseeded:
        tests.extend((device, TRACED) for device in _traced_on(claim))
    return tuple(tests)


def _traced_on(claim: Claim) -> tuple[Device | None, ...]:
    """Where numbers are said to be wrong: on a card, beside the CPU, where both sides are named; else wherever they are printed."""
    bugs = claim.having(Role.BUG)
    if any({"cpu", "cuda"} <= _sides(check) for check in bugs):
        return (Device.CUDA,)
    return (
        (None,)
        if any(check.kind is CheckKind.VALUE and _NUMBER.search(check.number or "") for check in bugs)
        else ()
    )


def _sides(check: Check) -> set[str]:
    """Of a difference as it is read; of lines by the words that they begin with."""
    return set(check.sides) | {
        line.split(None, 1)[0].rstrip(":").casefold() for line in check.lines if line.strip()
    }
