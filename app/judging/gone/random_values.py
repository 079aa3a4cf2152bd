"""Judges random numbers of a script without a seed where something about them is certain.

An exact value is expected in their place, or nan and infinity stood among them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from app.intake.claim.claims import Check, CheckKind, Role
from app.intake.code.printed_texts import prints_of_inputs
from app.judging.gone.lines_at_issue import Line, lines_by_label, lines_by_place
from app.judging.output.printed_lines import form_of, tokens_of
from app.judging.output.printed_numbers import Number, matches, numbers_in

# An exact value has so few digits: `0.`, `1.0000`, `0.5`.
_MOST_EXACT_DIGITS = 2
# A smaller distance, absolute and of the exact value, may be rounding.
_LEAST_DISTANCE = 1e-2
# The distances of two draws of one bug: so much of the claimed one, and so many times of it. A mended mean or
# variance comes near its exact value, and does not hit it.
_LEAST_SHARE, _MOST_SHARE = 1 / 3, 10.0
# Finite numbers of this size are no garbage.
_ORDINARY = (1e-6, 1e6)
_MOST_LINES = 400


def misses_exact_value(
    check: Check, expected: Sequence[Check], stdout: str, in_place: Sequence[Number]
) -> bool:
    """Whether the numbers miss an exact expected value, on the same side and about as far as claimed.

    `in_place` are the printed numbers at the place of the claimed one, if the claim is a single number.
    """
    numbers = list(_numbers_at_issue(check, expected, stdout, in_place))
    changed = [each for each in numbers if not matches(each[0], each[1])]
    same = [each for each in numbers if matches(each[0], each[1])]
    return (
        bool(changed)
        and all(_is_missed_alike(*each) for each in changed)
        and all(matches(right, seen) for _, right, seen in same)
    )


def nan_became_ordinary(check: Check, stdout: str) -> bool:
    """Whether an output of the claimed form has ordinary numbers now, and nan or inf nowhere.

    Zeros, and numbers that are very small or large, may be the same bug. So may one number everywhere.
    """
    if check.role is not Role.BUG or check.kind is not CheckKind.OUTPUT:
        return False
    claimed = [token for line in check.lines[:_MOST_LINES] for token in tokens_of(line)]
    seen = [token for line in stdout.splitlines()[: _MOST_LINES + 1] for token in tokens_of(line)]
    if form_of(claimed) != form_of(seen):
        return False
    pairs = [
        (one, other)
        for one, other in zip(claimed, seen, strict=True)
        if isinstance(one, Number) and isinstance(other, Number)
    ]
    counts = [(one, other) for one, other in pairs if one.whole and math.isfinite(one.value)]
    drawn = [other for one, other in pairs if not (one.whole and math.isfinite(one.value))]
    has_nan = any(not math.isfinite(one.value) for one, _ in pairs)
    # Any script may print one number. Numbers that stand there twice belong together.
    finite = [one.text for one, _ in pairs if not one.whole and math.isfinite(one.value)]
    is_telling = len(claimed) > 1 and len(set(finite)) == len(finite)
    return (
        has_nan
        and is_telling
        and all(map(_is_ordinary, drawn))
        and (len(drawn) == 1 or len({other.text for other in drawn}) > 1)
        and all(matches(one, other) for one, other in counts)
    )


def without_printed_inputs(check: Check, stdout: str, script: str) -> tuple[Check, str]:
    """The check and the output without the inputs that the script prints, if they hold nan where claimed.

    Unchanged if it is not plain which print shows what.
    """
    are_inputs = prints_of_inputs(script)
    claimed = _values_in([line for line in check.lines if line.strip()][:_MOST_LINES])
    seen = _values_in([line for line in stdout.splitlines() if line.strip()][: _MOST_LINES + 1])
    others = are_inputs.count(False)
    if not 0 < others < len(are_inputs) == len(seen) or check.kind is not CheckKind.OUTPUT:
        return check, stdout
    rest = [value for value, is_input in zip(seen, are_inputs, strict=True) if not is_input]
    if len(claimed) == others:
        return check, "\n".join(rest)
    if len(claimed) != len(seen):
        return check, stdout
    triples = list(zip(claimed, seen, are_inputs, strict=True))
    if any(is_input and _places_of_nan(one) != _places_of_nan(other) for one, other, is_input in triples):
        return check, stdout
    lines = [line for one, _, is_input in triples if not is_input for line in one.split("\n")]
    return check.model_copy(update={"lines": tuple(lines)}), "\n".join(rest)


def _values_in(lines: Sequence[str]) -> list[str]:
    """The printed values, each with all of its lines: a bracket that is open goes on below."""
    values: list[str] = []
    depth = 0
    for line in lines:
        if depth > 0:
            values[-1] += f"\n{line}"
        else:
            values.append(line)
        depth += sum(line.count(sign) for sign in "([{") - sum(line.count(sign) for sign in ")]}")
    return values if depth == 0 else []


def _places_of_nan(value: str) -> list[bool | None]:
    tokens = (token for line in value.split("\n") for token in tokens_of(line))
    return [math.isnan(token.value) if isinstance(token, Number) else None for token in tokens]


def _is_ordinary(number: Number) -> bool:
    least, most = _ORDINARY
    return not number.whole and not number.imaginary and least <= abs(number.value) <= most


def _numbers_at_issue(
    check: Check, expected: Sequence[Check], stdout: str, in_place: Sequence[Number]
) -> Iterator[tuple[Number, Number, Number]]:
    """The numbers as claimed, as expected and as printed. None if the outputs can't be put side by side."""
    if check.kind is CheckKind.VALUE:
        right = [number for other in expected for number in numbers_in(other.number or "")]
        claimed = numbers_in(check.number or "")
        if len(expected) == len(right) == len(claimed) == len(in_place) == 1:
            yield claimed[0], right[0], in_place[0]
        return
    lines = lines_by_label(check, expected, stdout) or lines_by_place(check, expected, stdout)
    lines = [line for line in lines if line.is_at_issue]
    if lines and all(_has_one_form(line) for line in lines):
        for line in lines:
            for one, other, printed in zip(line.claimed, line.right, line.seen, strict=True):
                if isinstance(one, Number) and isinstance(other, Number) and isinstance(printed, Number):
                    yield one, other, printed


def _has_one_form(line: Line) -> bool:
    return form_of(line.claimed) == form_of(line.right) == form_of(line.seen)


def _is_missed_alike(claimed: Number, right: Number, seen: Number) -> bool:
    values = [number.value for number in (claimed, right, seen)]
    if not all(map(math.isfinite, values)) or right.shortest > _MOST_EXACT_DIGITS:
        return False
    one, other = claimed.value - right.value, seen.value - right.value
    least = _LEAST_DISTANCE * max(1.0, abs(right.value))
    if min(abs(one), abs(other)) < least or math.copysign(1, one) != math.copysign(1, other):
        return False
    return _LEAST_SHARE <= abs(other) / abs(one) <= _MOST_SHARE
