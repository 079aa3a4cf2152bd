"""Causes that need no tracing, each given only where its test really ran; the rest stays `not_analysed`."""

from __future__ import annotations

import re
from collections.abc import Sequence

from app.intake.claims import CheckKind, Claim
from app.intake.reading import Script
from app.judging.checks import is_over_repeats
from app.judging.judged import JudgedCell
from app.judging.judgement import Defect, Verdict
from app.judging.numbers import Number, numbers_in
from app.judging.sides import lines_of_sides
from worker.contract import Device, Observation

NOT_ANALYSED = "not_analysed"
_DEFECT = {
    "error_asymmetry": Defect.UNDECIDED,
    "random_streams": Defect.NO,
    "unseeded": Defect.NO,
    "nondeterministic_kernel": Defect.NO,
    "sign_or_order": Defect.NO,
    "reduced_precision": Defect.NO,
}
_SENTENCES = {
    "error_asymmetry": "One side raises an error where the other returns a value or another error.",
    "random_streams": "The CPU and the GPU draw random numbers by different algorithms, so one seed gives two streams.",
    "unseeded": "The script draws random numbers without a seed.",
    "nondeterministic_kernel": "Repeats differ, and agree once deterministic algorithms are switched on.",
    "sign_or_order": "The two sides differ only in signs or in the order of the numbers.",
    "reduced_precision": "Reduced precision (TF32) was switched on in the script while it ran.",
}
_RANDOM_CALL = re.compile(
    r"\btorch\.(?:bernoulli|rand|randn|randint|randperm|multinomial|normal|poisson)\b|\.(?:bernoulli|normal|uniform|exponential)_\("
)
_ERROR_LINE = re.compile(r"\b[A-Z]\w*(?:Error|Exception)\b")


def sentence(cause: str | None) -> str:
    """The cause in one plain sentence; empty when there is none."""
    return _SENTENCES.get(cause or "", "")


def cause_of(claim: Claim, scripts: Sequence[Script], cells: Sequence[JudgedCell]) -> tuple[str | None, Defect]:
    """The first cause that explains what was seen, and whether it is a defect. (None, UNDECIDED): nothing to explain."""
    seen = [cell for cell in cells if cell.verdict in {Verdict.REPRODUCED, Verdict.FLAKY, Verdict.DIFFERENT}]
    if not seen:
        return None, Defect.UNDECIDED
    by_digest = {script.digest: script for script in scripts}
    for cell in seen:
        script = by_digest[cell.script]
        found = _of_sides(claim, script, cell) or _of_repeats(claim, script, cell, cells)
        if found is not None:
            return found, _DEFECT[found]
    return NOT_ANALYSED, Defect.UNDECIDED


def _of_sides(claim: Claim, script: Script, cell: JudgedCell) -> str | None:
    """Causes of a difference between two sides within one attempt."""
    differs = next((check for check in claim.checks if check.kind is CheckKind.DIFFERS and check.sides), None)
    if differs is None or not cell.results:
        return None
    observation = cell.results[0].observation
    lines = lines_of_sides(observation.stdout, differs.sides)
    if len(lines) != 2 or not all(lines.values()):
        return None
    one, other = ("\n".join(side) for side in lines.values())
    if bool(_ERROR_LINE.search(one)) or bool(_ERROR_LINE.search(other)):
        return "error_asymmetry"
    if set(differs.sides) == {"cpu", "cuda"} and _draws_on_device(script):
        return "random_streams"
    if _tf32(observation) and "cuda" in differs.sides:
        return "reduced_precision"
    return "sign_or_order" if _signs_or_order(lines) else None


def _draws_on_device(script: Script) -> bool:
    """Whether random numbers are drawn with a device given: one that depends on where the script runs."""
    return any(
        _RANDOM_CALL.search(line) and re.search(r"\bdevice\s*=|\.to\(|\.cuda\(", line) and not re.search(r"\.(?:cpu|to)\(\s*\)", line)
        for line in script.script.splitlines()
    )


def _tf32(observation: Observation) -> bool:
    """Whether the script itself switched TF32 on."""
    changed = observation.flags_changed
    return any(changed.get(name) in {True, "tf32"} for name in ("tf32.matmul", "precision.cuda.matmul"))


def _signs_or_order(lines: dict[str, list[str]]) -> bool:
    """Whether a line of each side holds the same magnitudes with other signs or in another order, and no other line differs by much."""
    one, other = lines.values()
    if len(one) != len(other):
        return False
    found = False
    for left, right in zip(one, other, strict=True):
        a, b = _many_numbers(left), _many_numbers(right)
        if [n.value for n in a] == [n.value for n in b] or max(len(a), len(b)) < 2:
            continue
        if sorted(abs(n.value) for n in a) != sorted(abs(n.value) for n in b):
            return False
        found = True
    return found


def _many_numbers(line: str) -> list[Number]:
    return numbers_in(line[:20_000])


def _of_repeats(claim: Claim, script: Script, cell: JudgedCell, cells: Sequence[JudgedCell]) -> str | None:
    """Causes of repeats that differ."""
    varies = cell.verdict is Verdict.FLAKY or any(is_over_repeats(check) for check in claim.checks)
    if not varies:
        return None
    if script.unseeded:
        return "unseeded"
    twin = next((other for other in cells if _is_deterministic_twin(cell, other)), None)
    if twin is not None and twin.verdict is Verdict.NOT_REPRODUCED:
        return "nondeterministic_kernel"
    return None


def _is_deterministic_twin(cell: JudgedCell, other: JudgedCell) -> bool:
    wanted = {**cell.target.settings, "deterministic": "on"}
    return (
        other.script == cell.script
        and other.target.device is cell.target.device
        and other.target.toolchain == cell.target.toolchain
        and other.target.settings == wanted
        and cell.target.device in set(Device)
    )
