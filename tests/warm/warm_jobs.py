"""Runs the same program cold and warm in one slot."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, replace

from worker.contract import MIB, Limits
from worker.harness import HARNESS_CONFIG_PATH, harness_sources
from worker.sandbox import Answer, Gate, Sandbox, SandboxJob, SandboxResult
from worker.toolchains import Toolchain
from worker.warm.pool import WarmPool

# The lowest limit of processes on any number of cores, so
# that a fork bomb does not hit the memory limit first.
SMALL = Limits(wall_seconds=60, memory_bytes=1024 * MIB, scratch_bytes=32 * MIB, processes_per_core=1)
SCRIPT_PATH = "/home/u/script.py"


class FreeCards:
    """Cards that are always free."""

    def touch(self) -> Answer:
        return Answer.OPEN

    def fail(self, why: str) -> None:
        raise AssertionError(why)

    def leave(self) -> None:
        """There is no line."""


@dataclass(frozen=True)
class Both:
    """Runs programs cold and warm, without asking whether they may start warm."""

    sandbox: Sandbox
    pool: WarmPool
    toolchain: Toolchain
    devices: tuple[str, ...] = ()
    # The gate of the next job, if jobs get their devices through one.
    make_gate: Callable[[], Gate] | None = None

    def job(self, script: str, *, limits: Limits = SMALL, settings: str = "{}") -> SandboxJob:
        return SandboxJob(
            argv=(self.toolchain.python_inside, SCRIPT_PATH),
            files={
                SCRIPT_PATH: script.encode(),
                **harness_sources(),
                HARNESS_CONFIG_PATH: (
                    f'{{"report_fd": @REPORT_FD@, "report_bytes": 1000000, "settings": {settings}}}'
                ).encode(),
            },
            variables={"PYTHONHASHSEED": "1"},
            binds=self.toolchain.binds,
            devices=self.devices,
            gated=self.make_gate is not None,
            limits=limits,
        )

    def prepare(self) -> None:
        """Prepare an interpreter for the next job."""
        self.pool.prepare(self.sandbox, self.job(""), ending=lambda: False)

    def warm(
        self, script: str, *, cancelled: threading.Event | None = None, **options: object
    ) -> SandboxResult:
        with self.pool.lend(self.sandbox, self.job(script, **options)) as loan:  # type: ignore[arg-type]
            return self.sandbox.run(
                loan.job,
                cancelled=cancelled or threading.Event(),
                backend=loan.zygote,
                gate=self.make_gate and self.make_gate(),
            )

    def cold(self, script: str, *, hash_seed: str = "1", **options: object) -> SandboxResult:
        job = self.job(script, **options)  # type: ignore[arg-type]
        return self.sandbox.run(
            replace(job, variables={"PYTHONHASHSEED": hash_seed}),
            cancelled=threading.Event(),
            gate=self.make_gate and self.make_gate(),
        )

    def output_of(self, script: str, **options: object) -> tuple[str, str]:
        """The program's output in a cold and in a warm start."""
        results = self.cold(script, **options), self.warm(script, **options)
        for result in results:
            assert (result.ending, result.exit_status) == ("exited", 0), (result, result.stderr.head.decode())
        cold, warm = (result.stdout.head.decode() for result in results)
        return cold, warm
