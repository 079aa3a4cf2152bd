"""Builds the sandbox job of an attempt: its script, settings, harness, files and devices."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from worker.attempt.refusal import RefusedError, operator_reason
from worker.cards.nvml import device_nodes
from worker.contract import Attempt, Gpu, Level
from worker.contract.target_settings import AppliedSettings, SettingError, apply_settings
from worker.harness import HARNESS_CONFIG_PATH, REPORT_FD_PLACEHOLDER, harness_sources
from worker.sandbox import Sandbox, SandboxJob
from worker.toolchains import Toolchain

SCRIPT_PATH = "/home/u/script.py"


def apply_target(attempt: Attempt, sandbox: Sandbox, toolchain: Toolchain) -> AppliedSettings:
    """The variables and harness actions that bring the target's settings about. Raises RefusedError."""
    try:
        applied = apply_settings(attempt.settings, cpu_isa=toolchain.facts.cpu_isa)
    except SettingError as error:
        raise RefusedError(error.reason) from error
    if applied.harness and not sandbox.level.satisfies(Level.NAMESPACES):
        # Without namespaces the program sees the files of the machine, and the harness is not among them.
        names = ", ".join(sorted(applied.harness))
        raise RefusedError(
            operator_reason(
                "setting_needs_namespaces", f"At level {sandbox.level} a node can't bring about: {names}."
            )
        )
    return applied


def make_job(
    attempt: Attempt,
    toolchain: Toolchain,
    *,
    harness: Mapping[str, str],
    granted: Sequence[Gpu],
    variables: Mapping[str, str],
) -> SandboxJob:
    """The job that runs the script under the harness.

    `harness` are the settings that the harness brings about.
    """
    return SandboxJob(
        argv=(toolchain.python_inside, SCRIPT_PATH),
        files={
            SCRIPT_PATH: attempt.script.encode("utf-8", "surrogatepass"),
            **harness_sources(),
            HARNESS_CONFIG_PATH: _harness_config(attempt, harness),
        },
        variables=variables,
        binds=toolchain.binds,
        devices=device_nodes(list(granted)),
        limits=attempt.limits,
    )


def _harness_config(attempt: Attempt, settings: Mapping[str, str]) -> bytes:
    """The harness's settings as JSON, with a placeholder for the file descriptor of the report.

    `worker.sandbox.process.launch` replaces the placeholder by the number when it starts the job.
    """
    config: dict[str, object] = {
        "report_fd": REPORT_FD_PLACEHOLDER,
        # Half of each limit, so that our own report never exceeds one.
        "report_bytes": min(attempt.limits.result_bytes, attempt.limits.stream_kill_bytes) // 2,
        "settings": settings,
    }
    if attempt.passage:
        config["passage"] = [point.model_dump(mode="json") for point in attempt.passage]
    # The placeholder stands for a number, so it has no quotes.
    return json.dumps(config).replace(f'"{REPORT_FD_PLACEHOLDER}"', REPORT_FD_PLACEHOLDER, 1).encode()
