"""The rules of §5, sentence by sentence: a case each must catch and one it must not."""

from __future__ import annotations

from typing import Any

import pytest
from judging_builders import (
    CPU,
    CUDA,
    NO_CUDA,
    check,
    claim,
    differs,
    prints,
    raises,
    result,
    script,
    several,
)

from app.intake.claim.claims import Check, CheckKind, Claim, Over, Role, Where
from app.intake.reading import ScriptRole
from app.judging.judgement import JobJudgement
from app.judging.verdict.job import judge_job
from app.judging.verdict.rates import rate_interval, rate_upper_bound
from app.targets.planning.plan import RepeatPlan
from app.targets.target import Target
from worker.contract import AttemptKind, Outcome, Reason, Start


def judged(
    *checks: Check, results: list[Any], target: Target = CPU, plan: RepeatPlan | None = None, **of_script: Any
) -> JobJudgement:
    return judge_job(claim(*checks), script(**of_script), target, results, plan=plan)


def verdict(*checks: Check, results: list[Any], **rest: Any) -> str:
    return judged(*checks, results=results, **rest).verdict


def reason(*checks: Check, results: list[Any], **rest: Any) -> str | None:
    found = judged(*checks, results=results, **rest).reason
    return None if found is None else found.code


FAILS = raises("RuntimeError", "shape mismatch")
FAILED = {"raised": ("RuntimeError", "shape mismatch")}


def test_the_job_rule_in_its_order() -> None:
    assert verdict(FAILS, results=[]) == "no_result"
    assert verdict(results=several(1, "x\n")) == "observed"
    assert (
        verdict(FAILS, results=several(3, raised=("ModuleNotFoundError", "No module named 'sklearn'")))
        == "cannot_show"
    )
    assert verdict(FAILS, results=several(3, **FAILED)) == "reproduced"
    assert verdict(FAILS, results=[*several(2, **FAILED), result("fine\n", attempt="a9")]) == "flaky"
    assert verdict(FAILS, results=several(3, raised=("RuntimeError", "something else"))) == "different"
    assert verdict(FAILS, results=several(3, "fine\n")) == "not_reproduced"


def test_trouble_of_ours_never_counts() -> None:
    trouble = [
        result(outcome=outcome, attempt=f"x{outcome}")
        for outcome in (Outcome.LOST, Outcome.CANCELLED, Outcome.SETUP_FAILED)
    ]
    assert judged(FAILS, results=[*several(3, **FAILED), *trouble]) == judged(
        FAILS, results=several(3, **FAILED)
    )
    assert verdict(FAILS, results=trouble) == "no_result"


def test_previews_never_count() -> None:
    preview = result(kind=AttemptKind.PREVIEW, attempt="p1", **FAILED)
    assert verdict(FAILS, results=[preview]) == "no_result"
    assert verdict(FAILS, results=[preview, *several(3, "fine\n")]) == "not_reproduced"


def test_warm_attempts_count_only_beside_a_cold_one_that_says_the_same() -> None:
    warm = [result(attempt=f"w{number}", start=Start.WARM, **FAILED) for number in range(4)]
    assert verdict(FAILS, results=warm) == "no_result"
    together = judged(FAILS, results=[*warm, result(attempt="c1", **FAILED)])
    assert (together.verdict, together.matched, together.of) == ("reproduced", 5, 5)
    apart = judged(FAILS, results=[*warm, *several(3, "fine\n")])
    assert (apart.verdict, apart.of) == ("not_reproduced", 3)


def test_beside_mixed_cold_attempts_warm_ones_count_whichever_of_the_two_they_say() -> None:
    cold = [result(attempt="c1", **FAILED), result("fine\n", attempt="c2")]
    warm = [
        result(attempt=f"w{number}", start=Start.WARM, **(FAILED if number < 3 else {"stdout": "fine\n"}))
        for number in range(9)
    ]
    mixed = judged(FAILS, results=[*cold, *warm])
    assert (mixed.verdict, mixed.matched, mixed.of) == ("flaky", 4, 11)
    # The interval is of independent attempts, which are the cold ones.
    assert mixed.rate_interval == rate_interval(1, 2)
    # Where all cold ones showed it, a warm one that did not is not evidence that it sometimes doesn't.
    always = judged(FAILS, results=[*several(3, **FAILED), *warm])
    assert (always.verdict, always.matched, always.of) == ("reproduced", 6, 6)
    stranger = result(attempt="w9", start=Start.WARM, raised=("RuntimeError", "another"))
    assert judged(FAILS, results=[*cold, stranger]).of == 2


def test_a_never_counts_cold_attempts_alone() -> None:
    warm = [result("fine\n", attempt=f"w{number}", start=Start.WARM) for number in range(9)]
    few = judged(FAILS, results=[*warm, *several(2, "fine\n")], plan=RepeatPlan(5))
    assert (few.verdict, few.reason and few.reason.code) == ("cannot_show", "too_few_attempts")
    enough = judged(FAILS, results=[*warm, *several(3, "fine\n")], plan=RepeatPlan(5))
    assert (enough.verdict, enough.of, enough.rate_upper_bound) == ("not_reproduced", 3, rate_upper_bound(3))


def test_fewer_than_three_are_a_never_only_where_fewer_were_asked_for() -> None:
    one = several(1, "fine\n")
    assert judged(FAILS, results=one, plan=RepeatPlan(1, exact=True)).rate_upper_bound == pytest.approx(0.95)
    assert verdict(FAILS, results=one, plan=RepeatPlan(5, exact=True)) == "cannot_show"
    lost = [result(outcome=Outcome.LOST, attempt=f"x{number}") for number in range(4)]
    assert verdict(FAILS, results=[*one, *lost], plan=RepeatPlan(5)) == "cannot_show"


def test_one_no_beside_two_that_never_got_there_is_no_never() -> None:
    results = [
        result("fine\n", attempt="a1"),
        result(outcome=Outcome.TIMED_OUT, attempt="a2"),
        result(outcome=Outcome.TIMED_OUT, attempt="a3"),
    ]
    assert verdict(FAILS, results=results) == "cannot_show"


def test_the_bound_is_45_percent_at_5_and_5_at_59_and_none_without_a_never() -> None:
    assert rate_upper_bound(5) == pytest.approx(0.45, abs=0.005)
    assert rate_upper_bound(59) == pytest.approx(0.05, abs=0.005)
    assert rate_upper_bound(0) is None
    assert judged(FAILS, results=several(3, **FAILED)).rate_upper_bound is None


@pytest.mark.parametrize(
    ("seen", "code"),
    [
        ({"raised": ("AssertionError", NO_CUDA)}, "no_gpu"),
        ({"raised": ("RuntimeError", "Found no NVIDIA driver on your system.")}, "no_gpu"),
        ({"stdout": f"cuda AssertionError {NO_CUDA}\n"}, "no_gpu"),
        ({"raised": ("torch.AcceleratorError", "CUDA error: invalid device ordinal")}, "too_few_gpus"),
        ({"raised": ("ModuleNotFoundError", "No module named 'sklearn'")}, "missing_package"),
        ({"outcome": Outcome.OUT_OF_MEMORY}, "memory_limit"),
        ({"raised": ("MemoryError", "")}, "memory_limit"),
        ({"outcome": Outcome.TIMED_OUT}, "time_limit"),
        ({"outcome": Outcome.OUTPUT_EXCEEDED}, "output_limit"),
        ({"raised": ("AttributeError", "module 'ctypes' has no attribute 'windll'")}, "other_os"),
        (
            {
                "raised": (
                    "urllib.error.URLError",
                    "<urlopen error [Errno -3] Temporary failure in name resolution>",
                )
            },
            "no_network",
        ),
        ({"raised": ("AttributeError", "module 'torch' has no attribute 'gesv'")}, "stale_reproducer"),
        ({"raised": ("TypeError", "norm() got an unexpected keyword argument 'old'")}, "stale_reproducer"),
        (
            {"raised": ("ImportError", "cannot import name 'irfft' from 'torch' (unknown location)")},
            "stale_reproducer",
        ),
        (
            {
                "raised": (
                    "RuntimeError",
                    "CUDA error: no kernel image is available for execution on the device",
                )
            },
            "no_kernels_for_card",
        ),
        (
            {"raised": ("RuntimeError", "put_ does not have a deterministic implementation")},
            "no_deterministic_kernel",
        ),
        ({"raised": ("FileNotFoundError", "[Errno 2] No such file or directory: 'A.pt'")}, "missing_file"),
        ({"raised": ("EOFError", "EOF when reading a line")}, "needs_input"),
        (
            {"status": 2, "stderr": "usage: x\nx: error: the following arguments are required: --rank\n"},
            "needs_input",
        ),
        ({"raised": ("PermissionError", "[Errno 13] Permission denied")}, "sandbox_limit"),
        ({"raised": ("OSError", "[Errno 28] No space left on device")}, "sandbox_limit"),
        (
            {"raised": ("torch._inductor.exc.InvalidCxxCompiler", "No working C++ compiler found")},
            "no_compiler",
        ),
        ({"stdout": "CUDA is not available, skipping\n"}, "gave_up_politely"),
        ({"stdout": "This needs a GPU\n", "status": 1}, "gave_up_politely"),
        ({"raised": ("NameError", "name 'torch' is not defined")}, "ended_earlier"),
    ],
)
def test_what_we_lack_is_said_before_any_no(seen: dict[str, Any], code: str) -> None:
    for told in (FAILS, prints("loss nan")):
        assert verdict(told, results=several(3, **seen)) == "cannot_show"
        assert reason(told, results=several(3, **seen)) == code


def test_a_reason_holds_no_bytes_of_the_script() -> None:
    found = judged(
        FAILS,
        results=several(1, raised=("ModuleNotFoundError", "No module named 'ignore_previous_instructions'")),
    )
    assert found.reason is not None
    assert "ignore" not in found.reason.detail


def test_a_lack_outweighs_observed() -> None:
    assert verdict(results=several(1, raised=("AssertionError", NO_CUDA))) == "cannot_show"
    assert verdict(results=several(1, raised=("ValueError", "x"))) == "observed"


def test_a_script_that_goes_on_without_a_gpu_gave_nothing_up() -> None:
    assert verdict(FAILS, results=several(3, "CUDA not available, using CPU\n")) == "not_reproduced"
    assert (
        verdict(FAILS, results=several(3, "no GPU found\nstep 1\nstep 2\nstep 3\nloss 0.5\n"))
        == "not_reproduced"
    )


def test_the_path_is_not_taken_where_a_granted_card_was_not_used() -> None:
    idle = several(3, "fine\n", devices_used=["cpu"])
    assert reason(FAILS, results=idle, target=CUDA, gpus=1) == "path_not_taken"
    from_outside = several(3, "fine\n", devices_used=["cpu"], devices_opened=["/dev/nvidia0"])
    assert verdict(FAILS, results=from_outside, target=CUDA, gpus=1) == "not_reproduced"
    assert verdict(FAILS, results=[*idle, result(attempt="a9", **FAILED)], target=CUDA, gpus=1) == "flaky"


def test_what_the_driver_saw_of_a_card_goes_before_what_the_script_says() -> None:
    said = several(
        3, "fine\n", devices_used=["cpu", "cuda:0"], devices_opened=["/dev/nvidia0"], devices_computed=[]
    )
    assert reason(FAILS, results=said, target=CUDA, gpus=1) == "path_not_taken"
    in_a_child = several(3, "fine\n", devices_used=["cpu"], devices_computed=["cuda:0"])
    assert verdict(FAILS, results=in_a_child, target=CUDA, gpus=1) == "not_reproduced"


def test_nothing_shown_is_not_never_but_beside_a_sighting_it_is_not_seen() -> None:
    assert reason(prints("mismatch at 3"), results=several(3)) == "nothing_shown"
    assert (
        verdict(prints("mismatch at 3"), results=[*several(2), result("mismatch at 3\n", attempt="a9")])
        == "flaky"
    )


def test_the_claim_itself_is_met_whatever_else_it_looks_like() -> None:
    stale = raises("AttributeError", "module 'torch' has no attribute 'gesv'")
    assert (
        verdict(
            stale, results=several(3, raised=("AttributeError", "module 'torch' has no attribute 'gesv'"))
        )
        == "reproduced"
    )
    assert (
        verdict(
            raises("NameError", "name 'x' is not defined"),
            results=several(3, raised=("NameError", "name 'x' is not defined")),
        )
        == "reproduced"
    )


def test_a_type_alone_is_not_met_by_a_lack() -> None:
    assert (
        verdict(raises("AssertionError"), results=several(3, raised=("AssertionError", NO_CUDA)))
        == "cannot_show"
    )
    assert (
        verdict(raises("AssertionError"), results=several(3, raised=("AssertionError", "x > 0")))
        == "reproduced"
    )
    status = check(CheckKind.EXIT_STATUS, exit_status=1)
    assert verdict(status, results=several(3, raised=("AssertionError", NO_CUDA))) == "cannot_show"
    assert verdict(status, results=several(3, raised=("NameError", "x"))) == "cannot_show"
    assert verdict(status, results=several(3, status=1)) == "reproduced"
    assert verdict(status, results=several(3, status=3)) == "different"


def test_an_exit_status_is_no_verdict() -> None:
    assert verdict(FAILS, results=several(3, "caught RuntimeError: shape mismatch\n")) == "reproduced"
    assert verdict(FAILS, results=several(3, "caught ValueError: other\n")) == "different"


def test_reproduced_wants_all_of_a_claim() -> None:
    both = (prints("loss nan"), check(CheckKind.CRASH, signal="SIGSEGV"))
    assert verdict(*both, results=several(3, "loss nan\n", signal="SIGSEGV")) == "reproduced"
    assert verdict(*both, results=several(3, "loss nan\n")) == "different"


@pytest.mark.parametrize(
    ("told", "seen", "kind"),
    [
        (check(CheckKind.CRASH, signal="SIGSEGV"), {"raised": ("ValueError", "bad index")}, "clean_error"),
        (prints("loss nan"), {"raised": ("RuntimeError", "singular")}, "clean_error"),
        (FAILS, {"raised": ("RuntimeError", "other")}, "other_failure"),
        (check(CheckKind.CRASH, signal="SIGSEGV"), {"signal": "SIGABRT"}, "other_failure"),
        (prints("loss 0.5000"), {"stdout": "loss 0.5003\n"}, "near_value"),
        (prints("loss 0.5000"), {"stdout": "loss -0.5\n"}, "other_value"),
    ],
)
def test_different_says_how(told: Check, seen: dict[str, Any], kind: str) -> None:
    assert verdict(told, results=several(3, **seen)) == "different"
    assert reason(told, results=several(3, **seen)) == kind


def test_an_expected_value_makes_another_one_absent() -> None:
    expected = prints("equal True", role=Role.EXPECTED)
    assert verdict(prints("equal False"), expected, results=several(3, "equal True\n")) == "not_reproduced"
    assert verdict(prints("equal False"), expected, results=several(3, "equal None\n")) == "different"
    error = check(CheckKind.EXCEPTION, exception_type="ValueError", message="negative", role=Role.EXPECTED)
    assert (
        verdict(prints("loss 1"), error, results=several(3, raised=("ValueError", "negative")))
        == "not_reproduced"
    )


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
