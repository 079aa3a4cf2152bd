"""Finds the outcome of an attempt: the first in the contract's order that applies, and its reason."""

from __future__ import annotations

import os
import re
import signal
from dataclasses import dataclass

from worker.contract import ExceptionFacts, Limits, Outcome, Reason, WhoCanAct
from worker.contract.names import CARD_NOT_FREE
from worker.sandbox import Ending, SandboxResult
from worker.sandbox.resources.limits import processor_seconds

_ASKED_FOR = re.compile(r"tried to allocate (\d{1,24}) bytes")
_KILLED = 128 + signal.SIGKILL
_FILE_SIZE = Reason(
    code="file_size_limit",
    detail="A file grew beyond what an attempt may write.",
    who_can_act=WhoCanAct.OPERATOR,
)


@dataclass(frozen=True, slots=True)
class AttemptEnd:
    """An outcome, with a reason if one of our limits or actions caused it."""

    outcome: Outcome
    reason: Reason | None = None


def judge_ending(
    result: SandboxResult, limits: Limits, *, exception: ExceptionFacts | None, stderr: str
) -> AttemptEnd:
    ours = _ours(result, limits)
    if ours is not None:
        return ours
    if _died_of_memory(result, limits, exception=exception, stderr=stderr):
        return AttemptEnd(Outcome.OUT_OF_MEMORY, _memory_reason(limits))
    if result.signal is not None:
        return AttemptEnd(Outcome.CRASHED)
    if result.exit_status == 0:
        return AttemptEnd(Outcome.COMPLETED)
    return (
        AttemptEnd(Outcome.EXITED)
        if exception is None
        else AttemptEnd(Outcome.RAISED, _limit_behind(exception))
    )


def signal_name(number: int | None) -> str | None:
    if number is None:
        return None
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"SIG{number}"


def _ours(result: SandboxResult, limits: Limits) -> AttemptEnd | None:
    """The end of an attempt that we stopped; None if it ended by itself."""
    if result.ending is Ending.EXITED:
        return _by_signal_of_a_limit(result, limits)
    outcome, code, detail, who = {
        Ending.NOT_REAPED: (
            Outcome.LOST,
            "not_reaped",
            "The attempt was killed but did not end; its slot stays blocked.",
            WhoCanAct.OPERATOR,
        ),
        Ending.CANCELLED: (Outcome.CANCELLED, "cancelled", "Stopped on request.", WhoCanAct.NOBODY),
        Ending.CARD_NOT_FREE: (
            Outcome.SETUP_FAILED,
            CARD_NOT_FREE,
            f"The attempt did not use its GPU: {result.detail}.",
            WhoCanAct.OPERATOR,
        ),
        Ending.GATE_FAILED: (
            Outcome.SETUP_FAILED,
            "node_fault",
            f"The node failed: {result.detail}.",
            WhoCanAct.OPERATOR,
        ),
        Ending.SETUP_FAILED: (Outcome.SETUP_FAILED, "sandbox_failed", result.detail, WhoCanAct.OPERATOR),
        Ending.WALL_LIMIT: (
            Outcome.TIMED_OUT,
            "time_limit",
            f"Stopped at the limit of {limits.wall_seconds:g} s.",
            WhoCanAct.OPERATOR,
        ),
        Ending.OUTPUT_LIMIT: (
            Outcome.OUTPUT_EXCEEDED,
            "output_limit",
            f"Stopped after {limits.stream_kill_bytes} bytes of output.",
            WhoCanAct.REPORTER,
        ),
        Ending.MEMORY_LIMIT: (
            Outcome.OUT_OF_MEMORY,
            "memory_limit",
            _memory_reason(limits).detail,
            WhoCanAct.OPERATOR,
        ),
    }[result.ending]
    return AttemptEnd(outcome, Reason(code=code, detail=detail, who_can_act=who))


def _by_signal_of_a_limit(result: SandboxResult, limits: Limits) -> AttemptEnd | None:
    """The end by a signal of a limit. A script can send itself SIGXCPU, so the processor time is checked."""
    if result.signal == signal.SIGXCPU and result.cpu_seconds >= processor_seconds(limits):
        reason = Reason(
            code="time_limit",
            detail="Stopped at the limit on processor time.",
            who_can_act=WhoCanAct.OPERATOR,
        )
        return AttemptEnd(Outcome.TIMED_OUT, reason)
    if result.signal == signal.SIGXFSZ:
        return AttemptEnd(Outcome.OUTPUT_EXCEEDED, _FILE_SIZE)
    return None


def _memory_reason(limits: Limits) -> Reason:
    detail = f"More than the limit of {limits.memory_bytes} bytes was asked for."
    return Reason(code="memory_limit", detail=detail, who_can_act=WhoCanAct.OPERATOR)


def _died_of_memory(
    result: SandboxResult, limits: Limits, *, exception: ExceptionFacts | None, stderr: str
) -> bool:
    """Whether our memory limit ended it, and not a request that is too large for any machine."""
    near_limit = result.peak_memory_bytes > limits.memory_bytes // 2
    if result.signal == signal.SIGKILL or result.exit_status == _KILLED:
        return near_limit
    if result.signal == signal.SIGABRT:
        return near_limit and "std::bad_alloc" in stderr[-4096:]
    if exception is None:
        return False
    request = _ASKED_FOR.search(exception.message) if "DefaultCPUAllocator" in exception.message else None
    if request:
        return (
            _fits_the_machine(int(request[1]))
            and result.peak_memory_bytes + int(request[1]) > limits.memory_bytes // 2
        )
    return near_limit and exception.type in {"MemoryError", "numpy._core._exceptions._ArrayMemoryError"}


def _fits_the_machine(size: int) -> bool:
    return size < os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def _limit_behind(exception: ExceptionFacts) -> Reason | None:
    """The limit of ours that the script saw as this error; None if there is none."""
    if exception.type == "OSError" and exception.message.startswith("[Errno 28]"):
        return Reason(
            code="scratch_limit",
            detail="The attempt's scratch space was full.",
            who_can_act=WhoCanAct.OPERATOR,
        )
    if exception.type == "OSError" and exception.message.startswith("[Errno 27]"):
        # Python ignores SIGXFSZ and raises this error instead.
        return _FILE_SIZE
    threads = exception.type == "RuntimeError" and exception.message == "can't start new thread"
    if threads or (exception.type == "BlockingIOError" and exception.message.startswith("[Errno 11]")):
        return Reason(
            code="process_limit",
            detail="The attempt had as many processes and threads as it may have.",
            who_can_act=WhoCanAct.OPERATOR,
        )
    return None
