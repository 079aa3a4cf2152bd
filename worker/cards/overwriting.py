"""Overwrites the memory of a card between attempts, so that the next one can't read what is left there."""

from __future__ import annotations

import threading

import structlog
from pydantic import TypeAdapter, ValidationError

from worker.cards import nvml
from worker.contract import GIB, Gpu, Limits
from worker.harness import HARNESS_CONFIG_PATH, overwrite_source
from worker.sandbox import Ending, Sandbox, SandboxJob
from worker.toolchains import Toolchain

_PROGRAM_PATH = "/run/samehere/overwrite.py"
# A driver keeps so much of a card for itself and for the context.
_REST_BYTES = 4 * GIB
_sizes: TypeAdapter[list[int]] = TypeAdapter(list[int])
_log = structlog.get_logger(__name__)


def overwrite(gpu: Gpu, toolchain: Toolchain, sandbox: Sandbox) -> bool:
    """Overwrite the memory of a card. False if it was not done, or not for nearly all of it."""
    job = SandboxJob(
        argv=(toolchain.python_inside, _PROGRAM_PATH),
        files={_PROGRAM_PATH: overwrite_source(), HARNESS_CONFIG_PATH: b"{}"},
        binds=toolchain.binds,
        devices=nvml.device_nodes([gpu]),
        limits=Limits(wall_seconds=60.0, memory_bytes=4 * GIB),
    )
    result = sandbox.run(job, cancelled=threading.Event())
    try:
        sizes = _sizes.validate_json(result.stdout.head)
    except ValidationError:
        sizes = []
    is_done = result.ending is Ending.EXITED and result.exit_status == 0 and len(sizes) == 1
    if is_done and sizes[0] >= min(gpu.memory_bytes - _REST_BYTES, gpu.memory_bytes // 2):
        return True
    _log.error(
        "card_not_overwritten",
        card=gpu.index,
        ending=result.ending,
        exit_status=result.exit_status,
        sizes=sizes[:9],
        output=result.stderr.head[-500:].decode("utf-8", "replace"),
    )
    return False
