"""Captured values side by side: bits, numbers, units in the last place, NaN, tolerances."""

from __future__ import annotations

import base64
import hashlib
import math
import struct
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.judging.comparison.dtypes import Format, decode, format_of, multi_index, ordinal, round_to
from app.judging.comparison.values import MOST_VALUES, compare_value, compare_values, comparison_text
from worker.contract import CapturedValue, ValueStatistics

FLOATS = (
    "float16",
    "bfloat16",
    "float32",
    "float64",
    "float8_e4m3fn",
    "float8_e5m2",
    "float8_e4m3fnuz",
    "float8_e5m2fnuz",
)
CODES = {
    "float16": "e",
    "float32": "f",
    "float64": "d",
    "int64": "q",
    "int32": "i",
    "uint8": "B",
    "bool": "?",
    "complex64": "f",
}


def form(dtype: str) -> Format:
    found = format_of(dtype)
    assert found is not None
    return found


def packed(
    dtype: str, data: bytes, *, name: str = "x", shape: list[int] | None = None, **more: Any
) -> CapturedValue:
    digest = "sha256:" + hashlib.sha256(data).hexdigest()
    count = len(data) // form(dtype).element_size
    kept = base64.b64encode(data).decode()
    shape = ([] if count == 1 else [count]) if shape is None else shape
    return CapturedValue(
        name=name, kind="tensor", dtype=f"torch.{dtype}", shape=shape, digest=digest, data=kept, **more
    )


def holding(*numbers: float, dtype: str = "float32", **more: Any) -> CapturedValue:
    if dtype == "bfloat16":
        return packed(dtype, b"".join(struct.pack("<f", number)[2:] for number in numbers), **more)
    return packed(dtype, struct.pack(f"<{len(numbers)}{CODES[dtype]}", *numbers), **more)


def without_data(value: CapturedValue, **statistics: Any) -> CapturedValue:
    return value.model_copy(
        update={"data": "", "statistics": ValueStatistics(**statistics) if statistics else None}
    )


@pytest.mark.parametrize("dtype", FLOATS)
def test_neighbours_are_one_apart(dtype: str) -> None:
    size = form(dtype).size
    sign = 1 << (8 * size - 1)
    for bits in (0, 1, 2, 3, sign >> 3, (sign >> 2) - 1, sign >> 2, (sign >> 2) + 1):
        places = []
        for one in (bits, bits + 1):
            [number] = decode(dtype, one.to_bytes(size, "little")) or []
            [negative] = decode(dtype, (one | sign).to_bytes(size, "little")) or []
            assert ordinal(number, form(dtype)) == one
            assert math.isnan(negative) or ordinal(negative, form(dtype)) == -one
            places.append(number)
        assert places[0] < places[1]


@pytest.mark.parametrize(
    ("dtype", "one", "other", "ulp"),
    [
        ("float32", 1.0, 1.0000001192092896, 1),
        ("float32", -1e-45, 1e-45, 2),
        ("float32", 1.1754942106924411e-38, 1.1754943508222875e-38, 1),
        ("float64", 5e-324, -5e-324, 2),
        ("float64", 1.0, 1.0000000000000002, 1),
        ("float16", 65504.0, 65472.0, 1),
        ("float16", 6e-8, 0.0, 1),
        ("bfloat16", 1.0, 1.0078125, 1),
        ("bfloat16", 1.0, -1.0, 2 * 0x3F80),
        ("float32", 3.4028234663852886e38, 3.4028232635611926e38, 1),
    ],
)
def test_known_distances(dtype: str, one: float, other: float, ulp: int) -> None:
    made = compare_value(holding(one, dtype=dtype), holding(other, dtype=dtype))
    assert (made.result, made.greatest_ulp, made.ulp_dtype) == ("different", ulp, dtype)


@pytest.mark.parametrize(
    ("dtype", "number", "nearest"),
    [
        ("float32", 0.1, 0.10000000149011612),
        ("float16", 65519.0, 65504.0),
        ("float16", 65520.0, math.inf),
        ("float16", 1e-9, 0.0),
        ("bfloat16", 1.00390625, 1.0),
        ("bfloat16", -3.39e38, -3.3895313892515355e38),
        ("bfloat16", -3.4e38, -math.inf),
        ("float32", 1e-46, 0.0),
        ("float64", 0.1, 0.1),
    ],
)
def test_nearest_of_a_format(dtype: str, number: float, nearest: float) -> None:
    assert round_to(number, form(dtype)) == nearest


@given(st.floats(allow_nan=False, allow_infinity=False, width=64))
def test_rounding_is_that_of_the_machine(number: float) -> None:
    for dtype, code in (("float32", "f"), ("float16", "e")):
        try:
            [expected] = struct.unpack(f"<{code}", struct.pack(f"<{code}", number))
        except OverflowError:
            expected = math.copysign(math.inf, number)
        assert round_to(number, form(dtype)) == expected


def test_a_signed_zero_is_another_bit_and_no_other_number() -> None:
    made = compare_value(holding(0.0, 1.0), holding(-0.0, 1.0))
    assert (made.result, made.differing, comparison_text(made)) == (
        "equal",
        0,
        "the same numbers in different bits",
    )
    other_nan = packed("float32", bytes.fromhex("0100c07f"))
    assert compare_value(holding(math.nan), other_nan).result == "equal"
    assert compare_value(holding(math.nan), holding(math.nan)).result == "identical"


def test_nan_and_infinity_on_one_side() -> None:
    made = compare_value(holding(1.0, math.nan, math.nan, math.inf), holding(1.0, math.nan, 2.0, -math.inf))
    assert (made.result, made.differing, made.first_differing) == ("different", 2, [2])
    assert (made.both_nan, made.nan_differs, made.infinity_differs) == (1, 1, 1)
    assert (made.greatest_absolute, made.greatest_ulp, made.smallest_rtol, made.smallest_atol) == (
        None,
        None,
        None,
        None,
    )
    assert made.passes_default is False
    assert "NaN on one side only in 1" in comparison_text(made)


def test_where_it_is_worst() -> None:
    made = compare_value(
        holding(1.0, 2.0, 1000.0, 0.0, shape=[2, 2]), holding(1.0, 2.5, 1001.0, 0.0, shape=[2, 2])
    )
    assert (made.differing, made.first_differing, made.baseline, made.candidate) == (2, [0, 1], "2.0", "2.5")
    assert (made.greatest_absolute, made.greatest_absolute_at) == (1.0, [1, 0])
    assert (made.greatest_relative, made.greatest_relative_at) == (0.25, [0, 1])
    assert made.smallest_rtol == pytest.approx(0.25, rel=1e-6)
    assert made.smallest_atol == pytest.approx(1.0, rel=1e-6)
    assert made.smallest_rtol is not None
    assert made.smallest_rtol >= 0.25


@pytest.mark.parametrize(
    ("dtype", "apart", "passes"),
    [("bfloat16", 1.0078125, True), ("float16", 1.0078125, False), ("float64", 1 + 1e-8, True)],
)
def test_a_tolerance_is_of_its_dtype(dtype: str, apart: float, passes: bool) -> None:  # noqa: FBT001
    assert compare_value(holding(1.0, dtype=dtype), holding(apart, dtype=dtype)).passes_default is passes
    assert (
        compare_value(holding(1.0, dtype="float64"), holding(1.0078125, dtype="float64")).passes_default
        is False
    )


def test_against_zero_no_relative_tolerance_passes() -> None:
    made = compare_value(holding(0.0), holding(1e-3))
    assert (made.smallest_rtol, made.greatest_relative) == (None, None)
    assert made.smallest_atol == pytest.approx(1e-3)
    assert "atol 0.001" in comparison_text(made)


def test_integers_complex_and_booleans() -> None:
    made = compare_value(holding(1, 5, dtype="int64"), holding(1, 7, dtype="int64"))
    assert (made.greatest_ulp, made.greatest_absolute, made.passes_default) == (None, 2.0, False)
    assert compare_value(holding(1, dtype="bool"), holding(0, dtype="bool")).differing == 1
    one, other = (
        packed("complex64", struct.pack("<4f", 1, 2, 3, imaginary)) for imaginary in (4.0, 4.000000476837158)
    )
    made = compare_value(one, other)
    assert (made.elements, made.differing, made.first_differing, made.greatest_ulp) == (2, 1, [1], 1)
    huge = [
        CapturedValue(name="n", dtype="int", data=base64.b64encode(data).decode())
        for data in (b"\x01" * 200, b"\x02" * 200)
    ]
    assert compare_value(huge[0], huge[1]).result == "different"


def test_shapes_dtypes_and_one_side() -> None:
    assert compare_value(holding(1.0, 2.0), holding(1.0)).note == "The shapes differ."
    made = compare_value(holding(1.0, dtype="float32"), holding(1.0, dtype="float64"))
    assert (made.result, made.differing) == ("different", 0)
    made = compare_value(holding(0.1, dtype="float32"), holding(0.1, dtype="float64"))
    assert (made.ulp_dtype, made.greatest_ulp) == ("float32", 0)
    assert compare_value(holding(1.0), None).result == "missing"
    assert compare_value(None, holding(1.0)).result == "missing"


def test_without_elements_digest_and_statistics_speak() -> None:
    one, other = holding(1.0, 2.0), holding(1.0, 3.0)
    assert compare_value(without_data(one), without_data(one)).result == "identical"
    made = compare_value(without_data(one, greatest=2.0), without_data(other, greatest=3.0))
    assert made.result == "different"
    assert (made.baseline, made.candidate) == ("greatest 2.0", "greatest 3.0")
    made = compare_value(without_data(one, nan=0), without_data(other, nan=4))
    assert (made.result, made.nan_differs) == ("different", 4)
    assert compare_value(without_data(one, zero=1), without_data(other, zero=1)).result == "unknown"
    assert (
        compare_value(without_data(one, greatest=2.0), without_data(other, greatest=2.0)).result
        == "different"
    )
    assert (
        compare_value(without_data(one), one.model_copy(update={"data": "", "digest": ""})).result
        == "unknown"
    )


@pytest.mark.parametrize("shape", [[3], [10**9, 10**9], [0], []])
@pytest.mark.parametrize("data", ["", "!!", "AAAA", "AAAAAAAAAAA="])
def test_what_a_node_says_may_not_fit(shape: list[int], data: str) -> None:
    one = CapturedValue(name="x", dtype="torch.float32", shape=shape, data=data, digest="sha256:1")
    other = CapturedValue(
        name="x", dtype="torch.float32", shape=shape, data="AACAPwAAgD8=", digest="sha256:2"
    )
    assert compare_value(one, other) == compare_value(one, other)
    assert compare_value(one, CapturedValue(name="x", dtype="quaternion", shape=shape, data=data)) is not None


def test_many_values_are_bounded() -> None:
    values = [holding(float(number), name=f"v{number}") for number in range(3 * MOST_VALUES)]
    assert len(compare_values(values, values)) == MOST_VALUES


def test_what_varies_by_itself_is_marked() -> None:
    one, other = ([holding(1.0, name="same"), holding(number, name="other")] for number in (1.0, 2.0))
    same, varying = compare_values(one, other, varying=frozenset({"other"}))
    assert (same.varies, varying.varies) == (False, True)


ELEMENTS = st.sampled_from(
    ["float16", "bfloat16", "float32", "float64", "int32", "uint8", "bool", "complex64", "float8_e4m3fn"]
)


@given(data=st.data(), dtype=ELEMENTS)
def test_it_is_total_and_has_no_direction_where_it_should_have_none(data: st.DataObject, dtype: str) -> None:
    size = form(dtype).element_size
    one, other = (
        packed(
            dtype,
            data.draw(st.binary(min_size=3 * size, max_size=3 * size)).replace(b"\x02", b"\x01"),
            shape=[3],
        )
        for _ in range(2)
    )
    there, back = compare_value(one, other), compare_value(other, one)
    for name in (
        "result",
        "differing",
        "first_differing",
        "both_nan",
        "nan_differs",
        "infinity_differs",
        "greatest_absolute",
    ):
        assert getattr(there, name) == getattr(back, name)
    assert (there.greatest_ulp, there.smallest_atol) == (back.greatest_ulp, back.smallest_atol)
    assert (there.baseline, there.candidate) == (back.candidate, back.baseline)
    assert (there.result == "different") == bool(there.differing)
    assert comparison_text(there)
    assert compare_value(one, one).result == "identical"


@given(st.integers(0, 200), st.lists(st.integers(1, 5), max_size=4))
def test_an_index_is_where_the_element_is(flat: int, shape: list[int]) -> None:
    if flat < math.prod(shape):
        place = 0
        for extent, at in zip(shape, multi_index(flat, shape), strict=True):
            place = place * extent + at
        assert place == flat
