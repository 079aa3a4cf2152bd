"""Sentences that are easily read the wrong way round, or as something that a program printed."""

from __future__ import annotations

import pytest

from app.intake.claim_text import read_claim
from app.intake.claims import CheckKind, Role


@pytest.mark.parametrize(
    "text",
    [
        "prints 3, expected 4",
        "expected 4, got 3",
        "4 expected, 3 returned",
        "4 expected but got 3",
        "output should be 4 rather than 3",
        "it should print 4, not 3",
        "expected 4 instead of 3",
        "3 instead of 4",
        "Got: 3\nWant: 4",
        "Expected: 4\nActual: 3",
        "I get 3, the correct value is 4",
        "the answer is 3 where 4 was expected",
        "The script prints 3. It should print 4. Please help!",
        "I use torch 2.1 on my laptop. The script prints 3. It should print 4.",
    ],
)
def test_what_is_seen_and_what_is_wanted(text: str) -> None:
    claim = read_claim(text)
    assert [(check.kind, check.role, check.number) for check in claim.checks] == [
        (CheckKind.VALUE, Role.BUG, "3"),
        (CheckKind.VALUE, Role.EXPECTED, "4"),
    ]


@pytest.mark.parametrize(
    ("text", "seen", "wanted"),
    [
        ("prints (1+2j) but (1-2j) is expected", "(1+2j)", "(1-2j)"),
        ("Output: `False`. Expected: `True`.", "False", "True"),
        ("It prints True; it should print False", "True", "False"),
        ("returns [1, 2] where [2, 1] is right", "[1, 2]", "[2, 1]"),
    ],
)
def test_prints_that_are_no_numbers(text: str, seen: str, wanted: str) -> None:
    assert [(check.role, check.lines) for check in read_claim(text).checks] == [(Role.BUG, (seen,)), (Role.EXPECTED, (wanted,))]


@pytest.mark.parametrize(
    "text",
    ["eager prints 1.0, compiled prints 2.0", "compiled: 2.0 eager: 1.0", "in eager mode 1.0; compiled code gives 2.0"],
)
def test_eager_and_compiled_are_sides(text: str) -> None:
    (check,) = read_claim(text).checks
    assert (check.kind, check.sides, check.side_lines) == (CheckKind.DIFFERS, ("eager", "compiled"), ("eager 1.0", "compiled 2.0"))


@pytest.mark.parametrize(
    "text",
    [
        "El resultado es nan (debería ser 0.0), gracias",
        "结果是 nan",
        "if the loss becomes nan, stop",
        "the gradients contain no NaN",
    ],
)
def test_what_is_said_is_not_taken_for_a_print(text: str) -> None:
    assert read_claim(text).checks == ()


@pytest.mark.parametrize(
    "text", ["a: 1", "i = 3", "a 1\r\nb 2  \r\n", "contains nan: True", "largest gap after 100 steps: 5.960e-08", "`nan`"]
)
def test_what_is_printed_is_literal(text: str) -> None:
    (check,) = read_claim(text).checks
    assert check.kind is CheckKind.OUTPUT
    assert check.lines == tuple(line.strip().strip("`") for line in text.splitlines())


def test_a_message_ends_with_its_quote() -> None:
    (check,) = read_claim("Calling it throws `ValueError: bad size 3` on my machine.").checks
    assert check.message == "bad size 3"


def test_devices_that_are_neither_cpu_nor_cuda() -> None:
    assert {check.where.device for check in read_claim("On MPS the output is 0.0, expected 1.0").checks} == {"mps"}
    assert {check.where.device for check in read_claim("On MPS and CPU the output is 0.0, expected 1.0").checks} == {None}


def test_a_place_is_taken_only_where_one_is_named() -> None:
    assert read_claim("the last value is 9, expected 8").checks[0].position == "last"
    assert read_claim("the first value is 1, the last value is 9, expected 8").checks[0].position is None


def test_numbers_of_other_kinds() -> None:
    assert read_claim("prints 0x1.999999999999ap-4").checks[0].number == "0x1.999999999999ap-4"
    assert read_claim("not reproducible between runs").checks[0].kind is CheckKind.VARIES
