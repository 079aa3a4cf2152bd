"""Causes that need no tracing, each given only where its test really ran; the rest stays `not_analysed`."""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Mapping, Sequence

from app.intake.claims import CheckKind, Claim, Role
from app.intake.reading import Script
from app.intake.unwritten import takes_unwritten_memory
from app.judging.checks import is_over_repeats
from app.judging.judged import JudgedCell
from app.judging.judgement import Defect, Verdict
from app.judging.numbers import numbers_in
from app.judging.output import MOST_CHARACTERS
from app.judging.sides import lines_of_sides, sides_agree
from worker.contract import Observation, Outcome

NOT_ANALYSED = "not_analysed"
_DEFECT = {
    "error_asymmetry": Defect.UNDECIDED,
    "random_streams": Defect.NO,
    "unseeded": Defect.UNDECIDED,
    "nondeterministic_kernel": Defect.NO,
    "sign_or_order": Defect.NO,
    "reduced_precision": Defect.NO,
    "uninitialised_memory": Defect.YES,
    "undefined_conversion": Defect.NO,
}
_SENTENCES = {
    "error_asymmetry": "One side raises an error where the other returns a value or another error.",
    "random_streams": "The CPU and the GPU draw random numbers by different algorithms, so one seed gives two streams.",
    "unseeded": "The script draws random numbers without a seed.",
    "nondeterministic_kernel": "Repeats differ, and agree once deterministic algorithms are switched on.",
    "sign_or_order": "The two sides differ only in signs or in the order of the numbers.",
    "uninitialised_memory": "The result rests on memory that nobody wrote: filling such memory with NaN brings new NaN.",
    "undefined_conversion": "A value that an integer cannot hold is converted to one, and every device may give what it likes.",
    "reduced_precision": "Reduced precision (TF32) was switched on in the script while it ran.",
}
_RANDOM = {"bernoulli", "rand", "randn", "randint", "randperm", "multinomial", "normal", "poisson"}
_RANDOM_IN_PLACE = {"bernoulli_", "normal_", "uniform_", "exponential_", "random_", "geometric_", "cauchy_", "log_normal_"}
# Operations whose result is free in its signs or in its order.
_FREE = re.compile(r"\b(?:svd|eigh?|qr|svd_lowrank|pca_lowrank|lobpcg|topk|sort|argsort|unique|nonzero|kthvalue)\b")
_NO_INTEGER = re.compile(r"float\([\"']-?(?:nan|inf)[\"']\)|\b(?:torch|math|np|numpy)\.(?:nan|inf)\b|\b1e(?:[2-9]\d|\d{3})\b")
_TO_INTEGER = re.compile(r"\.(?:int|long|short)\(\)|\bto\(torch\.u?int|\.astype\((?:np\.|numpy\.)?[\"']?u?int|dtype=torch\.u?int")
# Fewer numbers than these may agree by chance.
_ENOUGH = 3
_NEXT_TO_NOTHING = 1e-4
_OF_VALUES = {CheckKind.OUTPUT, CheckKind.VALUE, CheckKind.DIFFERS, CheckKind.VARIES}
_ERROR_LINE = re.compile(r"\b[A-Z]\w*(?:Error|Exception)\b")


def sentence(cause: str | None) -> str:
    """The cause in one plain sentence; empty when there is none."""
    return _SENTENCES.get(cause or "", "")


def cause_of(claim: Claim, scripts: Sequence[Script], cells: Sequence[JudgedCell]) -> tuple[str | None, Defect]:
    """The first cause that explains what was seen, and whether it is a defect. (None, UNDECIDED): nothing to explain."""
    seen = [cell for cell in cells if cell.verdict in {Verdict.REPRODUCED, Verdict.FLAKY, Verdict.DIFFERENT}]
    by_digest = {script.digest: script for script in scripts}
    for cell in cells:
        # Told by a test of its own, whatever became of the claim.
        if any(_reads_unwritten_memory(cell, other) for other in cells):
            return "uninitialised_memory", _DEFECT["uninitialised_memory"]
    for cell in seen:
        script = by_digest.get(cell.script)
        found = None if script is None else _of_sides(claim, script, cell) or _of_repeats(claim, script, cell, cells)
        if found is not None:
            return found, _DEFECT[found]
    explainable = any(check.kind in _OF_VALUES for check in claim.having(Role.BUG))
    return (NOT_ANALYSED if seen and explainable else None), Defect.UNDECIDED


def _reads_unwritten_memory(cell: JudgedCell, filled: JudgedCell) -> bool:
    """Whether filling unwritten memory with NaN brings NaN that is not there without."""
    if (
        filled.target != cell.target.model_copy(update={"settings": {**cell.target.settings, "fill": "nan"}})
        or "fill" in cell.target.settings
    ):
        return False
    plain, with_fill = _completed(cell), _completed(filled)
    return filled.script == cell.script and bool(plain and with_fill) and not any(map(_has_nan, plain)) and all(map(_has_nan, with_fill))


def _completed(cell: JudgedCell) -> list[Observation]:
    return [result.observation for result in cell.results if result.outcome is Outcome.COMPLETED]


def _has_nan(observation: Observation) -> bool:
    return any(math.isnan(number.value) for number in numbers_in(observation.stdout))


def _of_sides(claim: Claim, script: Script, cell: JudgedCell) -> str | None:
    """Causes of a difference between two sides within one attempt."""
    differs = next((check for check in claim.checks if check.kind is CheckKind.DIFFERS and check.sides), None)
    if differs is None or not cell.results:
        return None
    observation = cell.results[0].observation
    lines = lines_of_sides(observation.stdout, differs.sides)
    if len(lines) != 2 or not all(lines.values()) or sides_agree(lines):
        return None
    one, other = ("\n".join(side) for side in lines.values())
    both = f"{one}\n{other}"
    devices = set(differs.sides) == {"cpu", "cuda"}
    finite = all(math.isfinite(number.value) for number in numbers_in(both))
    tests = (
        ("error_asymmetry", _ERROR_LINE.search(both) is not None),
        ("random_streams", devices and draws_on_device(script.script)),
        ("reduced_precision", devices and finite and _tf32(observation)),
        ("undefined_conversion", _converts_undefined(script) and _overflown(both)),
        ("sign_or_order", _FREE.search(script.script) is not None and _signs_or_order(lines)),
    )
    return next((cause for cause, holds in tests if holds), None)


def _converts_undefined(script: Script) -> bool:
    """Whether the script names a value that no integer holds, and converts to integers."""
    return _NO_INTEGER.search(script.script) is not None and _TO_INTEGER.search(script.script) is not None


def _overflown(text: str) -> bool:
    """Whether a value is the smallest integer of its width, which is what CPUs give for what does not fit."""
    return any(number.value in {-(2.0**31), -(2.0**63)} for number in numbers_in(text))


def draws_on_device(source: str) -> bool:
    """Whether random numbers are drawn on a device that is chosen in the call: not where a CPU tensor is moved after it was drawn."""
    try:
        calls = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)]
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    for call in calls:
        function = call.func
        if not isinstance(function, ast.Attribute):
            continue
        if function.attr in _RANDOM and (_has_device(call.keywords) or any(map(_on_device, call.args))):
            return True
        if function.attr in _RANDOM_IN_PLACE and _on_device(function.value):
            return True
    return False


def _has_device(keywords: Sequence[ast.keyword]) -> bool:
    return any(
        keyword.arg == "device" and not (isinstance(keyword.value, ast.Constant) and keyword.value.value == "cpu") for keyword in keywords
    )


def _on_device(expression: ast.expr) -> bool:
    """Whether the expression is made on, or moved to, a device."""
    calls = [node for node in ast.walk(expression) if isinstance(node, ast.Call)]
    return any(_has_device(call.keywords) or (isinstance(call.func, ast.Attribute) and call.func.attr in {"to", "cuda"}) for call in calls)


def _tf32(observation: Observation) -> bool:
    """Whether the script itself switched TF32 on."""
    changed = observation.flags_changed
    return any(changed.get(name) in {True, "tf32"} for name in ("tf32.matmul", "precision.cuda.matmul"))


def _signs_or_order(lines: Mapping[str, Sequence[str]]) -> bool:
    """Whether lines hold the same magnitudes with other signs or in another order, and all else differs by next to nothing."""
    one, other = lines.values()
    if len(one) != len(other):
        return False
    found = False
    for left, right in zip(one, other, strict=True):
        a, b = ([number.value for number in numbers_in(line[:MOST_CHARACTERS])] for line in (left, right))
        if a == b:
            continue
        if len(a) >= _ENOUGH and sorted(map(abs, a)) == sorted(map(abs, b)):
            found = True
        elif len(a) != len(b) or any(abs(x - y) > _NEXT_TO_NOTHING for x, y in zip(a, b, strict=True)):
            return False
    return found


def _of_repeats(claim: Claim, script: Script, cell: JudgedCell, cells: Sequence[JudgedCell]) -> str | None:
    """Causes of repeats that differ."""
    varies = cell.verdict is Verdict.FLAKY or any(is_over_repeats(check) for check in claim.checks)
    if not varies:
        return None
    if script.unseeded:
        # Where memory is read that nobody wrote, the missing seed may be innocent.
        return None if takes_unwritten_memory(script.script) else "unseeded"
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
    )
