"""Examines whether this machine can be a node, and reports the faults."""

from __future__ import annotations

from dataclasses import replace

from worker.cards.nvml import find_gpus
from worker.contract import Level, ToolchainFacts
from worker.machine.hardware import read_cpu
from worker.machine.settings import NodeSettings
from worker.sandbox.doctor import Check, Examination
from worker.sandbox.doctor import examine as examine_sandbox
from worker.toolchains import ToolchainStore

_FIRST = "samehere toolchain add torch-2.13-cpu torch==2.13.0 numpy"


def examine(settings: NodeSettings) -> Examination:
    """All checks of this machine. They run small jobs in the real sandbox."""
    sandbox = examine_sandbox(home=settings.home, level=settings.level, first_uid=settings.first_uid)
    return replace(sandbox, checks=(*sandbox.checks, _processor(), _gpus(), *_toolchains(settings)))


def is_usable(examination: Examination, *, named: Level | None) -> bool:
    """True if attempts can run here: a toolchain is ready, and the isolation level is strong enough.

    A weaker level is enough if the operator `named` it.
    """
    ready = any(check.ok for check in examination.checks if check.name.startswith("toolchain "))
    withstands = all(check.ok for check in examination.checks if check.name == "attack from inside")
    reached = examination.level
    enough = reached is not None and (reached.satisfies(Level.NAMESPACES) or reached is named)
    return enough and withstands and ready


def _toolchains(settings: NodeSettings) -> list[Check]:
    toolchains = ToolchainStore(settings.toolchain_folder).list()
    if not toolchains:
        return [Check("toolchains", ok=False, found="none", cure=f"add one: {_FIRST}")]
    return [_toolchain(facts, builds=settings.toolchain_wait_seconds > 0) for facts in toolchains]


def _toolchain(facts: ToolchainFacts, *, builds: bool) -> Check:
    name = f"toolchain {facts.name}"
    if facts.state == "ready":
        return Check(name, ok=True, found=f"torch {facts.torch or 'none'}")
    if facts.state == "locked":
        finding = "locked, and built when it is needed" if builds else "locked"
        return Check(
            name, ok=builds, found=finding, cure="" if builds else f"samehere toolchain build {facts.name}"
        )
    return Check(name, ok=False, found=facts.state, cure=facts.detail)


def _gpus() -> Check:
    gpus = find_gpus()
    listing = ", ".join(
        f"{gpu.index}: {gpu.model}, sm{gpu.capability.replace('.', '')}, driver {gpu.driver}" for gpu in gpus
    )
    return Check("GPUs by NVML", ok=True, found=listing or "none")


def _processor() -> Check:
    cpu = read_cpu()
    return Check("CPU", ok=True, found=f"{cpu.model}, {cpu.cores} cores")
