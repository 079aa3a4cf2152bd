"""Tests for causes that need only the script and the output of two sides, but no trace."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence

from app.intake.reading import Script
from app.judging.output.printed_lines import MOST_CHARACTERS
from app.judging.output.printed_numbers import numbers_in
from worker.contract import Observation, Scalar

# The results of these operations have no fixed signs or order.
_FREE = re.compile(
    r"\b(?:svd|eigh?|qr|svd_lowrank|pca_lowrank|lobpcg|topk|sort|argsort|unique|nonzero|kthvalue)\b"
)
_NO_INTEGER = re.compile(
    r"float\([\"']-?(?:nan|inf)[\"']\)|\b(?:torch|math|np|numpy)\.(?:nan|inf)\b|\b1e(?:[2-9]\d|\d{3})\b"
)
_TO_INTEGER = re.compile(
    r"\.(?:int|long|short)\(\)|\bto\(torch\.u?int|\.astype\((?:np\.|numpy\.)?[\"']?u?int|dtype=torch\.u?int"
)
_ERROR_LINE = re.compile(r"\b[A-Z]\w*(?:Error|Exception)\b")
# A smaller count of numbers may agree by chance.
_ENOUGH = 3
_TINY_GAP = 1e-4
_REDUCED = {"tf32", "bf16", True}


def is_an_error(text: str) -> bool:
    """Whether the text names an error."""
    return _ERROR_LINE.search(text) is not None


def all_finite(text: str) -> bool:
    """Whether no number of a text is nan or infinite."""
    return all(math.isfinite(number.value) for number in numbers_in(text))


def converts_undefined(script: Script, text: str) -> bool:
    """Whether the script converts a value that no integer holds, and the output has the smallest integer."""
    named = _NO_INTEGER.search(script.script) is not None and _TO_INTEGER.search(script.script) is not None
    # CPUs give the smallest integer for a value that does not fit.
    return named and any(number.value in {-(2.0**31), -(2.0**63)} for number in numbers_in(text))


def switched_to_reduced(observation: Observation) -> bool:
    """Whether the script itself switched matrix products to a reduced precision."""
    return any(_reduces_products(name, value) for name, value in observation.flags_changed.items())


def _reduces_products(name: str, value: Scalar) -> bool:
    if name == "float32_matmul_precision":
        return value in {"high", "medium"}
    return name in {"tf32.matmul", "precision.cuda.matmul", "precision.mkldnn.matmul"} and value in _REDUCED


def differs_in_precision(one: Observation, other: Observation) -> bool:
    """Whether a precision flag is reduced on one side only."""
    names = {
        name for name in one.flags.keys() | other.flags.keys() if name.startswith(("precision.", "tf32."))
    }
    return any((one.flags.get(name) in _REDUCED) != (other.flags.get(name) in _REDUCED) for name in names)


def largest_gap(sides: Mapping[str, Sequence[str]]) -> float | None:
    """The largest difference between the numbers of two sides, pair by pair.

    None if the sides have different counts of numbers, or if a number is not finite.
    """
    one, other = (
        [number.value for line in lines for number in numbers_in(line[:MOST_CHARACTERS])]
        for lines in sides.values()
    )
    if not one or len(one) != len(other) or not all(map(math.isfinite, (*one, *other))):
        return None
    return max(abs(x - y) for x, y in zip(one, other, strict=True))


def has_nan(text: str) -> bool:
    """Whether a number of a text is nan."""
    return any(math.isnan(number.value) for number in numbers_in(text))


def signs_or_order(script: Script, sides: Mapping[str, Sequence[str]]) -> bool:
    """Whether the sides differ only in signs or order, and the script has an operation that leaves this open.

    All other lines may differ by a tiny gap.
    """
    if _FREE.search(script.script) is None:
        return False
    one, other = sides.values()
    if len(one) != len(other):
        return False
    has_free_line = False
    for left, right in zip(one, other, strict=True):
        a, b = ([number.value for number in numbers_in(line[:MOST_CHARACTERS])] for line in (left, right))
        if a == b:
            continue
        if len(a) >= _ENOUGH and sorted(map(abs, a)) == sorted(map(abs, b)):
            has_free_line = True
        elif len(a) != len(b) or any(abs(x - y) > _TINY_GAP for x, y in zip(a, b, strict=True)):
            return False
    return has_free_line
