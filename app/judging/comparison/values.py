"""Comparison of two captured values: bits, numbers, ULP, and the tolerances of `torch.testing.assert_close`.

The baseline is the expected side and the candidate the actual one, which matters for relative errors and
tolerances. A value is known by its bytes, else by its digest and statistics. The note says which were used.
"""

from __future__ import annotations

import base64
import binascii
import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from pydantic import BaseModel, ConfigDict

from app.judging.comparison.closeness import Closeness, Pair, closeness
from app.judging.comparison.dtypes import Format, decode, format_of, multi_index
from worker.contract import CapturedValue

# Limits, since nodes send hostile data: values in a pair of attempts, and differing elements that are
# measured in one.
MOST_VALUES = 100
MOST_MEASURED = 20_000
LONGEST_NAME = 200
MOST_WRITTEN = 6


class ValueResult(StrEnum):
    """The result of a comparison of two values with the same name."""

    IDENTICAL = "identical"  # bit by bit
    EQUAL = "equal"  # other bits, same numbers: signed zeros, other NaN
    DIFFERENT = "different"
    UNKNOWN = "unknown"  # too little is known about one of them
    MISSING = "missing"  # one side does not have it


class ValueComparison(BaseModel):
    """The comparison of one value. Indexes are those of the candidate.

    A field is null if it is not known; `note` then says why.
    """

    model_config = ConfigDict(frozen=True)

    name: str
    origin: str = "final"
    kind: str = "number"
    result: ValueResult
    dtype: str | None = None
    dtype_baseline: str | None = None
    shape: list[int] | None = None
    shape_baseline: list[int] | None = None
    elements: int | None = None
    differing: int | None = None
    first_differing: list[int] | None = None
    # The exact elements at `first_differing`.
    baseline: str = ""
    candidate: str = ""
    both_nan: int = 0
    nan_differs: int = 0
    infinity_differs: int = 0
    greatest_absolute: float | None = None
    greatest_absolute_at: list[int] | None = None
    greatest_relative: float | None = None
    greatest_relative_at: list[int] | None = None
    greatest_ulp: int | None = None
    greatest_ulp_at: list[int] | None = None
    ulp_dtype: str | None = None
    smallest_rtol: float | None = None
    smallest_atol: float | None = None
    default_rtol: float | None = None
    default_atol: float | None = None
    passes_default: bool | None = None
    # Whether it also varies between repeats of one of the two jobs.
    varies: bool = False
    note: str = ""


def compare_values(
    baseline: Sequence[CapturedValue],
    candidate: Sequence[CapturedValue],
    *,
    varying: frozenset[str] = frozenset(),
) -> tuple[ValueComparison, ...]:
    """Compare the values of all names on either side, at most `MOST_VALUES`, in the candidate's order."""
    ones = {(value.origin, value.name): value for value in baseline[:MOST_VALUES]}
    others = {(value.origin, value.name): value for value in candidate[:MOST_VALUES]}
    comparisons = [
        compare_value(ones.get(key), others.get(key)).model_copy(update={"varies": key[1] in varying})
        for key in list(dict.fromkeys((*others, *ones)))[:MOST_VALUES]
    ]
    return tuple(comparisons)


def compare_value(baseline: CapturedValue | None, candidate: CapturedValue | None) -> ValueComparison:
    """Compare two values with the same name. One of them may be missing. Raises ValueError if both are."""
    known = candidate or baseline
    if known is None:
        raise ValueError("nothing to compare")
    facts: dict[str, object] = {
        "name": known.name[:LONGEST_NAME],
        "kind": known.kind,
        "origin": known.origin,
        "dtype": None if candidate is None else candidate.dtype,
        "dtype_baseline": None if baseline is None else baseline.dtype,
        "shape": None if candidate is None else candidate.shape,
        "shape_baseline": None if baseline is None else baseline.shape,
        "elements": _count(known.shape),
    }
    if baseline is None or candidate is None:
        return _comparison(facts, result=ValueResult.MISSING, note="Only one side has it.")
    if baseline.shape != candidate.shape:
        return _comparison(
            facts,
            result=ValueResult.DIFFERENT,
            note="The shapes differ.",
            baseline=_short_text(baseline),
            candidate=_short_text(candidate),
        )
    one, other = _decode(baseline), _decode(candidate)
    same_dtype = _plain(baseline.dtype) == _plain(candidate.dtype)
    if same_dtype and _same_bits(baseline, candidate):
        nan = (
            sum(map(_is_nan, one.elements))
            if one is not None
            else baseline.statistics.nan
            if baseline.statistics
            else 0
        )
        return _comparison(
            facts,
            result=ValueResult.IDENTICAL,
            differing=0,
            both_nan=nan,
            baseline=_short_text(baseline),
            candidate=_short_text(candidate),
        )
    if one is None or other is None:
        return _by_statistics(facts, baseline, candidate)
    return _compare_elements(facts, one, other, same_dtype=same_dtype)


def elements_of(value: CapturedValue) -> Sequence[complex] | None:
    """The elements in row-major order; None if they are not known."""
    decoded = _decode(value)
    return None if decoded is None else decoded.elements


def value_text(value: CapturedValue) -> str:
    """The first elements in Python's spelling; empty if they are not known."""
    elements = elements_of(value)
    if elements is None:
        return ""
    few = ", ".join(_element_text(element) for element in elements[:MOST_WRITTEN])
    return few if not value.shape else f"[{few}{', …' if len(elements) > MOST_WRITTEN else ''}]"


def comparison_text(comparison: ValueComparison) -> str:
    """One line about a comparison: the distance and the tolerance."""
    tolerance = ""
    if comparison.passes_default and comparison.differing:
        tolerance = "within assert_close's default tolerances"
    elif comparison.smallest_rtol is not None:
        tolerance = f"assert_close passes from rtol {comparison.smallest_rtol:.3g}"
    elif comparison.smallest_atol is not None:
        tolerance = f"assert_close passes from atol {comparison.smallest_atol:.3g}"
    return ", ".join(filter(None, (distance_text(comparison), tolerance)))


def distance_text(comparison: ValueComparison) -> str:
    """One line about the distance of the two sides."""
    if comparison.result is ValueResult.DIFFERENT and comparison.differing is not None:
        return _distance_of_numbers(comparison)
    words = {
        ValueResult.IDENTICAL: "the same bits",
        ValueResult.EQUAL: "the same numbers in different bits",
        ValueResult.MISSING: "only one side has it",
    }
    return words.get(comparison.result) or comparison.note.rstrip(".") or "not known"


def _distance_of_numbers(comparison: ValueComparison) -> str:
    several = comparison.elements is not None and comparison.elements > 1
    parts = [f"{comparison.differing} of {comparison.elements} elements differ"] if several else []
    for count, what in ((comparison.nan_differs, "NaN"), (comparison.infinity_differs, "infinite")):
        if count:
            parts.append(f"{what} on one side only" + (f" in {count}" if several else ""))
    if comparison.greatest_ulp is not None:
        parts.append(
            f"{'at most ' if several else ''}{comparison.greatest_ulp} ULP of {comparison.ulp_dtype} apart"
        )
    if comparison.greatest_absolute is not None:
        parts.append(f"off by {comparison.greatest_absolute:.3g}")
    if comparison.dtype != comparison.dtype_baseline:
        parts.append(f"dtype {comparison.dtype} against {comparison.dtype_baseline}")
    return ", ".join(parts) or "different"


@dataclass(frozen=True, slots=True)
class _Elements:
    """The elements as numbers, in row-major order. `form` is None for a Python int."""

    form: Format | None
    elements: list[float] | list[complex]
    dtype: str
    shape: list[int]


def _comparison(facts: dict[str, object], **more: object) -> ValueComparison:
    return ValueComparison.model_validate({**facts, **more})


def _count(shape: Sequence[int]) -> int | None:
    return math.prod(shape) if all(extent >= 0 for extent in shape) else None


def _plain(dtype: str) -> str:
    form = format_of(dtype)
    return dtype if form is None else form.name


def _bytes(value: CapturedValue) -> bytes:
    try:
        return base64.b64decode(value.data, validate=True)
    except (binascii.Error, ValueError):
        return b""


def _decode(value: CapturedValue) -> _Elements | None:
    """The decoded elements; None without bytes, or if their count does not fit the shape."""
    data, count = _bytes(value), _count(value.shape)
    parts = decode(value.dtype, data) if data else [] if count == 0 else None
    form = format_of(value.dtype)
    width = 1 if form is None else form.parts
    if parts is None or count is None or len(parts) != count * width:
        return None
    elements = parts if width == 1 else [complex(*pair) for pair in zip(parts[::2], parts[1::2], strict=True)]
    return _Elements(form, elements, value.dtype, value.shape)


def _same_bits(one: CapturedValue, other: CapturedValue) -> bool:
    if one.data and other.data:
        return one.data == other.data
    return (bool(one.digest) and one.digest == other.digest) or _count(one.shape) == 0


def _is_nan(element: complex) -> bool:
    return element != element  # noqa: PLR0124 - true of NaN only, of a complex one as well


def _element_text(element: complex) -> str:
    if isinstance(element, int) and element.bit_length() > 2000:
        return f"{'-' if element < 0 else ''}an integer of {element.bit_length()} bits"
    return repr(element)


def _short_text(value: CapturedValue) -> str:
    """The number itself for a single element, else the dtype and the shape."""
    decoded = _decode(value) if _count(value.shape) == 1 else None
    return f"{value.dtype} {value.shape}" if decoded is None else _element_text(decoded.elements[0])


def _by_statistics(
    facts: dict[str, object], baseline: CapturedValue, candidate: CapturedValue
) -> ValueComparison:
    """Compare by digests (different bits) and statistics (different numbers), without elements."""
    one, other = baseline.statistics, candidate.statistics
    if _plain(baseline.dtype) != _plain(candidate.dtype):
        return _comparison(
            facts, result=ValueResult.DIFFERENT, note="The dtypes differ; there are no elements to compare."
        )
    if one is not None and other is not None:
        names = [
            name
            for name in type(one).model_fields
            if _number(getattr(one, name)) != _number(getattr(other, name))
        ]
        if names:
            sides = [
                ", ".join(f"{name} {_number(getattr(side, name))}" for name in names) for side in (one, other)
            ]
            note = "Its elements were not stored, only statistics of them."
            facts |= {"nan_differs": abs(one.nan - other.nan), "baseline": sides[0], "candidate": sides[1]}
            return _comparison(facts, result=ValueResult.DIFFERENT, note=note)
    if not (baseline.digest and candidate.digest):
        return _comparison(
            facts, result=ValueResult.UNKNOWN, note="Its elements were not stored, nor a digest of them."
        )
    if one is None or other is None or one.zero or one.nan:
        note = (
            "Its elements were not stored. The bits differ but the statistics agree, "
            "so perhaps only signed zeros or NaN differ."
        )
        return _comparison(facts, result=ValueResult.UNKNOWN, note=note)
    return _comparison(
        facts,
        result=ValueResult.DIFFERENT,
        note="Its elements were not stored. The bits differ but the statistics agree.",
    )


def _number(value: float | None) -> str:
    return "none" if value is None else repr(value)


def _compare_elements(
    facts: dict[str, object], one: _Elements, other: _Elements, *, same_dtype: bool
) -> ValueComparison:
    """Compare element by element. NaN at the same position on both sides is no difference."""
    unequal = [
        at for at, (left, right) in enumerate(zip(one.elements, other.elements, strict=True)) if left != right
    ]
    both_nan = sum(_is_nan(one.elements[at]) and _is_nan(other.elements[at]) for at in unequal)
    differing = [at for at in unequal if not (_is_nan(one.elements[at]) and _is_nan(other.elements[at]))]
    pairs = [Pair(at, one.elements[at], other.elements[at]) for at in differing[:MOST_MEASURED]]
    close = closeness(pairs, one.form, other.form)
    measured: dict[str, object] = {
        "differing": len(differing),
        "both_nan": both_nan,
        **_counts(pairs),
        **_close_facts(close, one.shape),
    }
    if differing:
        first = differing[0]
        measured |= {
            "first_differing": multi_index(first, one.shape),
            "baseline": _element_text(one.elements[first]),
            "candidate": _element_text(other.elements[first]),
        }
    elif len(one.elements) == 1:
        measured |= {
            "baseline": _element_text(one.elements[0]),
            "candidate": _element_text(other.elements[0]),
        }
    if len(differing) > len(pairs):
        measured |= {"passes_default": None, "smallest_rtol": None, "smallest_atol": None}
        measured["note"] = f"The first {MOST_MEASURED} differing elements were measured."
    elif not same_dtype:
        measured["note"] = "The dtypes differ, which assert_close refuses by default (check_dtype=True)."
    elif both_nan:
        measured["note"] = "NaN at the same position counts as equal (equal_nan=True)."
    result = ValueResult.DIFFERENT if differing or not same_dtype else ValueResult.EQUAL
    return _comparison(facts, result=result, **measured)


def _counts(pairs: Sequence[Pair]) -> dict[str, object]:
    nan = sum(_is_nan(pair.baseline) != _is_nan(pair.candidate) for pair in pairs)
    infinite = sum(
        not (_is_nan(pair.baseline) or _is_nan(pair.candidate))
        and _is_infinite(pair.baseline) + _is_infinite(pair.candidate) > 0
        for pair in pairs
    )
    return {"nan_differs": nan, "infinity_differs": infinite}


def _is_infinite(element: complex) -> bool:
    return math.inf in {abs(element.real), abs(element.imag)}


def _close_facts(close: Closeness, shape: Sequence[int]) -> dict[str, object]:
    places = {
        f"{name}_at": None if at is None else multi_index(at, shape)
        for name, at in (
            ("greatest_absolute", close.absolute_at),
            ("greatest_relative", close.relative_at),
            ("greatest_ulp", close.ulp_at),
        )
    }
    return {
        "greatest_absolute": close.absolute,
        "greatest_relative": close.relative,
        "greatest_ulp": close.ulp,
        "ulp_dtype": close.ulp_dtype,
        "smallest_rtol": close.rtol,
        "smallest_atol": close.atol,
        "default_rtol": close.default_rtol,
        "default_atol": close.default_atol,
        "passes_default": close.passes_default,
        **places,
    }
