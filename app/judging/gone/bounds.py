"""Bounds of printed numbers: whether one breaks them, and whether a number that broke them keeps them now."""

from __future__ import annotations

import math
from collections.abc import Sequence

from app.intake.claim.claims import Bounds, Check, CheckKind, Role
from app.judging.gone.changed_values import claimed_rows, pairs_of_lines
from app.judging.judgement import CheckResult
from app.judging.output.printed_lines import form_of
from app.judging.output.printed_numbers import Number, matches, numbers_in
from app.judging.output.value_position import has_label, numbers_of, shown_numbers
from worker.contract import Outcome, Result

_MOST_LINES = 200


def judge_bounds(check: Check, result: Result) -> CheckResult:
    """MET if a printed value breaks the bounds. A line above the last one may show an input: UNREACHED."""
    if result.outcome is not Outcome.COMPLETED:
        failed = result.outcome in {Outcome.RAISED, Outcome.CRASHED}
        return CheckResult.OTHER if failed else CheckResult.UNREACHED
    lines = [line for line in result.observation.stdout.splitlines() if line.strip()]
    lines = [line for line in lines if check.label and has_label(line, check.label)] or lines
    rows = [numbers for line in lines[-_MOST_LINES:] if (numbers := _values(line, check.label))]
    if check.bounds is None or not rows:
        return CheckResult.UNREACHED
    if _breaks(check.bounds, rows[-1]):
        return CheckResult.MET
    if any(_breaks(check.bounds, row) for row in rows):
        return CheckResult.UNREACHED
    is_number = all(not math.isnan(number.value) for number in rows[-1])
    return CheckResult.ABSENT if is_number else CheckResult.OTHER


def keeps_bounds(check: Check, bounds: Sequence[Bounds], stdout: str, in_place: Sequence[Number]) -> bool:
    """Whether the claimed numbers that break the bounds are gone, and what came instead keeps all of them.

    `in_place` are the printed numbers at the place of the claimed one, if the claim is a single number.
    """
    if check.role is not Role.BUG or not bounds:
        return False
    if check.kind is CheckKind.VALUE:
        claimed = numbers_in(check.number or "")
        return bool(claimed and in_place) and _is_mended(bounds, [(claimed[0], each) for each in in_place])
    pairs = pairs_of_lines(claimed_rows(check), stdout)
    if not pairs or any(form_of(one) != form_of(seen) for one, seen in pairs):
        return False
    numbers = [
        (own, other)
        for one, seen in pairs
        for own, other in zip(one, seen, strict=True)
        if isinstance(own, Number) and isinstance(other, Number)
    ]
    return _is_mended(bounds, [(one, other) for one, other in numbers if not matches(one, other)]) and all(
        matches(one, other) or _breaks_any(bounds, one) for one, other in numbers
    )


def judge_random_value(check: Check, bounds: Sequence[Bounds], result: Result) -> CheckResult | None:
    """The result of a claim of random numbers by the bounds that its own number breaks; None without any."""
    claimed = [number for row in claimed_rows(check) for number in row if isinstance(number, Number)]
    broken = [each for each in bounds if _breaks(each, claimed)]
    if not broken or len(check.lines) != 1:
        return None
    results = {judge_bounds(check.model_copy(update={"bounds": each}), result) for each in broken}
    if CheckResult.MET in results:
        return CheckResult.MET
    return results.pop() if len(results) == 1 else None


def _is_mended(bounds: Sequence[Bounds], changed: Sequence[tuple[Number, Number]]) -> bool:
    return bool(changed) and all(
        _breaks_any(bounds, one)
        and math.isfinite(other.value)
        and not other.imaginary
        and not _breaks_any(bounds, other)
        for one, other in changed
    )


def _breaks_any(bounds: Sequence[Bounds], number: Number) -> bool:
    return any(_breaks(each, [number]) for each in bounds)


def _breaks(bounds: Bounds, numbers: Sequence[Number]) -> bool:
    return any(not bounds.hold(number.value) for number in numbers if not math.isnan(number.value))


def _values(line: str, label: str | None) -> list[Number]:
    """The numbers that a line shows; all those of a list."""
    return shown_numbers(line, label) if label else numbers_of(line)
