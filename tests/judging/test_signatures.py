"""A failure is matched by its signature, not by there being one."""

from __future__ import annotations

import pytest
from judging_builders import result

from app.judging.output.failure_signature import (
    crashed_as,
    exceptions_in,
    failures_of,
    mask,
    matches_exception,
    printed_failure,
    prints_exception,
    warnings_in,
)
from worker.contract import ExceptionFacts, Outcome


def same(claimed: tuple[str | None, str | None], seen: tuple[str, str]) -> bool:
    return matches_exception(claimed[0], claimed[1], ExceptionFacts(type=seen[0], message=seen[1]))


@pytest.mark.parametrize(
    ("claimed", "seen"),
    [
        (("IndexError", "index 5 is out of bounds"), ("builtins.IndexError", "index 7 is out of bounds")),
        (
            ("torch.OutOfMemoryError", "CUDA out of memory."),
            ("OutOfMemoryError", "CUDA out of memory. Tried to allocate 1 GiB"),
        ),
        (
            ("torch.cuda.OutOfMemoryError", "CUDA out of memory. Tried 2 GiB (GPU 0)"),
            ("torch.OutOfMemoryError", "CUDA out of memory. Other"),
        ),
        (
            ("RuntimeError", "CUDA error: device-side assert triggered"),
            ("torch.AcceleratorError", "CUDA error: device-side assert triggered\nx"),
        ),
        (
            ("AssertionError", "\nNot equal to tolerance rtol=1e-07\n(mismatch 8.0%)"),
            ("AssertionError", "\nNot equal to tolerance rtol=1e-07\nMismatch"),
        ),
        (("ValueError", None), ("ValueError", "anything")),
        ((None, "lost the draw"), ("AssertionError", "lost the draw")),
        (("IOError", "no such thing"), ("OSError", "no such thing")),
        (
            ("RuntimeError", "at 0x7f00aabb in /home/me/x.py: bad thing"),
            ("RuntimeError", "at 0x7f11ccdd in /home/u/script.py: bad thing"),
        ),
        (
            ("RuntimeError", "The size of tensor a must match…"),
            ("RuntimeError", "The size of tensor a must match the size of tensor b"),
        ),
    ],
)
def test_the_same_failure(claimed: tuple[str | None, str | None], seen: tuple[str, str]) -> None:
    assert same(claimed, seen)


@pytest.mark.parametrize(
    ("claimed", "seen"),
    [
        (("RuntimeError", "shape mismatch"), ("RuntimeError", "out of range")),
        (("RuntimeError", "shape mismatch"), ("ValueError", "shape mismatch")),
        (("RuntimeError", None), ("torch.OutOfMemoryError", "CUDA out of memory")),
        (("AssertionError", "lost the draw"), ("AssertionError", "Torch not compiled with CUDA enabled")),
        (
            ("BackendCompilerFailed", "backend='inductor' raised:\nKeyError: 1"),
            ("BackendCompilerFailed", "backend='inductor' raised:\nTypeError"),
        ),
        (("RuntimeError", "bad"), ("RuntimeError", "badly")),
        (("ValueError", "x"), ("ValueError", "")),
    ],
)
def test_another_failure(claimed: tuple[str | None, str | None], seen: tuple[str, str]) -> None:
    assert not same(claimed, seen)


def test_numbers_addresses_and_paths_are_masked() -> None:
    assert mask("shapes (2x3 and 4x5)") == mask("shapes (8x16 and 32x4)")
    assert mask("shapes (2x3 and 4x5)") != mask("shapes (8x16 or 32x4)")
    assert mask("can't find “x”") == mask("can't find 'x'")
    assert mask("At 0x7f00aabbccdd:  /a/b.py  line 12.") == mask("at 0x7fff00112233: /c/d.py line 7")


TRACEBACK = (
    'Traceback (most recent call last):\n  File "x.py", line 1, in <module>\n    f()\nValueError: no good\n'
)


def test_children_and_threads_show_their_failures() -> None:
    assert [facts.type for facts in exceptions_in(TRACEBACK)] == ["ValueError"]
    assert exceptions_in("ValueError: said without a traceback\n") == []
    child = result(
        raised=("ProcessRaisedException", f"\n-- Process 0 terminated with the following error:\n{TRACEBACK}")
    )
    assert [facts.type for facts in failures_of(child)] == ["ProcessRaisedException", "ValueError"]


def test_a_script_may_print_what_it_caught() -> None:
    assert prints_exception("ValueError", "no good", "cpu ValueError: no good\n")
    assert not prints_exception("ValueError", "no good", "cpu MyValueError: no good\n")
    assert prints_exception(
        "RuntimeError", "the size of tensor a must match", "failed: The size of tensor a must match\n"
    )
    assert not prints_exception("ValueError", None, "ValueError\n")
    assert printed_failure(result("cpu IndexError index out of range\n"))
    assert printed_failure(result(stderr=TRACEBACK))
    assert not printed_failure(result("largest error 1e-5\n"))


def test_a_crash_is_known_by_its_signal() -> None:
    assert crashed_as("SIGSEGV", result(signal="SIGSEGV"))
    assert crashed_as(None, result(signal="SIGABRT"))
    assert not crashed_as("SIGSEGV", result(signal="SIGABRT"))
    assert not crashed_as("SIGSEGV", result(status=139))
    assert crashed_as("SIGSEGV", result(status=139, stderr="Segmentation fault (core dumped)\n"))
    assert crashed_as("SIGSEGV", result("exitcode -11\n"))
    assert crashed_as("SIGSEGV", result("returncode = -11\n"))
    assert not crashed_as("SIGSEGV", result("exit code 11\n"))
    assert not crashed_as("SIGSEGV", result("exitcode -110\n"))
    assert not crashed_as("SIGSEGV", result("Segmentation fault\n"))
    assert crashed_as(
        "SIGSEGV", result(raised=("ProcessExitedException", "process 0 terminated with signal SIGSEGV"))
    )
    assert not crashed_as("SIGSEGV", result(raised=("ValueError", "x")))
    assert not crashed_as("SIGKILL", result(signal="SIGKILL", outcome=Outcome.OUT_OF_MEMORY))


def test_warnings_are_found_where_python_prints_them() -> None:
    stderr = "/home/u/script.py:2: UserWarning: please look\n  warnings.warn('please look')\n"
    assert [(facts.type, facts.message) for facts in warnings_in(stderr)] == [("UserWarning", "please look")]
    assert warnings_in("UserWarning: said by nobody\n") == []


@pytest.mark.parametrize(
    "said", ["bad size of the weights when I call it", "bad size of the weights` on my machine."]
)
def test_the_sentence_of_a_reporter_may_go_on(said: str) -> None:
    assert same(("ValueError", said), ("ValueError", "bad size of the weights"))
    assert not same(("ValueError", said), ("ValueError", "bad size"))
