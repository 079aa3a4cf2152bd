"""Asks a card for known answers, in a sandbox."""

from __future__ import annotations

import threading

import structlog

from worker.cards import nvml
from worker.cards.health import Answer, read_answer
from worker.contract import GIB, Gpu, Limits
from worker.harness import HARNESS_CONFIG_PATH, known_answer_source
from worker.sandbox import Ending, Sandbox, SandboxJob
from worker.toolchains import Toolchain

_PROGRAM_PATH = "/run/samehere/known_answer.py"
_MEMORY_BYTES = 8 * GIB
_log = structlog.get_logger(__name__)


def ask_card(
    gpu: Gpu, toolchain: Toolchain, sandbox: Sandbox, *, memory_bytes: int
) -> tuple[Answer | None, str]:
    """The answer of a card, or None and why there is none. `memory_bytes` of its memory are checked."""
    job = SandboxJob(
        argv=(toolchain.python_inside, _PROGRAM_PATH, str(memory_bytes)),
        files={_PROGRAM_PATH: known_answer_source(), HARNESS_CONFIG_PATH: b"{}"},
        binds=toolchain.binds,
        variables={"CUBLAS_WORKSPACE_CONFIG": ":4096:8"},
        devices=nvml.device_nodes([gpu]),
        limits=Limits(wall_seconds=120.0, memory_bytes=_MEMORY_BYTES),
    )
    result = sandbox.run(job, cancelled=threading.Event())
    if result.ending is not Ending.EXITED or result.exit_status != 0:
        output = result.stderr.tail or result.stderr.head
        _log.warning(
            "card_check_failed",
            ending=result.ending,
            exit_status=result.exit_status,
            said=output[-2000:].decode("utf-8", "replace"),
        )
        return None, f"its check ended with {result.ending} and exit status {result.exit_status}"
    answer = read_answer(result.stdout.head)
    return answer, "" if answer else "its check gave no readable answer"
