"""Runs the probe once per toolchain, cards and settings, and caches its answer."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import re
import threading
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from worker.contract import Environment, Gpu, Limits
from worker.harness import HARNESS_CONFIG_PATH, HARNESS_PATH, probe_source
from worker.machine.hardware import read_cpu
from worker.machine.scrub import scrub
from worker.sandbox import Ending, Sandbox, SandboxJob
from worker.toolchains import Toolchain

PROBE_PATH = "/run/samehere/probe.py"
_environment: TypeAdapter[Environment] = TypeAdapter(Environment)
_NO_VALUES = re.compile(rb'"report_bytes": \d+')
_SEED = re.compile(rb'"seed": "\d+"')
# The last part of the config.
_PASSAGE = re.compile(rb', "passage": \[.*\](?=\}\Z)', re.DOTALL)
_TEST = re.compile(rb', "(?:trace|fix)": "[a-z-]{2,20}"|"(?:trace|fix)": "[a-z-]{2,20}"(?:, )?')


class ProbeFailedError(Exception):
    """The environment could not be recorded. The message holds nothing of the probe's output."""


class EnvironmentRecorder:
    """Records environments. All slots of a node process share one; its cache files stay after it ends."""

    def __init__(self, cache_folder: Path, *, probe_seconds: float) -> None:
        self._folder = cache_folder / "environments"
        self._limits = Limits(wall_seconds=probe_seconds)
        self._known: dict[str, Environment] = {}
        self._lock = threading.Lock()
        self._asking: dict[str, threading.Lock] = {}

    def knows(self, job: SandboxJob, *, toolchain: Toolchain, granted: Sequence[Gpu]) -> bool:
        """True if the environment of `job` is known, so that `record` runs no probe."""
        key = self._key(self._probe_job(job, toolchain), toolchain, granted)
        with self._lock:
            if key not in self._known and (known := self._read(key)) is not None:
                self._known[key] = known
            return key in self._known

    def record(
        self, job: SandboxJob, sandbox: Sandbox, *, toolchain: Toolchain, granted: Sequence[Gpu]
    ) -> Environment:
        """The environment of `job`, found with its binds, devices, variables and settings.

        Raises ProbeFailedError.
        """
        probe = self._probe_job(job, toolchain)
        key = self._key(probe, toolchain, granted)
        with self._lock:
            known = self._known.get(key) or self._read(key)
            asking = self._asking.setdefault(key, threading.Lock())
        if known is None:
            # Other threads with the same question wait for the answer.
            with asking:
                known = self._known.get(key)
                if known is None:
                    known = self._run(probe, sandbox)
                    self._write(key, known)
                self._known[key] = known
        with self._lock:
            self._known[key] = known
        return known

    def _probe_job(self, job: SandboxJob, toolchain: Toolchain) -> SandboxJob:
        harness = {path: content for path, content in job.files.items() if path.startswith("/run/samehere/")}
        # The probe captures no values, so the limit on them must not change the key.
        config = _NO_VALUES.sub(b'"report_bytes": 0', harness.get(HARNESS_CONFIG_PATH, b"{}"))
        # No answer depends on the seed, the trace, a fixed source and the observed points, and there may be
        # any number of seeds and points.
        config = _PASSAGE.sub(b"", _SEED.sub(b'"seed": "0"', config))
        harness[HARNESS_CONFIG_PATH] = _TEST.sub(b"", config)
        variables = {name: value for name, value in job.variables.items() if name != "PYTHONHASHSEED"}
        argv = (toolchain.python_inside, PROBE_PATH)
        # Only the job's memory limit can change the answer.
        limits = self._limits.model_copy(update={"memory_bytes": job.limits.memory_bytes})
        return replace(
            job,
            argv=argv,
            files={**harness, PROBE_PATH: probe_source()},
            variables=variables,
            limits=limits,
            gated=False,
        )

    def _run(self, probe: SandboxJob, sandbox: Sandbox) -> Environment:
        result = sandbox.run(probe, cancelled=threading.Event())
        if result.ending is Ending.SETUP_FAILED:
            raise ProbeFailedError(f"the probe of the environment could not be started: {result.detail}")
        if result.ending is not Ending.EXITED or result.exit_status != 0:
            raise ProbeFailedError(
                f"the probe of the environment ended with {result.ending}, exit status {result.exit_status}"
            )
        try:
            lines = (result.stdout.head + result.stdout.tail).decode("utf-8", "replace").strip().splitlines()
            return scrub(_environment.validate_python(json.loads(lines[-1])))
        except (IndexError, ValueError, ValidationError) as error:
            raise ProbeFailedError("the probe of the environment gave no readable answer") from error

    def _key(self, probe: SandboxJob, toolchain: Toolchain, granted: Sequence[Gpu]) -> str:
        """A digest of all that the answer depends on, also of the kernel and the driver."""
        cpu = read_cpu()
        parts = [
            hashlib.sha256(probe_source() + probe.files.get(HARNESS_PATH, b"")).hexdigest(),
            probe.files.get(HARNESS_CONFIG_PATH, b"").decode(),
            toolchain.name,
            toolchain.build_id,
            sorted(probe.variables.items()),
            [gpu.model_dump(exclude={"index"}) for gpu in granted],
            [cpu.model, cpu.vendor, sorted(cpu.flags), sorted(os.sched_getaffinity(0)), os.cpu_count()],
            platform.release(),
        ]
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()

    def _read(self, key: str) -> Environment | None:
        try:
            return _environment.validate_json((self._folder / f"{key}.json").read_bytes())
        except (OSError, ValidationError):
            return None

    def _write(self, key: str, environment: Environment) -> None:
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        fresh = self._folder / f"{key}.{os.getpid()}.{threading.get_ident()}"
        fresh.write_text(json.dumps(environment), encoding="utf-8")
        fresh.replace(self._folder / f"{key}.json")
