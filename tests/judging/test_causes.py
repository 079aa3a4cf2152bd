"""Causes of a difference: between two attempts, and by a cell that tests for one."""

from __future__ import annotations

from typing import Any

import pytest
from judging_builders import CPU, CUDA, claim, differs, result, script, several

from app.intake.reading import Reading, Script
from app.judging.cause.cause import cause_of_pair
from app.judging.cause.random_draws import compares_draws_of_devices
from app.judging.judgement import JudgedCell
from app.judging.verdict.job import judge_job
from app.judging.verdict.run import judge_run
from app.targets.target import Target
from worker.contract import Result
from worker.contract.trace import Trace, TracedOperation

DRAWS = "print(torch.rand(3, device=device))"
FILLED = CPU.model_copy(update={"settings": {"fill": "nan"}})
TF32_OFF = CUDA.model_copy(update={"settings": {"tf32": "off"}})


@pytest.mark.parametrize(
    ("code", "one", "other", "cause"),
    [
        ("", (CPU, result("1.0\n")), (CUDA, result(raised=("RuntimeError", "bad"))), "error_asymmetry"),
        ("", (CPU, result("1.0\n")), (CUDA, result(signal="SIGSEGV")), "error_asymmetry"),
        (
            "",
            (CPU, result(raised=("RuntimeError", "bad"))),
            (CUDA, result(raised=("RuntimeError", "worse"))),
            "error_asymmetry",
        ),
        (
            "",
            (CPU, result("v 1\n", raised=("ValueError", "at 3"))),
            (CUDA, result("v 2\n", raised=("ValueError", "at 5"))),
            "not_analysed",
        ),
        (DRAWS, (CPU, result("0.25\n")), (CUDA, result("0.75\n")), "random_streams"),
        (DRAWS, (CPU, result("0.25\n")), (CPU, result("0.75\n")), "not_analysed"),
        ("torch.rand(3).cuda()", (CPU, result("0.25\n")), (CUDA, result("0.75\n")), "not_analysed"),
        ("", (CPU, result("4.0\n")), (FILLED, result("nan\n")), "uninitialised_memory"),
        ("", (FILLED, result("nan\n")), (CPU, result("4.0\n")), "uninitialised_memory"),
        ("", (CPU, result("nan\n")), (FILLED, result("4.0\n")), "not_analysed"),
        ("", (CPU, result("4.0\n")), (CUDA, result("nan\n")), "not_analysed"),
        (
            "",
            (CUDA, result("0.25\n", flags={"precision.cuda.matmul": "tf32"})),
            (CUDA, result("0.26\n", flags={"precision.cuda.matmul": "none"})),
            "reduced_precision",
        ),
        (
            "",
            (CUDA, result("0.25\n", flags={"precision.cuda.matmul": "tf32"})),
            (CUDA, result("nan\n", flags={"precision.cuda.matmul": "none"})),
            "not_analysed",
        ),
        (
            "torch.tensor(float('nan')).int()",
            (CPU, result("-2147483648\n")),
            (CUDA, result("0\n")),
            "undefined_conversion",
        ),
        ("torch.ones(3).int()", (CPU, result("-2147483648\n")), (CUDA, result("0\n")), "not_analysed"),
        (
            "torch.linalg.svd(a)",
            (CPU, result("[1.5, -2.5, 3.5]\n")),
            (CUDA, result("[-1.5, 2.5, -3.5]\n")),
            "sign_or_order",
        ),
        (
            "a.sum()",
            (CPU, result("[1.5, -2.5, 3.5]\n")),
            (CUDA, result("[-1.5, 2.5, -3.5]\n")),
            "not_analysed",
        ),
        ("", (CPU, result("1.0\n")), (CUDA, result("1.1\n")), "not_analysed"),
    ],
)
def test_of_two_attempts(
    code: str, one: tuple[Target, Result], other: tuple[Target, Result], cause: str
) -> None:
    assert cause_of_pair(script(code), one, other) == cause


def test_a_missing_seed_explains_two_repeats_unless_unwritten_memory_may() -> None:
    pair = ((CPU, result("1.0\n")), (CPU, result("2.0\n")))
    assert cause_of_pair(script("torch.rand(1)", unseeded=True), *pair) == "unseeded"
    assert cause_of_pair(script("torch.empty(1) + torch.rand(1)", unseeded=True), *pair) == "not_analysed"


def sides(code: Script, **stdout: Any) -> tuple[str | None, str]:
    told = claim(differs())
    cells = []
    for name, text in stdout.items():
        results = several(3, text)
        target = {"plain": CUDA, "without": TF32_OFF}[name]
        judgement = judge_job(told, code, target, results)
        cells.append(
            JudgedCell(
                job_id=name, script=code.digest, target=target, judgement=judgement, results=tuple(results)
            )
        )
    found = judge_run(Reading(scripts=(code,), claim=told), cells)
    return found.cause, found.defect


def test_a_gap_that_goes_without_tf32_is_reduced_precision() -> None:
    wide, narrow = "cpu [1.0, 2.0]\ncuda [1.001, 2.002]\n", "cpu [1.0, 2.0]\ncuda [1.0000001, 2.0000002]\n"
    assert sides(script(), plain=wide, without=narrow) == ("reduced_precision", "no")
    assert sides(script(), plain=wide, without=wide) == ("not_analysed", "undecided")
    assert sides(script(), plain=wide) == ("not_analysed", "undecided")
    assert sides(script(), plain="cpu [1.0, 2.0]\ncuda [nan, 2.0]\n", without=narrow) == (
        "not_analysed",
        "undecided",
    )


# The script counts the elements that differ, and prints neither side.
COUNTS = """
import torch
torch.manual_seed(42)
t_cpu = torch.zeros((2, 3, 3), dtype=torch.float64)
p_cpu = torch.full((2, 3, 3), 0.37, dtype=torch.float64)
r_cpu = t_cpu.clone().bernoulli_(p_cpu)
t_gpu = t_cpu.clone().to("cuda")
r_gpu = t_gpu.bernoulli_(p_cpu.to("cuda"))
back = r_gpu.cpu()
n = (r_cpu != back).sum().item()
print(f"Summary: {n} differences out of 18 elements ({n / 18 * 100:.1f}%)")
"""
DRAWN_ONCE = COUNTS.replace('t_gpu.bernoulli_(p_cpu.to("cuda"))', 'r_cpu.to("cuda")')


@pytest.mark.parametrize(
    ("code", "cause"),
    [(COUNTS, ("random_streams", "no")), (DRAWN_ONCE, ("not_analysed", "undecided"))],
)
def test_a_count_of_differences_between_draws_of_two_devices(code: str, cause: tuple[str, str]) -> None:
    assert sides(script(code), plain="Summary: 9 differences out of 18 elements (50.0%)\n") == cause


@pytest.mark.parametrize(
    ("code", "compares"),
    [
        (COUNTS, True),
        (DRAWN_ONCE, False),
        ("a = torch.rand(3)\nb = a.to('cuda')\nprint((a - b.cpu()).abs().max())", False),
        ("x = torch.rand(3)\na = torch.rand(3, device='cuda')\nprint(x.sin() - x.cuda().sin().cpu())", False),
        ("x = torch.rand(3)\ny = torch.rand(3, device='cuda')\nprint(torch.allclose(x, y.cpu()))", True),
        (
            "def f(d):\n    return torch.rand(3, device=d)\nprint(torch.equal(f('cpu'), f('cuda').cpu()))",
            True,
        ),
        ("def broken(:", False),
    ],
)
def test_draws_of_two_devices_are_compared(code: str, *, compares: bool) -> None:
    assert compares_draws_of_devices(code) is compares


WIDE = "cpu [1.0, 2.0]\ncuda [1.001, 2.002]\n"
TRACED = {
    "number": 1, "name": "aten::mm", "dtype": "torch.float32", "inputs_agree": True, "gap": 1e-7, "relative_gap": 1e-7, "input_gap": 0.0,  # noqa: E501
    "sides": [{"side": "cpu", "explained": True}, {"side": "cuda", "explained": True}],
}  # fmt: skip
SEEN = Trace(
    operations_seen=4,
    pairs=2,
    asked=1,
    answered=1,
    whole=True,
    operations=[TracedOperation.model_validate(TRACED)],
)


def with_trace(
    trace: Trace | None, *, traced: str = WIDE, plain: list[str] | None = None
) -> tuple[str | None, str]:
    told, code = claim(differs()), script()
    on = CUDA.model_copy(update={"settings": {"trace": "on"}})
    cells = []
    for target, results in (
        (CUDA, [result(text) for text in plain or [WIDE] * 3]),
        (on, [result(traced, trace=trace)]),
    ):
        judgement = judge_job(told, code, target, results)
        cells.append(
            JudgedCell(
                job_id=target.label(),
                script=code.digest,
                target=target,
                judgement=judgement,
                results=tuple(results),
            )
        )
    found = judge_run(Reading(scripts=(code,), claim=told), cells)
    return found.cause, found.defect


def test_a_trace_tells_what_nothing_else_does() -> None:
    assert with_trace(SEEN) == ("rounding", "no")
    assert with_trace(SEEN.model_copy(update={"unexplained": 1})) == ("unexplained", "yes")
    assert with_trace(SEEN.model_copy(update={"whole": False})) == ("not_analysed", "undecided")
    assert with_trace(None) == ("not_analysed", "undecided")


def test_a_trace_that_changed_what_is_seen_tells_nothing() -> None:
    assert with_trace(SEEN, traced="cpu [1.0, 2.0]\ncuda [1.0, 2.0]\n") == ("not_analysed", "undecided")


def test_a_trace_explains_a_flaky_cell_by_an_attempt_that_showed_it() -> None:
    same = "cpu [1.0, 2.0]\ncuda [1.0, 2.0]\n"
    assert with_trace(SEEN, plain=[WIDE, WIDE, same]) == ("rounding", "no")
    assert with_trace(SEEN, plain=[WIDE, WIDE, same], traced=same) == ("not_analysed", "undecided")


def test_a_trace_is_no_verdict() -> None:
    told, code = claim(differs()), script()
    on = CUDA.model_copy(update={"settings": {"trace": "on"}})
    cells = []
    for target, text in ((CUDA, "cpu [1.0]\ncuda [1.0]\n"), (on, WIDE)):
        results = several(5, text)
        judgement = judge_job(told, code, target, results)
        cells.append(
            JudgedCell(
                job_id=target.label(),
                script=code.digest,
                target=target,
                judgement=judgement,
                results=tuple(results),
            )
        )
    assert judge_run(Reading(scripts=(code,), claim=told), cells).verdict == "not_reproduced"
