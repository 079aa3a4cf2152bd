"""Captured values in a comparison: what they add, and that they don't decide alone."""

from __future__ import annotations

import base64
import hashlib
import struct
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from judging_builders import check, result

from app.intake.claim.claims import CheckKind
from app.judging.comparison.comparison import Repeats, compare, digests_of, repeats_of, varying_names
from app.judging.comparison.exactness import exact_value_text, nearest_to
from app.judging.judgement import CheckResult, Finding
from worker.contract import CapturedValue, Result


def value(
    name: str, *numbers: float, kind: Any = "tensor", code: str = "f", dtype: str = "torch.float32"
) -> CapturedValue:
    data = struct.pack(f"<{len(numbers)}{code}", *numbers)
    shape = [] if len(numbers) == 1 else [len(numbers)]
    digest = "sha256:" + hashlib.sha256(data).hexdigest()
    return CapturedValue(
        name=name, kind=kind, dtype=dtype, shape=shape, digest=digest, data=base64.b64encode(data).decode()
    )


def holding(*values: CapturedValue, stdout: str = "tensor(1.)\n", **more: Any) -> Result:
    return result(stdout, values=list(values), **more)


def seconds(number: float) -> CapturedValue:
    return value("seconds", number, kind="number", code="d", dtype="float")


def test_prints_alike_but_holds_other_values() -> None:
    made = compare(holding(value("x", 1.0, 2.0)), holding(value("x", 1.0, 2.0000002384185791)))
    assert made.result == "different"
    [found] = made.differences
    assert (found.about, found.baseline, found.candidate) == (
        "value: x",
        "[1]: 2.0",
        "[1]: 2.000000238418579",
    )
    assert "1 of 2 elements differ, at most 1 ULP of float32 apart" in found.note
    assert made.first == found
    assert made.first_line is None


def test_bits_that_are_no_other_value_are_equivalent() -> None:
    assert compare(holding(value("x", 0.0)), holding(value("x", -0.0))).result == "equivalent"
    assert compare(holding(value("x", 0.0)), holding()).result == "equivalent"
    assert compare(holding(value("x", 0.0)), holding(value("x", 0.0))).result == "identical"


def test_a_line_comes_before_a_value() -> None:
    made = compare(holding(value("x", 1.0), stdout="1.0\n"), holding(value("x", 1.5), stdout="1.5\n"))
    assert [found.about for found in made.differences] == ["stdout", "value: x"]
    assert made.first is not None
    assert (made.first.about, made.first.note, made.first_line, made.first_line_candidate) == (
        "stdout",
        "off by 0.5, 50 % of the baseline",
        1,
        1,
    )


def test_what_varies_by_itself_says_nothing_about_two_jobs() -> None:
    here = [digests_of(holding(seconds(number), value("x", 1.0))) for number in (0.1, 0.2, 0.3)]
    there = [digests_of(holding(seconds(number), value("x", 1.0))) for number in (0.4, 0.5, 0.6)]
    repeats = repeats_of(here, there, same_job=False)
    assert repeats == Repeats(varying=frozenset({"seconds"}), known=True)
    made = compare(
        holding(seconds(0.1), value("x", 1.0)), holding(seconds(0.4), value("x", 1.0)), repeats=repeats
    )
    assert (made.result, made.differences) == ("equivalent", ())
    assert [one.varies for one in made.values] == [True, False]
    made = compare(
        holding(seconds(0.1), value("x", 1.0)), holding(seconds(0.4), value("x", 2.0)), repeats=repeats
    )
    assert [found.about for found in made.differences] == ["value: x"]


def test_a_plain_number_needs_repeats_to_count() -> None:
    one, other = holding(seconds(0.1)), holding(seconds(0.4))
    assert (
        compare(one, other, repeats=repeats_of([digests_of(one)], [digests_of(other)], same_job=False)).result
        == "equivalent"
    )
    steady = repeats_of([digests_of(one)] * 3, [digests_of(other)] * 3, same_job=False)
    assert compare(one, other, repeats=steady).result == "different"


def test_within_a_job_only_what_is_sometimes_other_counts() -> None:
    attempts = [
        holding(value("x", number), seconds(at / 10)) for at, number in enumerate((1.0, 1.0, 2.0, 1.0))
    ]
    digests = [digests_of(one) for one in attempts]
    assert varying_names(digests) == ("x", "seconds")
    repeats = repeats_of(digests, digests, same_job=True)
    assert repeats.varying == {"seconds"}
    assert compare(attempts[0], attempts[1], repeats=repeats).result == "equivalent"
    assert [found.about for found in compare(attempts[0], attempts[2], repeats=repeats).differences] == [
        "value: x"
    ]


@pytest.mark.parametrize(
    ("claimed", "told"),
    [
        (
            "0.9531213045120239",
            "w[1] is 0.9531213045120239 in torch.float32, exactly the claimed number in that dtype",
        ),
        ("0.95312", "w[1] is 0.9531213045120239 in torch.float32, which rounds to the claimed number"),
        ("0.9531214237213135", "w[1] is 0.9531213045120239 in torch.float32, 2 ULP from the claimed number"),
        ("7.25311", ""),
        ("0.5", ""),
    ],
)
def test_a_claimed_number_beside_what_was_captured(claimed: str, told: str) -> None:
    values = [value("v", 0.94), value("w", 3.0, 0.9531213045120239)]
    one = check(CheckKind.VALUE, number=claimed)
    assert exact_value_text(one, Finding(text="x", result=CheckResult.MET), values) == told
    lines = check(CheckKind.OUTPUT, lines=(f"loss: {claimed}",))
    assert exact_value_text(lines, Finding(text="x", result=CheckResult.OTHER), values) == told
    assert exact_value_text(one, Finding(text="x", result=CheckResult.UNREACHED), values) == ""


def test_no_element_is_near_nan() -> None:
    assert nearest_to(float("nan"), value("x", 1.0)) is None
    found = nearest_to(float("nan"), value("x", 1.0, float("nan")))
    assert found is not None
    assert (found.index, found.ulp) == ([1], None)
    assert nearest_to(1.0, value("x", 1.0, 2.0, code="f", dtype="torch.complex64")) is None


NUMBERS = st.lists(
    st.sampled_from([0.0, -0.0, 1.0, 1.0000001192092896, float("nan"), float("inf"), -2.5]),
    min_size=1,
    max_size=3,
)
HELD = st.dictionaries(st.sampled_from("abc"), NUMBERS, max_size=3)


@given(HELD, HELD)
def test_a_comparison_of_values_has_no_direction(
    one: dict[str, list[float]], other: dict[str, list[float]]
) -> None:
    sides = [holding(*(value(name, *numbers) for name, numbers in side.items())) for side in (one, other)]
    there, back = compare(sides[0], sides[1]), compare(sides[1], sides[0])
    assert there.result == back.result
    assert {(found.about, found.baseline) for found in there.differences} == {
        (found.about, found.candidate) for found in back.differences
    }
    assert compare(sides[0], sides[0]).result == "identical"
