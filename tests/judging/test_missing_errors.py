"""An error that should be raised and is not; versions and systems of a claim; dtypes as printed."""

from __future__ import annotations

import pytest
from judging_builders import CPU, check, claim, prints, result, script, several

from app.intake.claim.claim_text import read_claim
from app.intake.claim.claims import Check, CheckKind, Where
from app.judging.check.checks import judge_check
from app.judging.judgement import CheckResult, Verdict
from app.judging.verdict.job import judge_job
from worker.contract import Result

MISSING = check(CheckKind.NO_ERROR, exception_type="ValueError")


def found(one: Check, seen: Result) -> CheckResult:
    return judge_check(one, seen, expected=(), script=script(), target=CPU).result


@pytest.mark.parametrize(
    ("seen", "expected"),
    [
        (result("done"), CheckResult.MET),
        (result(""), CheckResult.MET),
        (result(raised=("ValueError", "bad size")), CheckResult.ABSENT),
        (result("caught ValueError: bad size"), CheckResult.OTHER),
        (result(raised=("TypeError", "bad")), CheckResult.OTHER),
        (result(signal="SIGSEGV"), CheckResult.OTHER),
        (result(raised=("ModuleNotFoundError", "No module named 'x'")), CheckResult.UNREACHED),
    ],
)
def test_the_error_is_still_missing(seen: Result, expected: CheckResult) -> None:
    assert found(MISSING, seen) is expected


def test_without_a_named_type_any_error_is_another_thing() -> None:
    assert found(check(CheckKind.NO_ERROR), result(raised=("ValueError", "x"))) is CheckResult.OTHER


def test_a_sentence_and_its_job() -> None:
    said = read_claim("It should raise ValueError but it doesn't")
    assert judge_job(said, script(), CPU, several(3, "ok")).verdict is Verdict.REPRODUCED
    assert (
        judge_job(said, script(), CPU, several(3, raised=("ValueError", "x"))).verdict
        is Verdict.NOT_REPRODUCED
    )


@pytest.mark.parametrize(
    ("version", "torch", "python", "expected"),
    [
        ("2.1", "2.13.0", "3.12.1", CheckResult.UNREACHED),
        (">=2.1", "2.13.0", "3.12.1", CheckResult.OTHER),
        (">=2.1", "2.0.1", "3.12.1", CheckResult.UNREACHED),
        ("python 3.12", "2.13.0", "3.12.1", CheckResult.OTHER),
        ("python 3.12", "2.13.0", "3.11.1", CheckResult.UNREACHED),
    ],
)
def test_a_no_under_another_version_is_none(
    version: str, torch: str, python: str, expected: CheckResult
) -> None:
    claimed = prints("3").model_copy(update={"where": Where(version=version)})
    environment = {"torch.version": torch, "python.version": python}
    assert found(claimed, result("4", environment=environment)) is expected
    assert found(claimed, result("3", environment=environment)) is CheckResult.MET


def test_a_dtype_is_found_in_a_print_of_a_tensor() -> None:
    assert found(prints("torch.float64"), result("tensor(1., dtype=torch.float64)")) is CheckResult.MET
    assert found(prints("float64"), result("torch.float32")) is CheckResult.OTHER


def test_a_label_chooses_its_lines() -> None:
    (said,) = claim(prints("None").model_copy(update={"label": "x.grad"})).checks
    assert found(said, result("y.grad None\nx.grad tensor(1.)")) is CheckResult.OTHER
    assert found(said, result("x.grad None\ny.grad tensor(1.)")) is CheckResult.MET
