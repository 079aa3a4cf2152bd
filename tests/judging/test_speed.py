"""Claims of speed: times as scripts print them, the ratio with its spread, and versions on two targets."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from judging_builders import CPU, check, claim, result, script

from app.intake.claim.claims import CheckKind, Over
from app.judging.check.speed import judge_ratios, spread
from app.judging.judgement import CheckResult, JobJudgement, JudgedCell, Verdict
from app.judging.output.durations import durations_of_sides
from app.judging.verdict.job import judge_job
from app.judging.verdict.pairs import judge_pairs


@pytest.mark.parametrize(
    ("stdout", "sides", "seconds"),
    [
        ("cpu: 0.12 s\ncuda: 40 ms", ("cpu", "cuda"), (0.12, 0.04)),
        ("eager 12.3 ms / compiled 40.1 ms", ("eager", "compiled"), (0.0123, 0.0401)),
        ("eager took 3us\ncompiled took 1.5e-05 seconds", ("eager", "compiled"), (3e-6, 1.5e-5)),
        ("float32 100 it/s\nfloat64 50 it/s", ("float32", "float64"), (0.01, 0.02)),
        ("numpy: 12.3 ms ± 45 µs per loop\ntorch: 30 ms ± 1 ms per loop", ("numpy", "torch"), (0.0123, 0.03)),
        ("cpu 0.5\ngpu 0.25", ("cpu", "cuda"), (0.5, 0.25)),
        ("cpu time (ms): 12\ngpu time (ms): 6", ("cpu", "cuda"), (0.012, 0.006)),
        ("torch.sort 2 s\nnumpy.sort 1 s", ("torch.sort", "numpy.sort"), (2, 1)),
        ("mine 2 s\nnumpy 1 s", ("", "numpy"), (2, 1)),
        ("eager:\n 10 ms\ncompiled:\n 20 ms", ("eager", "compiled"), (0.01, 0.02)),
        ("cpu 1 s\ncpu 3 s\ncpu 2 s\ncuda 1 s", ("cpu", "cuda"), (2, 1)),
    ],
)
def test_times_of_two_sides(stdout: str, sides: tuple[str, str], seconds: tuple[float, float]) -> None:
    found = durations_of_sides(stdout, sides)
    assert tuple(found[side] for side in sides) == pytest.approx(seconds)


@pytest.mark.parametrize("stdout", ["", "10 s", "cpu: 1 s", "cpu 3 4\ncuda 5 6", "a 1 s\nb 2 s"])
def test_what_gives_no_two_times(stdout: str) -> None:
    assert len(durations_of_sides(stdout, ("cpu", "cuda"))) < 2


@pytest.mark.parametrize(
    ("ratios", "factor", "found"),
    [
        ((1.5, 1.8, 2.0), None, CheckResult.MET),
        ((2.1, 2.9, 3.5), 3.0, CheckResult.MET),
        ((1.2, 1.3, 1.25), 3.0, CheckResult.OTHER),
        ((0.5, 0.6, 0.55), 3.0, CheckResult.ABSENT),
        ((0.97, 1.0, 1.03), None, CheckResult.ABSENT),
        ((0.9, 1.5, 3.0), None, None),
        ((1.02, 1.05, 1.08), None, None),
        ((1.2, 2.5, 9.0), 3.0, None),
    ],
)
def test_the_rule(ratios: Sequence[float], factor: float | None, found: CheckResult | None) -> None:
    assert judge_ratios(spread(ratios), factor) is found


def judged(*outputs: str, factor: float | None = None) -> JobJudgement:
    slower = check(CheckKind.SLOWER, sides=("compiled", "eager"), factor=factor)
    return judge_job(
        claim(slower), script(), CPU, [result(text, attempt=f"a{at}") for at, text in enumerate(outputs)]
    )


def test_a_job_that_is_slower_in_every_attempt() -> None:
    judgement = judged(*(f"eager {ms} ms\ncompiled {2 * ms} ms" for ms in (10, 12, 30)), factor=2)
    assert (judgement.verdict, judgement.matched, judgement.of) == (Verdict.REPRODUCED, 3, 3)
    assert judgement.findings[0].observed == "2..2..2 times"


def test_a_job_that_is_never_slower() -> None:
    assert judged(*["eager 10 ms\ncompiled 5 ms"] * 3).verdict is Verdict.NOT_REPRODUCED


def test_little_of_a_large_slow_down_is_none() -> None:
    assert judged(*["eager 10 ms\ncompiled 14 ms"] * 3, factor=2000).verdict is Verdict.NOT_REPRODUCED
    # Twice the time is something.
    assert judged(*["eager 10 ms\ncompiled 21 ms"] * 3, factor=2000).verdict is Verdict.DIFFERENT
    assert judged(*["eager 10 ms\ncompiled 14 ms"] * 3, factor=5).verdict is Verdict.DIFFERENT


def test_times_across_the_border_are_noise() -> None:
    judgement = judged(
        "eager 10 ms\ncompiled 9 ms", "eager 10 ms\ncompiled 20 ms", "eager 10 ms\ncompiled 30 ms"
    )
    assert (judgement.verdict, judgement.reason and judgement.reason.code) == (
        Verdict.CANNOT_SHOW,
        "too_noisy",
    )


def test_one_time_alone_is_absolute() -> None:
    judgement = judged(*["it took 10 s"] * 3)
    assert (judgement.verdict, judgement.reason and judgement.reason.code) == (
        Verdict.CANNOT_SHOW,
        "no_times",
    )


def test_a_slow_card_needs_a_card() -> None:
    slower = check(CheckKind.SLOWER, sides=("cuda", "cpu"))
    judgement = judge_job(
        claim(slower), script(), CPU, [result("cpu 1 s\ncuda 2 s", attempt=f"a{at}") for at in range(3)]
    )
    assert (judgement.verdict, judgement.reason and judgement.reason.code) == (Verdict.CANNOT_SHOW, "no_gpu")


def cell(version: str, *outputs: str) -> JudgedCell:
    target = CPU.model_copy(update={"toolchain": f"torch-{version}-cpu"})
    results = tuple(result(text, attempt=f"{version}-{at}") for at, text in enumerate(outputs))
    return JudgedCell(
        job_id=version,
        script="d1",
        target=target,
        judgement=JobJudgement(verdict=Verdict.OBSERVED),
        results=results,
    )


def of_versions(kind: CheckKind, *cells: JudgedCell) -> CheckResult:
    (finding,) = judge_pairs(claim(check(kind, sides=("2.3", "2.2"), over=Over.PAIR)), cells)
    return finding.result


def test_two_versions_are_two_targets() -> None:
    slow, fast = cell("2.3", *["took 2 s"] * 3), cell("2.2", *["took 1 s"] * 3)
    assert of_versions(CheckKind.SLOWER, slow, fast) is CheckResult.MET
    assert (
        of_versions(CheckKind.SLOWER, cell("2.3", *["took 1 s"] * 3), cell("2.2", *["took 2 s"] * 3))
        is CheckResult.ABSENT
    )
    assert of_versions(CheckKind.SLOWER, slow) is CheckResult.UNREACHED
    assert (
        of_versions(CheckKind.DIFFERS, cell("2.3", *["1.5"] * 3), cell("2.2", *["1.25"] * 3))
        is CheckResult.MET
    )
    assert (
        of_versions(CheckKind.DIFFERS, cell("2.3", *["1.5"] * 3), cell("2.2", *["1.5"] * 3))
        is CheckResult.ABSENT
    )
    assert of_versions(CheckKind.DIFFERS, cell("2.3", "1.5"), cell("2.2", "1.5")) is CheckResult.UNREACHED
