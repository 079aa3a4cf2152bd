"""The ends of attempts: tiny scripts in the real sandbox, and the rules alone where they suffice."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable

import pytest
from pydantic import ValidationError

from worker.attempt.execute import Executor
from worker.attempt.result import text_of
from worker.contract import Attempt, ExceptionFacts, Limits, Outcome, Result
from worker.observation.harness_report import read_report
from worker.observation.outcomes import judge_ending
from worker.observation.tracebacks import read_traceback
from worker.sandbox import Ending, Sandbox, SandboxResult, Stream
from worker.sandbox.job import Level

Execute = Callable[..., Result]
MIB = 1024 * 1024


@pytest.mark.sandbox
@pytest.mark.parametrize(
    ("script", "outcome", "status", "signal"),
    [
        ("print('hello')", Outcome.COMPLETED, 0, None),
        ("raise ValueError('x')", Outcome.RAISED, 1, None),
        ("raise SystemExit(5)", Outcome.EXITED, 5, None),
        ("import os; os._exit(139)", Outcome.EXITED, 139, None),
        ("import ctypes; ctypes.string_at(0)", Outcome.CRASHED, None, "SIGSEGV"),
        ("import os; os.abort()", Outcome.CRASHED, None, "SIGABRT"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", Outcome.CRASHED, None, "SIGKILL"),
    ],
)
def test_endings_of_its_own(
    script: str, outcome: Outcome, status: int | None, signal: str | None, execute: Execute
) -> None:
    result = execute(script)
    assert (result.outcome, result.observation.exit_status, result.observation.signal) == (
        outcome,
        status,
        signal,
    )
    assert result.reason is None
    assert result.level is not None
    assert result.environment


@pytest.mark.sandbox
def test_lines_before_a_crash_are_there_as_on_a_terminal(execute: Execute) -> None:
    result = execute("print('before')\nimport os; os.abort()")
    assert (result.outcome, result.observation.stdout) == (Outcome.CRASHED, "before\n")


@pytest.mark.sandbox
def test_limits_of_ours_are_never_crashes(execute: Execute) -> None:
    slow = execute("print('before')\nimport time\ntime.sleep(60)", limits={"wall_seconds": 2})
    assert (slow.outcome, slow.reason.code if slow.reason else "") == (Outcome.TIMED_OUT, "time_limit")
    assert slow.observation.stdout == "before\n"
    loud = execute("while True: print('x' * 10000)", limits={"stream_kill_bytes": 4 * MIB})
    assert (loud.outcome, loud.reason.code if loud.reason else "") == (
        Outcome.OUTPUT_EXCEEDED,
        "output_limit",
    )
    assert loud.observation.truncated
    greedy = execute(
        "x = []\nwhile True: x.append(bytearray(10_000_000))", limits={"memory_bytes": 300 * MIB}
    )
    assert (greedy.outcome, greedy.reason.code if greedy.reason else "") == (
        Outcome.OUT_OF_MEMORY,
        "memory_limit",
    )


@pytest.mark.sandbox
def test_hostile_bytes_become_text(execute: Execute) -> None:
    result = execute(
        "import sys\nsys.stdout.buffer.write(b'\\xff\\x00\\x1b[31mred\\n')\nraise ValueError('\\ud800\\x00')"
    )
    text = result.model_dump_json()
    assert "\\u0000" not in text
    assert result.observation.stdout == "\ufffd\ufffd\x1b[31mred\n"
    assert Result.model_validate_json(text) == result


@pytest.mark.sandbox
def test_hash_seeds_are_drawn_and_recorded(execute: Execute) -> None:
    script = "import os\nprint(os.environ['PYTHONHASHSEED'])"
    first, second = execute(script), execute(script)
    assert first.observation.stdout.strip() == first.observation.hash_seed
    assert first.observation.hash_seed != second.observation.hash_seed


@pytest.mark.sandbox
def test_refusals_say_why(execute: Execute, executor: Executor, sandbox: Sandbox, toolchain: str) -> None:
    def code(**fields: object) -> str:
        result = execute("print(1)", **fields)
        assert result.outcome is Outcome.SETUP_FAILED
        assert result.reason is not None
        return result.reason.code

    assert code(contract=99) == "unknown_contract"
    assert code(toolchain="not-there") == "unknown_toolchain"
    with pytest.raises(ValidationError):
        code(toolchain="../../etc")
    assert code(device="cuda") == "no_gpu"
    assert code(device="cuda", gpus=2) == "too_few_gpus"
    assert code(settings={"x": "1"}) == "unknown_setting"
    weak = Attempt(attempt_id="a", script="", toolchain=toolchain, required_level=Level.NAMESPACES_CGROUP)
    if not sandbox.level.satisfies(Level.NAMESPACES_CGROUP):
        result = executor.execute(weak, sandbox, granted=[], cancelled=threading.Event())
        assert result.reason is not None
        assert result.reason.code == "level_too_weak"


@pytest.mark.sandbox
def test_a_cancelled_attempt_says_so(executor: Executor, sandbox: Sandbox, toolchain: str) -> None:
    cancelled = threading.Event()
    threading.Timer(0.5, cancelled.set).start()
    attempt = Attempt(attempt_id="a", script="import time; time.sleep(50)", toolchain=toolchain)
    assert executor.execute(attempt, sandbox, granted=[], cancelled=cancelled).outcome is Outcome.CANCELLED


@pytest.mark.sandbox
def test_results_stay_under_their_size(execute: Execute) -> None:
    result = execute("print('\\x01' * 300000)", limits={"result_bytes": 64 * 1024})
    assert len(result.model_dump_json()) <= 64 * 1024
    assert result.observation.truncated


def ended(exception: ExceptionFacts | None = None, stderr: str = "", **fields: object) -> tuple[Outcome, str]:
    result = SandboxResult(**{"ending": Ending.EXITED, "level": Level.NAMESPACES, **fields})  # type: ignore[arg-type]
    found = judge_ending(result, Limits(memory_bytes=1024 * MIB), exception=exception, stderr=stderr)
    return found.outcome, found.reason.code if found.reason else ""


def test_memory_that_our_limit_took_is_told_from_a_request_that_fails_anywhere() -> None:
    def refused(size: int) -> ExceptionFacts:
        message = f"[enforce fail] . DefaultCPUAllocator: can't allocate memory: you tried to allocate {size} bytes. Error code 12"  # noqa: E501
        return ExceptionFacts(type="RuntimeError", message=message)

    assert ended(refused(2**60), exit_status=1) == (Outcome.RAISED, "")
    assert ended(refused(1100 * MIB), exit_status=1) == (Outcome.OUT_OF_MEMORY, "memory_limit")
    assert ended(ExceptionFacts(type="MemoryError"), exit_status=1, peak_memory_bytes=900 * MIB) == (
        Outcome.OUT_OF_MEMORY,
        "memory_limit",
    )
    assert ended(ExceptionFacts(type="MemoryError"), exit_status=1, peak_memory_bytes=9 * MIB) == (
        Outcome.RAISED,
        "",
    )
    assert ended(signal=9, peak_memory_bytes=1000 * MIB) == (Outcome.OUT_OF_MEMORY, "memory_limit")
    assert ended(exit_status=137, peak_memory_bytes=1000 * MIB) == (Outcome.OUT_OF_MEMORY, "memory_limit")
    assert ended(exit_status=137, peak_memory_bytes=MIB) == (Outcome.EXITED, "")


def test_every_ending_has_an_outcome() -> None:
    for ending in Ending:
        outcome, code = ended(ending=ending, exit_status=0)
        assert (outcome is Outcome.COMPLETED) == (ending is Ending.EXITED)
        assert bool(code) == (ending is not Ending.EXITED)
    assert ended(signal=25) == (Outcome.OUTPUT_EXCEEDED, "file_size_limit")
    # A script that sends itself the signal has not used the time.
    assert ended(signal=24) == (Outcome.CRASHED, "")
    assert ended(signal=24, cpu_seconds=1e6) == (Outcome.TIMED_OUT, "time_limit")
    assert ended(ExceptionFacts(type="OSError", message="[Errno 27] File too large"), exit_status=1) == (
        Outcome.RAISED,
        "file_size_limit",
    )
    assert ended(
        ExceptionFacts(type="OSError", message="[Errno 28] No space left on device"), exit_status=1
    ) == (
        Outcome.RAISED,
        "scratch_limit",
    )


def test_tracebacks_are_read_from_their_end() -> None:
    text = 'noise\nTraceback (most recent call last):\n  File "x", line 1, in <module>\n    1/0\nZeroDivisionError: division by zero\n'  # noqa: E501
    assert read_traceback(text) == ExceptionFacts(type="ZeroDivisionError", message="division by zero")
    assert read_traceback(
        text
        + "Traceback (most recent call last):\n  File\ntorch.AcceleratorError: CUDA error\nCompile with X\n"
    ) == ExceptionFacts(type="torch.AcceleratorError", message="CUDA error\nCompile with X")
    assert read_traceback("") is None
    assert read_traceback("KeyError: 1") is None
    assert read_traceback(
        "  File \"/home/u/script.py\", line 2\n    if True\n           ^\nSyntaxError: expected ':'\n"
    ) == ExceptionFacts(type="SyntaxError", message="expected ':'")


def test_a_report_is_hostile() -> None:
    deep = b"[" * 100_000
    lines = [
        deep,
        b"\xff",
        b"null",
        b'{"kind": "end", "devices": ["cuda:0", "<b>", 7, "cuda:\xd9\xa3"], "flags": {"a": {"b": 1}, "B!": 1, "threads": 2, "big": 1e999}}',  # noqa: E501
    ]
    read = read_report(b"\n".join(lines))
    assert read.devices == ["cuda:0"]
    assert read.flags_at_end["threads"] == 2
    assert read.flags_at_end["a"] is None
    assert "B!" not in read.flags_at_end
    json.dumps(read.flags_at_end, allow_nan=False)


def test_left_out_bytes_are_said() -> None:
    assert text_of(Stream(head=b"a", tail=b"b", total_bytes=12)) == "a\n[... 10 bytes left out ...]\nb"
    assert text_of(Stream(head=b"ab\xe2\x82", tail=b"\xac", total_bytes=5)) == "ab€"
