"""The rules of §5, sentence by sentence: a case each must catch and one it must not."""

from __future__ import annotations

from typing import Any

import pytest
from job_verdicts import FAILED, FAILS, judged, reason, verdict
from judging_builders import (
    CUDA,
    NO_CUDA,
    check,
    prints,
    raises,
    result,
    several,
)

from app.intake.claim.claims import Check, CheckKind, Role
from app.judging.verdict.rates import rate_interval, rate_upper_bound
from app.targets.planning.plan import RepeatPlan
from worker.contract import AttemptKind, Outcome, Start


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
