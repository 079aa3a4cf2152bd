"""If the claimed and the expected value are the same number, its spelling is judged."""

from __future__ import annotations

import pytest
from job_verdicts import judged, verdict
from judging_builders import check, prints, several

from app.intake.claim.claims import CheckKind, Role
from app.judging.judgement import CheckResult
from app.judging.output.printed_lines import equal_tokens, tokens_of


@pytest.mark.parametrize(
    ("claimed", "expected", "printed", "is_so"),
    [
        ("5e+03", "5000.0", "5e+03", "reproduced"),
        ("5e+03", "5000.0", "value: 5e+03", "reproduced"),
        ("5e+03", "5000.0", "5000.0", "not_reproduced"),
        ("5e+03", "5000.0", "5000", "different"),
        ("5e+03", "5000.0", "6000.0", "different"),
        ("5e+03", "5000.0", "got 5e+03 expected 5000.0", "cannot_show"),
        ("5e+03", "5000.0", "15000.0", "different"),
        ("np.float64(1.5)", "1.5", "np.float64(1.5)", "reproduced"),
        ("np.float64(1.5)", "1.5", "1.5", "not_reproduced"),
        ("1.5", "np.float64(1.5)", "np.float64(1.5)", "not_reproduced"),
        ("-0.0", "0.0", "-0.0", "reproduced"),
        ("-0.0", "0.0", "0.0", "not_reproduced"),
        ("(1, 2)", "[1,  2]", "shape (1, 2)", "reproduced"),
        ("(1, 2)", "[1,  2]", "shape [1, 2]", "not_reproduced"),
    ],
)
def test_the_writing_decides(claimed: str, expected: str, printed: str, is_so: str) -> None:
    told = (prints(claimed), prints(expected, role=Role.EXPECTED))
    assert verdict(*told, results=several(3, f"begin\n{printed}\n")) == is_so


@pytest.mark.parametrize(
    ("printed", "of_bug", "of_expected"),
    [
        ("[np.float32(1.5)]", CheckResult.MET, CheckResult.ABSENT),
        ("[1.5]", CheckResult.ABSENT, CheckResult.MET),
        ("[2.5]", CheckResult.OTHER, CheckResult.OTHER),
    ],
)
def test_the_expected_spelling_is_not_seen_in_the_claimed_one(
    printed: str, of_bug: CheckResult, of_expected: CheckResult
) -> None:
    told = (prints("[np.float32(1.5)]"), prints("[1.5]", role=Role.EXPECTED))
    found = judged(*told, results=several(3, f"{printed}\n")).findings
    assert [finding.result for finding in found] == [of_bug, of_expected]


def test_a_value_is_as_well_a_spelling() -> None:
    told = [
        check(CheckKind.VALUE, "prints 5e+03", number=number, role=role)
        for number, role in (("5e+03", Role.BUG), ("5000.0", Role.EXPECTED))
    ]
    assert verdict(*told, results=several(3, "5000.0\n")) == "not_reproduced"
    assert verdict(*told, results=several(3, "5e+03\n")) == "reproduced"


def test_without_anything_printed_an_error_is_another_thing() -> None:
    told = (prints("5e+03"), prints("5000.0", role=Role.EXPECTED))
    assert verdict(*told, results=several(3, raised=("ValueError", "no"))) == "different"


def test_what_says_something_else_is_judged_by_value() -> None:
    told = (prints("loss 1.5"), prints("loss 2.5", role=Role.EXPECTED))
    assert verdict(*told, results=several(3, "loss 1.50\n")) == "reproduced"


@pytest.mark.parametrize(
    ("one", "other"),
    [("torch 2.1.3+cu121", "torch 2.0.2+cu121"), ("v1.2.3", "v1.2.4"), ("127.0.0.1:80", "127.0.0.2:80")],
)
def test_what_has_dots_between_three_numbers_is_a_word(one: str, other: str) -> None:
    assert equal_tokens(tokens_of(one), tokens_of(one))
    assert not equal_tokens(tokens_of(one), tokens_of(other))
