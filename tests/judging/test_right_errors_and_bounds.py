"""A bug is gone where an error comes that is called right, or a value that keeps its bounds."""

from __future__ import annotations

from typing import Any

import pytest
from judging_builders import CPU, result, script, several

from app.intake.claim.claims import Bounds, Check, CheckKind, Claim, Role
from app.judging.gone.bounds import judge_bounds
from app.judging.judgement import CheckResult, JobJudgement, Verdict
from app.judging.verdict.job import judge_job

CRASH = Check(text="Segmentation fault", kind=CheckKind.CRASH, signal="SIGSEGV", at=2)
OUTPUT = Check(text="[0, 0]", kind=CheckKind.OUTPUT, lines=("[0, 0]",))
HEAD = "Traceback (most recent call last):\n"


def raised(kind: str, line: int, message: str = "bad size") -> list[Any]:
    stderr = f'{HEAD}  File "/home/u/script.py", line {line}, in <module>\n    f()\n{kind}: {message}\n'
    return several(3, raised=(kind, message), stderr=stderr)


def judged(check: Check, results: list[Any], text: str, *errors: str) -> JobJudgement:
    claim = Claim(checks=(check,), right_errors=errors)
    return judge_job(claim, script(text), CPU, results)


@pytest.mark.parametrize("check", [CRASH, OUTPUT])
def test_an_error_that_is_called_right_is_the_end_of_the_bug(check: Check) -> None:
    found = judged(check, raised("ValueError", 2), "import lib\nprint(lib.f(-1))\n", "Exception")
    assert found.verdict is Verdict.NOT_REPRODUCED
    assert found.findings[0].oracle == "right_error"


@pytest.mark.parametrize(
    ("kind", "line", "text", "errors"),
    [
        # Nobody calls an error right, or another one.
        ("ValueError", 2, "import lib\nprint(lib.f(-1))\n", ()),
        ("ValueError", 2, "import lib\nprint(lib.f(-1))\n", ("TypeError",)),
        # The script is broken, or comes to its end before the claimed statement.
        ("RecursionError", 2, "import lib\nprint(lib.f(-1))\n", ("Exception",)),
        ("NotImplementedError", 2, "import lib\nprint(lib.f(-1))\n", ("Exception",)),
        ("ValueError", 2, "import lib\nlib.setup(3)\nprint(lib.f(-1))\n", ("Exception",)),
    ],
)
def test_another_error_stays_different(kind: str, line: int, text: str, errors: tuple[str, ...]) -> None:
    assert judged(OUTPUT, raised(kind, line), text, *errors).verdict is Verdict.DIFFERENT


def test_a_function_with_other_parameters_does_not_refuse_the_input() -> None:
    results = raised("TypeError", 2, "f() takes 0 positional arguments but 1 was given")
    assert judged(OUTPUT, results, "import lib\nprint(lib.f(-1))\n", "Exception").verdict is Verdict.DIFFERENT


def test_an_error_counts_where_the_value_is_computed_that_is_printed_later() -> None:
    found = judged(OUTPUT, raised("ValueError", 2), "import lib\ny = lib.f(-1)\nprint(y)\n", "Exception")
    assert found.verdict is Verdict.NOT_REPRODUCED


def test_an_error_in_place_of_another_is_right_only_by_its_name() -> None:
    check = Check(text="KeyError: 'a'", kind=CheckKind.EXCEPTION, exception_type="KeyError", message="'a'")
    results, text = raised("ValueError", 2), "import lib\nprint(lib.f(-1))\n"
    assert judged(check, results, text, "Exception").verdict is Verdict.DIFFERENT
    assert judged(check, results, text, "ValueError").verdict is Verdict.NOT_REPRODUCED


@pytest.mark.parametrize(
    ("claimed", "stdout", "verdict"),
    [
        ("variance -0.25", "variance 0.5\n", Verdict.NOT_REPRODUCED),
        # It is still negative, it is nan, or the claimed number broke no bound.
        ("variance -0.25", "variance -0.5\n", Verdict.DIFFERENT),
        ("variance -0.25", "variance nan\n", Verdict.DIFFERENT),
        ("variance -0.25", "variance inf\n", Verdict.DIFFERENT),
        ("variance 0.25", "variance 0.5\n", Verdict.DIFFERENT),
        ("variance -0.25 mean 3.5", "variance 0.5 mean 4.5\n", Verdict.DIFFERENT),
    ],
)
def test_a_value_that_keeps_the_bounds_is_the_end_of_one_that_broke_them(
    claimed: str, stdout: str, verdict: Verdict
) -> None:
    check = Check(text=claimed, kind=CheckKind.OUTPUT, lines=(claimed,))
    claim = Claim(checks=(check,), right_bounds=(Bounds(least=0),))
    assert judge_job(claim, script(), CPU, several(3, stdout)).verdict is verdict


@pytest.mark.parametrize(
    ("stdout", "found"),
    [
        ("1.07\n", CheckResult.MET),
        ("0.5\n", CheckResult.ABSENT),
        ("nan\n", CheckResult.OTHER),
        ("", CheckResult.UNREACHED),
        # A line above the last one may show an input.
        ("x = 3\np = 0.5\n", CheckResult.UNREACHED),
        ("x = 0.5\np = 3\n", CheckResult.MET),
        ("[0.5, 1.5]\n", CheckResult.MET),
    ],
)
def test_a_printed_value_breaks_a_bound(stdout: str, found: CheckResult) -> None:
    check = Check(text="p > 1", kind=CheckKind.OUT_OF_BOUNDS, bounds=Bounds(most=1))
    assert judge_bounds(check, result(stdout)) is found


def test_random_numbers_are_evidence_where_their_bound_is_at_issue() -> None:
    check = Check(text="tensor(0.7762)", kind=CheckKind.OUTPUT, lines=("tensor(0.7762)",))
    claim = Claim(checks=(check,), right_bounds=(Bounds(most=0),), text="sometimes the value is positive")
    results = [*several(2, "tensor(0.4412)\n"), result("tensor(-3.1415)\n", attempt="z")]
    assert judge_job(claim, script(unseeded=True), CPU, results).verdict is Verdict.FLAKY


def test_the_cause_of_another_error_is_not_the_claimed_one_where_its_type_is_at_issue() -> None:
    bug = Check(text="AttributeError: no split", kind=CheckKind.EXCEPTION, exception_type="AttributeError")
    right = Check(
        text="CreationError", kind=CheckKind.EXCEPTION, role=Role.EXPECTED, exception_type="CreationError"
    )
    cause = "The above exception was the direct cause of the following exception:"
    chain = f"{HEAD}AttributeError: no split\n\n{cause}\n\n"
    results = several(3, raised=("ValueError", "no text"), stderr=f"{chain}{HEAD}ValueError: no text\n")
    alone = judge_job(Claim(checks=(bug,)), script(), CPU, results)
    assert alone.verdict is Verdict.REPRODUCED
    assert judge_job(Claim(checks=(bug, right)), script(), CPU, results).verdict is Verdict.DIFFERENT
