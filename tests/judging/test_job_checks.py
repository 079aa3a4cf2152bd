"""Checks of each kind within a job: values, hangs, sides, repeats and places."""

from __future__ import annotations

from typing import Any

from job_verdicts import FAILED, FAILS, judged, reason, verdict
from judging_builders import (
    CPU,
    CUDA,
    NO_CUDA,
    check,
    claim,
    differs,
    prints,
    result,
    script,
    several,
)

from app.intake.claim.claims import Check, CheckKind, Claim, Over, Role, Where
from app.intake.reading import ScriptRole
from app.judging.verdict.job import judge_job
from app.judging.verdict.rates import rate_upper_bound
from app.targets.planning.plan import RepeatPlan
from worker.contract import Outcome, Reason, Start


def value(number: str, *, role: Role = Role.BUG, **rest: Any) -> Check:
    return check(CheckKind.VALUE, f"value {number}", number=number, role=role, **rest)


def test_a_value_has_a_label_and_a_place() -> None:
    assert verdict(value("0.5", label="loss"), results=several(3, "lr 0.5\nloss 0.7\n")) == "different"
    assert verdict(value("0.5", label="Loss"), results=several(3, "lr 0.1\nloss 0.5\n")) == "reproduced"
    assert verdict(value("0.5", label="loss"), results=several(3, "lr 0.5\n")) == "cannot_show"
    assert verdict(value("0.99", position="last"), results=several(3, "[0.99, -0.99]\n")) == "different"
    assert verdict(value("0.99", position="first"), results=several(3, "[0.99, -0.99]\n")) == "reproduced"
    assert verdict(value("many"), results=several(3, "1\n")) == "cannot_show"


def test_a_short_print_does_not_hide_the_expected_value() -> None:
    told = (value("4450.0"), value("4448.0", role=Role.EXPECTED))
    assert verdict(*told, results=several(3, "4448.0\n")) == "not_reproduced"
    assert verdict(told[0], results=several(3, "4448.0\n")) == "reproduced"


def hang(**rest: Any) -> Check:
    return check(CheckKind.HANG, "hangs", **rest)


def test_a_hang_is_idle_and_a_busy_one_is_not_known() -> None:
    assert verdict(hang(), results=several(3, outcome=Outcome.TIMED_OUT, idle=True)) == "reproduced"
    assert reason(hang(), results=several(3, outcome=Outcome.TIMED_OUT, idle=False)) == "time_limit"
    assert (
        verdict(
            hang(message="all_reduce"),
            results=several(3, outcome=Outcome.TIMED_OUT, idle=False, stacks="in all_reduce"),
        )
        == "reproduced"
    )
    assert verdict(hang(), results=several(3, "done\n")) == "not_reproduced"
    assert verdict(hang(), results=several(3, raised=("ValueError", "x"))) == "different"


def test_output_before_the_kill_still_counts_and_its_lack_does_not() -> None:
    assert (
        verdict(prints("loss nan"), results=several(3, "loss nan\n", outcome=Outcome.TIMED_OUT))
        == "reproduced"
    )
    assert (
        reason(prints("loss nan"), results=several(3, "loss 0.5\n", outcome=Outcome.TIMED_OUT))
        == "time_limit"
    )


def test_our_memory_limit_is_not_the_claimed_one() -> None:
    memory = check(CheckKind.OUT_OF_MEMORY, "runs out of memory")
    assert (
        verdict(memory, results=several(3, raised=("torch.OutOfMemoryError", "CUDA out of memory.")))
        == "reproduced"
    )
    assert (
        reason(memory, results=several(3, outcome=Outcome.OUT_OF_MEMORY, raised=("MemoryError", "")))
        == "memory_limit"
    )
    assert verdict(memory, results=several(3, "fine\n")) == "not_reproduced"
    assert (
        verdict(FAILS, results=several(3, raised=("torch.OutOfMemoryError", "CUDA out of memory.")))
        == "cannot_show"
    )


def test_a_difference_of_two_sides() -> None:
    told = differs("cpu -inf", "cuda -108.34")
    assert verdict(told, results=several(3, "cpu -inf\ncuda -108.34196\n"), target=CUDA) == "reproduced"
    assert verdict(told, results=several(3, "cpu nan\ncuda -108.34196\n"), target=CUDA) == "different"
    assert verdict(told, results=several(3, "cpu -inf\ncuda -inf\n"), target=CUDA) == "not_reproduced"
    assert reason(told, results=several(3, "cpu -inf\ncuda -108.34196\n"), target=CPU) == "no_gpu"
    assert (
        verdict(told, results=several(3, "cpu -inf\n", raised=("ValueError", "x")), target=CUDA)
        == "cannot_show"
    )


def test_a_difference_without_sides_is_observed_and_says_so() -> None:
    assert verdict(differs(), results=several(3, "gap 5e-8\n"), target=CUDA) == "observed"
    assert reason(differs(), results=several(3, "gap 5e-8\n"), target=CUDA) == "no_sides"


VARIES = check(CheckKind.VARIES, "another result every time", over=Over.REPEATS)


def test_repeats_that_vary() -> None:
    other_each_time = [result(f"loss 0.{number}\n", attempt=f"a{number}") for number in range(3)]
    assert verdict(VARIES, results=other_each_time) == "reproduced"
    assert verdict(VARIES, results=[*several(3, "loss 1\n"), result("loss 2\n", attempt="a9")]) == "flaky"
    same = judged(VARIES, results=several(5, "loss 1\n"))
    assert (same.verdict, same.of, same.rate_upper_bound) == ("not_reproduced", 5, rate_upper_bound(4))
    assert reason(VARIES, results=several(1, "loss 1\n")) == "too_few_attempts"
    assert verdict(VARIES, results=several(2, "loss 1\n"), plan=RepeatPlan(5)) == "cannot_show"


def test_processes_may_print_in_any_order() -> None:
    either = [result("rank 0 loss 1.5\nrank 1 loss 2.5\n", attempt="a1")] + [
        result("rank 1 loss 2.5\nrank 0 loss 1.5\n", attempt=f"a{number}") for number in range(2, 6)
    ]
    ranks = "import torch.multiprocessing as mp\nmp.spawn(train, nprocs=2)"
    assert verdict(VARIES, results=either, text=ranks) == "not_reproduced"
    other = result("rank 0 loss 2.5\nrank 1 loss 1.5\n", attempt="a9")
    assert verdict(VARIES, results=[*either, other], text=ranks) == "flaky"
    # One process, and a claim about the order.
    assert verdict(VARIES, results=either) == "flaky"
    order = check(CheckKind.VARIES, "the order of the lines is another every time", over=Over.REPEATS)
    assert verdict(order, results=either, text=ranks) == "flaky"


def test_equal_failures_and_equal_silence_do_not_clear_a_varying_result() -> None:
    assert reason(VARIES, results=several(3, raised=("NameError", "x"))) == "ended_earlier"
    assert reason(VARIES, results=several(3, raised=("ValueError", "x"))) == "ended_earlier"
    assert reason(VARIES, results=several(3)) == "nothing_shown"
    assert reason(VARIES, results=several(3, raised=("AssertionError", NO_CUDA))) == "no_gpu"


def test_warm_repeats_say_nothing_of_a_varying_result() -> None:
    warm = [result(f"loss 0.{number}\n", attempt=f"w{number}", start=Start.WARM) for number in range(3)]
    assert verdict(VARIES, results=[*warm, *several(3, "loss 1\n")]) == "not_reproduced"


def placed(**where: str) -> Check:
    return FAILS.model_copy(update={"where": Where(**where)})


def test_a_claim_about_another_place_is_not_answered_with_no() -> None:
    found = {"environment": {"torch.version": "2.13.0+cpu", "os.name": "Ubuntu 24.04"}}
    assert reason(placed(device="cuda"), results=several(3, "fine\n", **found)) == "no_gpu"
    assert reason(placed(version="1.13"), results=several(3, "fine\n", **found)) == "other_version"
    assert reason(placed(os="Windows"), results=several(3, "fine\n", **found)) == "other_os"
    assert (
        reason(placed(device="cpu"), results=several(3, "fine\n", devices_used=["cuda:0"]), target=CUDA)
        == "other_device"
    )
    for where in ({"version": "2.13.0"}, {"os": "Linux"}, {"device": "cpu"}):
        assert verdict(placed(**where), results=several(3, "fine\n", **found)) == "not_reproduced"
    assert verdict(placed(version="1.13"), results=several(3, **FAILED, **found)) == "reproduced"


def test_a_check_that_does_not_speak_of_the_target_is_left_to_the_others() -> None:
    assert verdict(placed(device="cuda"), placed(device="cpu"), results=several(3, **FAILED)) == "reproduced"


def test_details_and_pairs_decide_nothing() -> None:
    detail = prints("loss 1", role=Role.DETAIL)
    found = judged(FAILS, detail, results=several(3, "loss 2\n", **FAILED))
    assert found.verdict == "reproduced"
    assert [(finding.text, finding.result) for finding in found.findings][1] == ("loss 1", "other")
    pair = differs().model_copy(update={"over": Over.PAIR})
    assert verdict(pair, results=several(3, "1\n")) == "observed"


def test_the_reason_of_trouble_is_cut_short() -> None:
    broken = result(outcome=Outcome.SETUP_FAILED).model_copy(
        update={"reason": Reason(code="sandbox_failed", detail="x" * 5000)}
    )
    found = judge_job(Claim(), script(), CPU, [broken])
    assert found.reason is not None
    assert len(found.reason.detail) == 300


def is_value(number: str, text: str, *, role: Role = Role.BUG) -> Check:
    return check(CheckKind.VALUE, text, role=role, number=number)


def test_a_line_that_tells_the_claimed_and_the_expected_value_says_nothing_where_others_do() -> None:
    claimed = [
        is_value("17", "prints 17 instead of 18"),
        is_value("18", "prints 17 instead of 18", role=Role.EXPECTED),
    ]
    echo = "Bug: prints 17 instead of 18\n"
    assert verdict(*claimed, results=several(3, f"{echo}result 18\n")) == "not_reproduced"
    assert verdict(*claimed, results=several(3, f"{echo}result 17\n")) == "reproduced"
    assert verdict(*claimed, results=several(3, "got 17 expected 18\n")) == "reproduced"
    assert verdict(*claimed, results=several(3, f"{echo}done\n")) == "reproduced"


def test_a_duration_is_no_value_of_another_machine() -> None:
    claimed = [
        is_value("3", "takes 3 seconds, expected 0.1 s"),
        is_value("0.1", "takes 3 seconds, expected 0.1 s", role=Role.EXPECTED),
    ]
    assert reason(*claimed, results=several(3, "took 0.5 s\n")) == "absolute_time"
    assert reason(prints("took 0.31 s"), results=several(3, "took 0.5 s\n")) == "absolute_time"
    assert verdict(prints("loss 3 after 0.31 s"), results=several(3, "loss 4 after 0.31 s\n")) == "different"
    assert verdict(is_value("3", "prints 3, sometimes"), results=several(3, "5\n")) == "different"


def test_a_device_that_no_target_grants_is_elsewhere() -> None:
    on_mps = is_value("0.0", "prints 0.0 on MPS").model_copy(update={"where": Where(device="mps")})
    assert reason(on_mps, results=several(3, "1.0\n")) == "other_device"


def test_a_control_is_observed_unless_it_shows_the_bug_as_well() -> None:
    told, control = claim(prints("6.0")), script(role=ScriptRole.CONTROL)
    seen = judge_job(told, control, CPU, several(3, "5.0\n"))
    assert (seen.verdict, seen.of, seen.findings) == ("observed", 3, ())
    assert judge_job(told, script(), CPU, several(3, "5.0\n")).verdict == "different"
    assert judge_job(told, control, CPU, several(3, "6.0\n")).verdict == "reproduced"
    assert judge_job(told, control, CPU, []).verdict == "no_result"
