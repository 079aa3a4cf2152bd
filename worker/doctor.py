"""Says whether this machine can be a node, and what is missing."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from worker.machine import find_gpus, read_cpu
from worker.sandbox import Sandbox, SandboxUnavailableError
from worker.settings import NodeSettings
from worker.toolchains import ToolchainStore


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing looked at."""

    what: str
    good: bool
    detail: str

    def as_json(self) -> dict[str, object]:
        return asdict(self)


def examine(settings: NodeSettings) -> list[Finding]:
    return [*_sandbox(settings), *_toolchains(settings), _gpus(), _processor()]


def _sandbox(settings: NodeSettings) -> list[Finding]:
    try:
        sandbox = Sandbox(slot=0, home=settings.home, level=settings.level)
    except SandboxUnavailableError as error:
        return [Finding("sandbox", good=False, detail=str(error))]
    problems = sandbox.self_test()
    level = Finding("sandbox", good=True, detail=f"{sandbox.level}{'; ' + sandbox.level_detail if sandbox.level_detail else ''}")
    test = Finding("sandbox self-test", good=not problems, detail="; ".join(problems) or "holds")
    return [level, test]


def _toolchains(settings: NodeSettings) -> list[Finding]:
    found = ToolchainStore(settings.toolchain_folder).list()
    if not found:
        return [Finding("toolchains", good=False, detail="none; add one: samehere toolchain add torch-2.13-cpu torch==2.13.0 numpy")]
    return [
        Finding(
            f"toolchain {facts.name}",
            good=facts.state == "ready",
            detail=f"torch {facts.torch}" if facts.state == "ready" else f"{facts.state}: {facts.detail}",
        )
        for facts in found
    ]


def _gpus() -> Finding:
    gpus = find_gpus()
    return Finding(
        "GPUs", good=True, detail=", ".join(f"{gpu.index}: {gpu.model} (sm{gpu.capability.replace('.', '')})" for gpu in gpus) or "none"
    )


def _processor() -> Finding:
    cpu = read_cpu()
    return Finding("CPU", good=True, detail=f"{cpu.model}, {cpu.cores} cores")
