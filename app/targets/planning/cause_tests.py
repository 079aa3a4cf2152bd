"""Cells that test for a cause. A preset gets them if the claim of a report makes that cause possible."""

from __future__ import annotations

import re

from app.intake.claim.claims import Check, CheckKind, Claim, Role
from app.intake.code.randomness import (
    ENTROPY,
    GENERATORS,
    THREADS,
    is_documented_as_nondeterministic,
    sources_of,
)
from app.intake.code.uninitialised_memory import uses_uninitialised_memory
from app.intake.reading import Script
from app.intake.words.frequency_words import says_sometimes
from worker.contract import Device

# Fills uninitialised memory with NaN: does the result depend on it?
FILLED = {"fill": "nan"}
# Do repeats agree with deterministic kernels?
DETERMINISTIC = {"deterministic": "on"}
# Do the CPU and a GPU agree if convolutions and matrix products on the GPU keep all digits?
WITHOUT_TF32 = {"tf32": "off"}

# Which layer of the compiler changes a number? Without compilation: the traced cell.
LAYERS = ("eager", "aot_eager", "decomposed", "inductor")
# Is the error of every operation explained by rounding?
TRACED = {"trace": "on"}

# Each source of variation costs a cell with some repeats.
MOST_SOURCES = 4
_MOST_TEXT = 20_000
_NUMBER = re.compile(r"\d|\binf\b|\bnan\b", re.IGNORECASE)
_TORCH = re.compile(r"^[^\S\n]*+(?:import|from)\s+torch\b", re.MULTILINE)
_COMPILES = re.compile(
    r"\btorch\s*\.\s*compile\b|\bfrom\s+torch\s+import\b[^\n]{0,200}\bcompile\b|(?<!\bre)\.compile\(\s*\)"
)
_MULTIPLIES = re.compile(
    r"\b(?:conv\w*|Conv\w*|matmul|mm|bmm|addmm|einsum|linear|Linear|\w*Attention|LSTM|GRU)\(|\w @ \w"
)


def imports_torch(source: str) -> bool:
    """Whether a line of the script imports torch."""
    return _TORCH.search(source) is not None


def compiles(source: str) -> bool:
    """Whether the script asks for `torch.compile`, of a function or of a module."""
    return imports_torch(source) and _COMPILES.search(source) is not None


def layer_tests(script: Script) -> tuple[dict[str, str], ...]:
    """The settings that each stop the compiler after one of its layers, if the script compiles."""
    return tuple({"compile": layer} for layer in LAYERS) if compiles(script.script) else ()


def variation_tests(script: Script) -> tuple[dict[str, str], ...]:
    """The settings that each fix one source of variation that the script may have."""
    tests: list[dict[str, str]] = []
    sources = sources_of(script.script)
    for source in sources[:MOST_SOURCES]:
        if source == THREADS:
            tests.append({"threads": "1"})
        elif source != ENTROPY:
            tests.append({"fix": source})
    if len(GENERATORS.intersection(sources)) > 1:
        tests.append({"fix": "generators"})
    return tuple(tests)


def kernel_tests(script: Script, device: Device) -> tuple[dict[str, str], ...]:
    """The setting that makes repeats agree on a card if torch documents an operation as nondeterministic.

    It costs one attempt where nothing varies without it.
    """
    may_vary = device is Device.CUDA and imports_torch(script.script) and not script.unseeded
    return (DETERMINISTIC,) if may_vary and is_documented_as_nondeterministic(script.script) else ()


def cause_tests(claim: Claim, script: Script) -> tuple[tuple[Device | None, dict[str, str]], ...]:
    """The extra settings under which a script should run, each with a device (None: on each device)."""
    bugs = claim.having(Role.BUG)
    tests: list[tuple[Device | None, dict[str, str]]] = []
    varies = any(check.kind is CheckKind.VARIES for check in bugs)
    if varies and not script.unseeded:
        tests.append((None, DETERMINISTIC))
    # With one thread a failure that comes and goes may always come: that is evidence about the claim.
    tested = variation_tests(script) if varies or (bugs and says_sometimes(claim.text[:_MOST_TEXT])) else ()
    tests += [(None, settings) for settings in tested if varies or "fix" in settings]
    if uses_uninitialised_memory(script.script):
        tests.append((None, FILLED))
    if any(set(check.sides) == {"cpu", "cuda"} for check in bugs) and _MULTIPLIES.search(script.script):
        tests.append((Device.CUDA, WITHOUT_TF32))
    if imports_torch(script.script) and not script.unseeded:
        tests.extend((device, TRACED) for device in _traced_on(claim))
    return tuple(tests)


def _traced_on(claim: Claim) -> tuple[Device | None, ...]:
    """The devices for a trace: CUDA for a claim that compares it with a CPU, each device for a wrong number.

    Empty for other claims. None in the result stands for each device.
    """
    bugs = claim.having(Role.BUG)
    if any({"cpu", "cuda"} <= _sides(check) for check in bugs):
        return (Device.CUDA,)
    return (
        (None,)
        if any(check.kind is CheckKind.VALUE and _NUMBER.search(check.number or "") for check in bugs)
        else ()
    )


def _sides(check: Check) -> set[str]:
    """The sides of a check, and the first words of its lines."""
    return set(check.sides) | {
        line.split(None, 1)[0].rstrip(":").casefold() for line in check.lines if line.strip()
    }
