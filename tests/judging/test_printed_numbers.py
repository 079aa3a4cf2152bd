"""Numbers as people print them."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.judging.output.printed_numbers import Number, matches, near, numbers_in, same_value


def number_of(text: str) -> Number | None:
    """The one number that the text is; None where it is none, or several."""
    found = numbers_in(text)
    return found[0] if len(found) == 1 else None


def values(text: str) -> list[float]:
    return [number.value for number in numbers_in(text)]


def agree(claimed: str, seen: str) -> bool:
    one, other = number_of(claimed), number_of(seen)
    assert one is not None
    assert other is not None
    return matches(one, other)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("loss=0.5, lr: 1e-3", [0.5, 0.001]),
        ("[1,-2., .5]", [1.0, -2.0, 0.5]),
        ("3-1", [3.0, 1.0]),
        ("np.float64(0.5)", [0.5]),
        ("0x1.56e8420000000p+6", [85.72681427001953]),
        ("0x10", [16.0]),
        ("1_000", [1000.0]),
        ("torch 1.13.1 on float64, cuda0", []),
        ("1e400 -1e400", [math.inf, -math.inf]),
        ("-inf Infinity", [-math.inf, math.inf]),
        ("information nano", []),
    ],
)
def test_numbers_stand_alone(text: str, expected: list[float]) -> None:
    assert values(text) == expected


def test_an_imaginary_part_keeps_its_sign() -> None:
    one, other = numbers_in("1.5-2j")
    assert (one.imaginary, other.imaginary, other.value) == (False, True, -2.0)
    real, imaginary = numbers_in("nan+nanj")
    assert math.isnan(real.value)
    assert imaginary.imaginary


@pytest.mark.parametrize(
    ("claimed", "seen"),
    [
        ("0.1234", "0.12341"),
        ("0.98999", "0.9899924993515015"),
        ("nan", "NaN"),
        ("-inf", "-Infinity"),
        ("0.5", "np.float64(0.5)"),
        ("88.", "88"),
        ("4450.0", "4448."),
        ("5.960e-08", "5.9604e-08"),
        ("1e5", "100000.0"),
    ],
)
def test_a_claim_matches_what_rounds_to_it(claimed: str, seen: str) -> None:
    assert agree(claimed, seen)


@pytest.mark.parametrize(
    ("claimed", "seen"),
    [
        ("0.98999", "-0.98999"),
        ("0.1234", "0.12346"),
        ("0.5", "0.52"),
        ("3", "3.2"),
        ("4294967295", "4294967296"),
        ("inf", "-inf"),
        ("nan", "0.0"),
        ("0.0", "-0.0"),
        ("1.0", "1.0j"),
        ("4450.0", "4452."),
        ("0x1.8p+1", "3.1"),
        ("-114.58465576171875", "-inf"),
    ],
)
def test_another_value_does_not_match(claimed: str, seen: str) -> None:
    assert not agree(claimed, seen)


def test_two_numbers_are_not_one() -> None:
    assert number_of("1 2") is None
    assert number_of("none") is None


def test_near_is_not_far() -> None:
    assert near(100.0, 100.5)
    assert not near(100.0, 110.0)
    assert near(math.nan, math.nan)
    assert not near(math.inf, 1.0)


@given(st.floats(allow_nan=True, allow_infinity=True))
def test_a_number_matches_its_own_print(value: float) -> None:
    printed = number_of(repr(value))
    assert printed is not None
    assert same_value(printed.value, value)
    assert matches(printed, printed)


@given(
    st.floats(width=32, allow_nan=False, allow_infinity=False),
    st.floats(width=32, allow_nan=False, allow_infinity=False),
)
def test_matching_has_no_direction_and_minds_the_sign(one: float, other: float) -> None:
    left, right = number_of(repr(one)), number_of(repr(other))
    assert left is not None
    assert right is not None
    assert matches(left, right) == matches(right, left)
    if math.copysign(1, one) != math.copysign(1, other):
        assert not matches(left, right)


@given(st.text(alphabet="0123456789eExX.+-_jnaif, ", max_size=60))
def test_reading_numbers_is_total(text: str) -> None:
    for number in numbers_in(text):
        assert text[number.start : number.end] == number.text
        assert number.digits >= 0
        assert matches(number, number)


def test_a_huge_exponent_is_only_a_number() -> None:
    found = numbers_in("1e" + "9" * 6000 + " 1." + "0" * 5000 + "e-99999")
    assert [number.value for number in found] == [math.inf, 0.0]
    assert all(matches(number, number) for number in found)


def test_large_integers_are_exact() -> None:
    one, other = numbers_in("9223372036854775807 9223372036854775806")
    assert not matches(one, other)
    assert not same_value(one.value, other.value)
    assert matches(one, numbers_in("9.223372036854776e+18")[0])
    assert numbers_in(f"{'9' * 400} 0x{'f' * 400}")[0].value == math.inf
