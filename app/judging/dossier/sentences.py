"""The sentences of a dossier that say its cause, the word on the defect, and the whole in short."""

from __future__ import annotations

from collections.abc import Sequence

from app.judging.cause.cause import sentence
from app.judging.cause.defect import missing_for
from app.judging.cause.trace_verdict import FAR_APART, first_difference
from app.judging.dossier.document import DossierCell, NumberInQuestion
from app.judging.dossier.questions import operations_of_unknown_origin, own_operations
from app.judging.judgement import Defect

# float64 rounds this much less than float32.
_FINER = 2.0**-29
_LOSES_DIGITS = (
    "The steps of the script lose digits that its inputs determine, by rounding alone. "
    "Float64 is nearer to the exact number."
)
_FREE = "Signs or the order of the numbers are free in what the script shows. The factors are right."
_AS_FAR_AS_SEEN = "As far as it was looked at, every operation is as exact as its type allows."
_BEYOND_RANGE = (
    "A number, or a step to it, is beyond the range of its type, where float64 has a number. "
    "Every other step is as exact as its type allows."
)


def cause_sentence(
    cause: str | None,
    cells: Sequence[DossierCell],
    numbers: Sequence[NumberInQuestion],
    *,
    source: str = "",
    is_open: bool = False,
) -> str:
    """The sentence of a cause and its source; empty without one. `is_open`: something was not looked at."""
    if cause == "unexplained":
        return _sentence_of_a_wrong_operation(cells)
    has_pairs = any(cell.trace and cell.trace.pairs for cell in cells)
    special = {
        "sign_or_order": "" if has_pairs else _FREE,
        "ill_conditioned": _LOSES_DIGITS if _loses_digits(numbers) else "",
        "rounding": _AS_FAR_AS_SEEN
        if is_open
        else _BEYOND_RANGE
        if any(map(_is_beyond_range, numbers))
        else "",
    }
    return special.get(cause or "") or sentence(cause, source)


def _sentence_of_a_wrong_operation(cells: Sequence[DossierCell]) -> str:
    own, wrong = own_operations(cells), _wrong_operations(cells)
    if wrong and wrong <= set(own):
        names = ", ".join(sorted(wrong))
        return (
            "One operation is further from the exact result than rounding explains. "
            f"It is an implementation that the script registers for {names}, not torch's own."
        )
    if wrong & {*own, *operations_of_unknown_origin(cells)}:
        return f"{sentence('unexplained')} Nothing shows whether it is torch's own implementation."
    return sentence("unexplained")


def _loses_digits(numbers: Sequence[NumberInQuestion]) -> bool:
    """Whether only the roundings of steps move numbers far, not the inputs, and float64 has enough digits."""
    far = []
    for side in (side for number in numbers for side in number.sides):
        if not isinstance(side.reference, float) or side.rounding is None or side.uncertainty is None:
            continue
        visible = FAR_APART * abs(side.reference)
        if max(side.rounding, side.uncertainty) >= visible:
            is_wide = side.uncertainty >= visible or side.rounding * _FINER >= visible
            far.append(not is_wide and (side.error is None or side.error >= visible))
    return bool(far) and all(far)


def _is_beyond_range(number: NumberInQuestion) -> bool:
    """Whether a side is no finite number, and its reference is one."""
    return any(isinstance(side.value, str) and isinstance(side.reference, float) for side in number.sides)


def _wrong_operations(cells: Sequence[DossierCell]) -> set[str]:
    """The operations that rounding does not explain."""
    return {
        operation.name
        for cell in cells
        if cell.trace is not None
        for operation in cell.trace.operations
        if any(side.explained is False for side in operation.sides)
    }


def defect_sentence(
    cause: str | None, defect: Defect, unknown: Sequence[str], cells: Sequence[DossierCell]
) -> str:
    """The word on the defect in a sentence."""
    if cause is None:
        return "No test showed a cause."
    if defect is Defect.YES:
        place = (
            "the script's own implementation"
            if (wrong := _wrong_operations(cells)) and wrong <= set(own_operations(cells))
            else "what computes the numbers"
        )
        return f"This is a defect of {place}." if cause == "unexplained" else "This is a defect."
    if defect is Defect.NO:
        return "This is not a defect."
    missing = missing_for(cause)
    if missing:
        return " ".join(missing)
    return "Undecided: not everything was looked at." if unknown else "Undecided."


def summary_of(
    cells: Sequence[DossierCell],
    numbers: Sequence[NumberInQuestion],
    cause: str | None,
    *,
    is_tested: bool,
    is_open: bool,
) -> str:
    """The whole in one sentence. `is_tested`: a test of the dossier itself showed the cause."""
    if not cells:
        return "No cell of this run was traced, so nothing is known about its numbers."
    if cause == "unexplained":
        wrong = next(
            (
                first
                for cell in cells
                if cell.trace is not None
                and cell.trace.unexplained
                and (first := first_difference(cell.trace)) is not None
            ),
            None,
        )
        name = "An operation" if wrong is None else f"Operation {wrong.number}, {wrong.name},"
        return f"{name} gives what rounding does not explain."
    if cause is None and not any(cell.trace and cell.trace.operations_seen for cell in cells):
        return "The script runs no operation of torch that computes numbers."
    if not numbers and not is_tested:
        return "Every number that the script shows and that could be checked is exactly that of float64."
    if cause is not None:
        return cause_sentence(cause, cells, numbers, is_open=is_open)
    return numbers[0].sentence
