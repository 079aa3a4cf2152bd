"""Two attempts side by side."""

from __future__ import annotations

from typing import Any

import pytest
from judging_builders import result

from app.judging.comparison.comparison import compare
from app.judging.comparison.environments import differing_fields, environment_digest
from worker.contract import Outcome


def said(one: Any, other: Any) -> tuple[str, list[str]]:
    made = compare(one, other)
    return made.result, [difference.about for difference in made.differences]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("0.50\n", "0.5\n"),
        ("np.float64(0.5)\n", "0.5\n"),
        ("nan\n", "NaN\n"),
        ("rank 1 a\nrank 0 b\n", "rank 0 b\nrank 1 a\n"),
        ("<f at 0x7f00aabbccdd>\n", "<f at 0x7f0011223344>\n"),
        ("took 1.5 s\n", "took 2.5 s\n"),
        ("a  b\n", "a b\n"),
    ],
)
def test_equal_values_are_equivalent_however_they_are_printed(one: str, other: str) -> None:
    assert said(result(one), result(other)) == ("equivalent", [])


@pytest.mark.parametrize(
    ("one", "other"),
    [("0.5\n", "0.50001\n"), ("0.0\n", "-0.0\n"), ("inf\n", "-inf\n"), ("a\n", "a\na\n"), ("x\n", "")],
)
def test_other_values_are_different(one: str, other: str) -> None:
    made = compare(result(one), result(other))
    assert made.result == "different"
    assert made.first is not None


def test_the_first_difference_is_a_line() -> None:
    made = compare(result("same\nloss 1\n"), result("same\nloss 2\n"))
    assert made.first is not None
    assert (made.first_line, made.first.baseline, made.first.candidate) == (2, "loss 1", "loss 2")


def test_a_difference_far_down_is_found() -> None:
    lines = "".join(f"line {number}\n" for number in range(5000))
    made = compare(result(lines + "1\n"), result(lines + "2\n"))
    assert (made.result, made.first_line) == ("different", 5001)


def test_how_it_ended_comes_first() -> None:
    result_, about = said(result("a\n"), result("b\n", raised=("ValueError", "at 0x7f00aabbccdd")))
    assert result_ == "different"
    assert about[:4] == ["outcome", "exit_status", "exception", "stdout"]
    one, other = (result(raised=("ValueError", f"at 0x7f00aabbcc{end}")) for end in ("dd", "ee"))
    assert said(one, other)[0] == "identical"


def test_stderr_flags_and_environment_are_listed_and_decide_nothing() -> None:
    one = result(
        "a\n",
        stderr="warning\n",
        flags={"deterministic": False},
        environment={"os.name": "x", "blas.path": "mkl:avx2"},
    )
    other = result(
        "a\n",
        stderr="other\n",
        flags={"deterministic": True},
        environment={"os.name": "y", "blas.path": "mkl:avx512"},
    )
    assert said(one, other) == (
        "equivalent",
        ["flag: deterministic", "stderr", "environment: blas.path", "environment: os.name"],
    )


def test_what_we_cut_off_cannot_be_compared() -> None:
    assert said(result("a\n"), result("a\n", outcome=Outcome.TIMED_OUT))[0] == "incomparable"
    assert said(result("a\n"), result(outcome=Outcome.LOST))[0] == "incomparable"
    one, other = (result("a\n", outcome=Outcome.TIMED_OUT, idle=True) for _ in range(2))
    assert said(one, other)[0] == "identical"


def test_a_part_that_was_not_kept_may_differ() -> None:
    one, other = (result("a\n", truncated=True, stdout_digest=digest) for digest in ("x", "y"))
    assert said(one, other) == ("different", ["stdout"])
    assert said(one, one)[0] == "identical"


def test_long_values_are_cut() -> None:
    made = compare(result("x" * 5000), result("y" * 5000))
    assert all(len(difference.baseline) <= 301 for difference in made.differences)


def test_a_digest_is_of_what_is_said_and_not_of_its_order() -> None:
    assert environment_digest({"a": 1, "b": ["x"]}) == environment_digest({"b": ["x"], "a": 1})
    assert environment_digest({"a": 1}) != environment_digest({"a": "1"})
    assert environment_digest({}).startswith("sha256:")


def test_the_likeliest_culprit_comes_first() -> None:
    one = {"os.kernel": "1", "package.numpy": "1", "blas.path": "a", "torch.version": "2.1", "zzz": 1}
    other = {"os.kernel": "2", "package.numpy": "2", "blas.path": "b", "torch.version": "2.2", "zzz": 1}
    assert differing_fields(one, other) == ["blas.path", "torch.version", "package.numpy", "os.kernel"]
