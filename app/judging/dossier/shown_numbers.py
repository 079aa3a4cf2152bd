"""The numbers in question: what a script shows, on its targets, held against the float64 reference."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from app.judging.dossier.document import DossierCell, NumberInQuestion, NumberSide, Right
from app.judging.output.printed_numbers import Number, numbers_in
from worker.contract.trace import ComparedSide, ComparedValues, ShownValue

# The same limits as in the harness: a side is explained within so many units and so many spreads.
UNITS, SPREADS = 16, 8
MOST_NUMBERS = 12
# A number of float64 has lost half of its digits if it moves by this share.
HALF_OF_DOUBLE, HALF_OF_SINGLE = 2.0**-26, 2.0**-11.5
UNIT = 2.0**-23
_MOST_LINES, _MOST_CHARACTERS = 500, 400
_INDEXED = re.compile(r"(print|read|compared)\[(\d+)\]")
# A type that is as exact as the reference.
_DOUBLE = {"torch.float64", "torch.complex128"}


def numbers_in_question(cells: Sequence[DossierCell]) -> tuple[list[NumberInQuestion], int]:
    """The most telling numbers first, and how many were left out.

    Numbers without any error, shown on one side only, are in no question.
    """
    numbers = [*_comparisons_in_question(cells), *_values_in_question(cells)]
    sizes = [
        abs(side.reference) for each in numbers for side in each.sides if isinstance(side.reference, float)
    ]
    largest = max((size for size in sizes if math.isfinite(size)), default=0.0)
    in_question = (each for each in numbers if _is_in_question(each) or _has_lost_digits(each, largest))
    telling = _without_repeats(sorted(in_question, key=_rank))
    return telling[:MOST_NUMBERS], max(0, len(telling) - MOST_NUMBERS)


def _without_repeats(numbers: Sequence[NumberInQuestion]) -> list[NumberInQuestion]:
    """The numbers without those that show the same values again: printed, then read, then held at the end."""
    seen = set()
    distinct = []
    for number in numbers:
        key = tuple((side.label, str(side.value), str(side.reference)) for side in number.sides)
        if key not in seen:
            distinct.append(number)
        seen.add(key)
    return distinct


def _is_in_question(number: NumberInQuestion) -> bool:
    return bool(number.gap) or any(
        side.error is None or side.error > 0 or not isinstance(side.value, float) for side in number.sides
    )


def _has_lost_digits(number: NumberInQuestion, largest: float) -> bool:
    """Whether a number of float64, which is its own reference, is moved by half of its digits.

    A residual is nothing but rounding: it is moved much less than the largest number beside it.
    """
    return any(
        side.dtype in _DOUBLE
        and isinstance(side.reference, float)
        and max(side.uncertainty or 0.0, side.rounding or 0.0)
        > HALF_OF_DOUBLE * max(abs(side.reference), largest)
        for side in number.sides
    )


def is_residual(number: NumberInQuestion, compared: NumberInQuestion) -> bool:
    """Whether a number may be the distance of two tensors that agree: it is only rounding, without digits."""
    if number.shape or compared.gap is None or not compared.name.startswith("compared["):
        return False
    size = max((abs(side.value) for side in compared.sides if isinstance(side.value, float)), default=0.0)
    most = min(compared.gap * math.prod(compared.shape) * (1 + UNIT), HALF_OF_SINGLE * size)
    values = [abs(side.value) for side in number.sides if isinstance(side.value, float)]
    agree = compared.right is Right.ALL and not compared.formulas_differ
    return agree and len(values) == len(number.sides) and max(values, default=math.inf) <= most


def is_zero_of(number: NumberInQuestion, compared: ComparedValues) -> bool:
    """Whether a number may be the distance of two tensors that are equal, whose references hardly differ."""
    if number.shape or compared.differing or any(side.value != 0 for side in number.sides):
        return False
    size = max((abs(side.value) for side in compared.sides if isinstance(side.value, float)), default=0.0)
    return all(
        isinstance(side.reference, float) and abs(side.reference) <= HALF_OF_SINGLE * size
        for side in number.sides
    )


def _rank(number: NumberInQuestion) -> tuple[bool, bool, bool, float]:
    worst = max((math.inf if side.ulps is None else side.ulps) for side in number.sides)
    unexplained = any(side.explained is False for side in number.sides)
    return not unexplained, len(number.sides) < 2, not number.lines, -worst


def _values_in_question(cells: Sequence[DossierCell]) -> Iterator[NumberInQuestion]:
    """Each shown value, with one side for each target that shows one of this name, type and shape."""
    by_key: dict[tuple[str, str, tuple[int, ...]], list[tuple[DossierCell, ShownValue]]] = {}
    for cell in cells:
        if cell.trace is not None and cell.trace.shadow is not None:
            for value in cell.trace.shadow.values:
                by_key.setdefault((value.name, value.dtype, tuple(value.shape)), []).append((cell, value))
    for (name, dtype, shape), rows in by_key.items():
        sides = [_side_of_value(cell.label, value) for cell, value in rows]
        one_element = len({value.at for _, value in rows}) == 1
        first_cell, first = rows[0]
        yield _with_sentence(
            NumberInQuestion(
                name=name,
                about=_about(name, dtype, shape),
                lines=_lines_with(first_cell.stdout, first) if name.startswith("read[") else [],
                shape=list(shape),
                sides=sides,
                judgeable=not any(cell.trace is not None and cell.trace.own for cell, _ in rows),
                gap=_gap([side.value for side in sides]) if one_element and len(sides) > 1 else None,
                reference_gap=_gap([side.reference for side in sides])
                if one_element and len(sides) > 1
                else None,
            )
        )


def _side_of_value(label: str, value: ShownValue) -> NumberSide:
    return NumberSide(
        label=label,
        dtype=value.dtype,
        value=value.value,
        reference=value.reference,
        error=value.error,
        ulps=value.ulps,
        relative=value.relative,
        uncertainty=value.uncertainty,
        rounding=value.rounding,
        explained=value.outside == 0,
    )


def _comparisons_in_question(cells: Sequence[DossierCell]) -> Iterator[NumberInQuestion]:
    """Each comparison of two tensors: its sides are the two."""
    for cell in cells:
        if cell.trace is None or cell.trace.shadow is None:
            continue
        for compared in cell.trace.shadow.compared:
            if compared.differing:
                yield _with_sentence(_number_of_comparison(cell, compared))


def _number_of_comparison(cell: DossierCell, compared: ComparedValues) -> NumberInQuestion:
    sides = [
        _side_of_comparison(name, side) for name, side in zip(("left", "right"), compared.sides, strict=True)
    ]
    return NumberInQuestion(
        name=compared.name,
        about=f"{_about(compared.name, compared.sides[0].dtype, tuple(compared.shape))} on {cell.label}",
        shape=compared.shape,
        sides=sides,
        judgeable=cell.trace is None or not cell.trace.own,
        gap=compared.gap,
        reference_gap=compared.reference_gap,
    )


def _side_of_comparison(label: str, side: ComparedSide) -> NumberSide:
    return NumberSide(label=label, explained=is_explained(side), **side.model_dump())


def is_explained(side: ComparedSide) -> bool | None:
    """Whether rounding allows the error of one element; None if its distance is unknown."""
    if side.error is None or side.uncertainty is None or side.rounding is None:
        return None
    if not side.error:
        return True
    unit = side.error / side.ulps if side.ulps else 0.0
    return side.error <= UNITS * unit + SPREADS * max(side.uncertainty, side.rounding)


def _gap(values: Sequence[float | str]) -> float | None:
    """The largest distance between the numbers; None if one of them is not finite."""
    finite = [value for value in values if isinstance(value, float)]
    return max(finite) - min(finite) if len(finite) == len(values) else None


def _about(name: str, dtype: str, shape: tuple[int, ...]) -> str:
    kind = dtype.removeprefix("torch.")
    size = f"{kind}, {'×'.join(map(str, shape))}" if shape else kind
    indexed = _INDEXED.fullmatch(name)
    if indexed is None:
        return f"the tensor {name} at the end ({size})"
    at = int(indexed[2]) + 1
    match indexed[1]:
        case "print":
            return f"printed tensor {at} ({size})"
        case "read":
            return f"number {at} that the script took out of a tensor ({kind})"
        case _:
            return f"comparison {at} of two tensors ({size})"


def _lines_with(stdout: str, row: ShownValue) -> list[int]:
    """The lines of an output that show this number, as it is or rounded to the printed digits."""
    value = row.value
    if not isinstance(value, float) or value == int(value):
        # Whole numbers stand in many lines for other reasons.
        return []
    lines = stdout.splitlines()[:_MOST_LINES]
    return [
        at
        for at, line in enumerate(lines, 1)
        if any(_rounds_to(number, value) for number in numbers_in(line[:_MOST_CHARACTERS]))
    ][:3]


def _rounds_to(number: Number, value: float) -> bool:
    if number.whole or number.digits < 3:
        return False
    return abs(number.value - value) <= 0.5000001 * float(number.step)


def _with_sentence(number: NumberInQuestion) -> NumberInQuestion:
    right, sentence = _judge(number)
    differ = number.judgeable and number.name.startswith("compared[") and _formulas_differ(number)
    return number.model_copy(update={"right": right, "sentence": sentence, "formulas_differ": differ})


def _judge(number: NumberInQuestion) -> tuple[Right, str]:
    """Which side is right, and the sentence that says by how much."""
    sides = number.sides
    if not number.judgeable:
        return Right.UNKNOWN, "The reference uses a kernel that the script registers, so it is no judge."
    if any(side.explained is None for side in sides):
        return Right.UNKNOWN, "The reference is not finite, so no side can be called right."
    good = [side for side in sides if side.explained]
    bad = [side for side in sides if not side.explained]
    if not bad:
        return Right.ALL, _all_explained(number)
    apart = "; ".join(f"{side.label} is {distance_words(side)} away" for side in bad)
    if good:
        near = " and ".join(f"{side.label} ({distance_words(side)})" for side in good)
        return (
            Right.SOME,
            f"Nearer to float64: {near}. {apart}, more than independent roundings of its steps explain.",
        )
    hint = "The operations show whether one of them is wrong."
    return Right.NONE, f"{apart}, more than independent roundings of the steps explain. {hint}"


def _all_explained(number: NumberInQuestion) -> str:
    sides = number.sides
    order = sorted(sides, key=lambda side: math.inf if side.error is None else side.error)
    # The nearest and the furthest say enough.
    named = sides if len(sides) < 3 else [order[0], order[-1]]
    words = ", ".join(f"{side.label} {distance_words(side)}" for side in named)
    double = " The type is as exact as the reference." if {side.dtype for side in sides} <= _DOUBLE else ""
    if any(side.error is None and isinstance(side.reference, float) for side in sides):
        return f"It, or a step to it, is beyond the range of the type: {words}."
    if any(side.error is None for side in sides):
        return f"Float64 gives what is beyond the range of the type, or no number either: {words}."
    if len(sides) == 1:
        side = sides[0]
        return f"It is {distance_words(side)} away from float64, within what rounding allows.{double}"
    if number.reference_gap is not None and number.gap and _formulas_differ(number):
        return (
            f"In float64, too, the two are {number.reference_gap:.3g} apart: they are not the same formula. "
            f"Distances to their own references: {words}."
        )
    if number.reference_gap is not None and number.gap:
        return (
            f"Apart by {number.gap:.3g}, and by {number.reference_gap:.3g} in float64. That is within what "
            f"rounding allows: {words}.{double}"
        )
    nearest = all(one.error == other.error for one, other in pairwise(order))
    near = "" if nearest else f" {order[0].label} is nearer."
    return f"All are within what rounding allows: {words}.{near}{double}"


def _formulas_differ(number: NumberInQuestion) -> bool:
    """Whether the references are further apart than their own uncertainty."""
    spread = sum(max(side.uncertainty or 0.0, side.rounding or 0.0) for side in number.sides)
    exact = all(side.dtype in _DOUBLE for side in number.sides)
    gap = number.reference_gap or 0.0
    return not exact and gap > SPREADS * spread and gap > 0.5 * (number.gap or 0.0)


def distance_words(side: NumberSide) -> str:
    """The distance of a side to its reference, with its unit."""
    if side.error is None:
        return f"{side.value} for {side.reference}"
    if not side.error:
        return "0 ULP"
    dtype = side.dtype.removeprefix("torch.")
    ulps = "" if side.ulps is None else f"{side.ulps:.3g} ULP of {dtype}, "
    return f"{ulps}{side.error:.3g} absolute"
