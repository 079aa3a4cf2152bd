"""The captured value that is nearest to a claimed number. Prints are rounded; captured values are exact."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from app.intake.claim.claims import Check, CheckKind
from app.judging.comparison.closeness import LONGEST_INTEGER
from app.judging.comparison.dtypes import Kind, format_of, multi_index, ordinal, round_to
from app.judging.comparison.values import elements_of
from app.judging.judgement import CheckResult, Finding
from app.judging.output.printed_numbers import Number, matches, near, numbers_in, same_value
from worker.contract import CapturedValue

# The most elements of one value. Among more, the nearest may be chance.
MOST_SEARCHED = 4096
MOST_CLAIMED = 8
MOST_CHARACTERS = 1000


@dataclass(frozen=True, slots=True)
class Exact:
    """The captured element that is nearest to a claimed number.

    `ulp` is its distance from the claimed number, which is rounded to the dtype first.
    """

    name: str
    index: list[int]
    value: float
    dtype: str
    ulp: int | None
    # Whether it rounds to the claimed number.
    rounds: bool = False

    def sentence(self) -> str:
        """One line for people. The name comes from the script: hostile text."""
        place = f"[{', '.join(map(str, self.index))}]" if self.index else ""
        return f"{self.name}{place} is {self.value!r} in {self.dtype}{self._distance()}"

    def _distance(self) -> str:
        if self.ulp is None:
            return ""
        if self.ulp == 0:
            return ", exactly the claimed number in that dtype"
        return (
            ", which rounds to the claimed number"
            if self.rounds
            else f", {self.ulp} ULP from the claimed number"
        )


def nearest_to(claimed: float, value: CapturedValue) -> Exact | None:
    """The element nearest to a number; None if no element is near it, or if there are no elements."""
    elements = elements_of(value)
    form = format_of(value.dtype)
    if not elements or len(elements) > MOST_SEARCHED or (form is not None and form.kind is Kind.COMPLEX):
        return None
    best: tuple[float, int, float] | None = None
    for at, element in enumerate(one.real for one in elements):
        if (isinstance(element, int) and element.bit_length() > LONGEST_INTEGER) or not _comparable(
            claimed, element
        ):
            continue
        apart = (
            0.0 if same_value(claimed, element) else abs(claimed - element) if math.isfinite(element) else 0.0
        )
        if best is None or apart < best[0]:
            best = (apart, at, element)
    if best is None:
        return None
    ulp = None
    if form is not None and form.inexact and math.isfinite(best[2]):
        ulp = abs(ordinal(round_to(claimed, form), form) - ordinal(best[2], form))
    return Exact(
        name=value.name, index=multi_index(best[1], value.shape), value=best[2], dtype=value.dtype, ulp=ulp
    )


def exact_value(claimed: Sequence[Number], values: Iterable[CapturedValue]) -> Exact | None:
    """The captured element with the smallest relative distance to a claimed number; None if none is near."""
    candidates = [
        (
            _share(number.value, exact.value),
            replace(exact, rounds=matches(number, Number(text=repr(exact.value), value=exact.value))),
        )
        for number in claimed
        for value in values
        if (exact := nearest_to(number.value, value)) is not None
    ]
    return min(candidates, key=lambda one: one[0])[1] if candidates else None


def exact_value_text(check: Check, finding: Finding, values: Iterable[CapturedValue]) -> str:
    """One line about the captured value that is nearest to the claimed number; empty if there is none."""
    if check.kind not in {CheckKind.VALUE, CheckKind.OUTPUT} or finding.result is CheckResult.UNREACHED:
        return ""
    texts = [*check.lines[:MOST_CLAIMED], *([check.number] if check.number else [])]
    claimed = [
        number for line in texts for number in numbers_in(line[:MOST_CHARACTERS]) if is_telling(number)
    ]
    nearest = exact_value(claimed[:MOST_CLAIMED], values)
    return "" if nearest is None else nearest.sentence()


def is_telling(number: Number) -> bool:
    """Whether a number has enough digits for a search. Short ones like `3` and `0.5` match by chance."""
    return math.isfinite(number.value) and number.digits > 3


def _comparable(claimed: float, element: float) -> bool:
    if math.isfinite(claimed) and math.isfinite(element):
        return near(claimed, element)
    return same_value(claimed, element)


def _share(claimed: float, seen: float) -> float:
    if same_value(claimed, seen) or not (math.isfinite(claimed) and math.isfinite(seen)):
        return 0.0
    return abs(claimed - seen) / max(abs(claimed), abs(seen))
