"""What this machine can do for strangers' code, and how to get more, in plain words."""

from __future__ import annotations

import os
import platform
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from worker.contract import GIB, Level
from worker.sandbox import backend, binary, cgroup, gpu, limits, private_mounts, processes, seccomp
from worker.sandbox.errors import SandboxUnavailableError

_OLDEST_KERNEL = (5, 3)  # pidfd_open
_STEP = {
    Level.NAMESPACES_CGROUP: "strangers' code is isolated, and its memory is counted by the kernel",
    Level.NAMESPACES: "strangers' code is isolated; its memory is watched by polling, which a hostile program can evade up to a floor",
    Level.LIMITS_ONLY: "no isolation",
}


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that was looked at; the cure is empty where nothing needs one."""

    name: str
    ok: bool
    found: str
    cure: str = ""


@dataclass(frozen=True, slots=True)
class Examination:
    """The level in force, what it means, and what was looked at."""

    level: Level | None
    means: str
    checks: tuple[Check, ...]

    def as_json(self) -> dict[str, Any]:
        """For `--json`."""
        return asdict(self)


def examine(*, home: Path) -> Examination:
    """Look at all of it; runs two small jobs in the real sandbox."""
    checks = [_kernel(), _machine(), _user(), _bubblewrap(home), _memory(), _cards()]
    try:
        sandbox = backend.Sandbox(slot=0, home=home)
    except SandboxUnavailableError as error:
        checks.append(Check("namespaces", ok=False, found="a sandbox could not be started", cure=str(error)))
        return Examination(None, "strangers' code cannot run here", tuple(checks))
    checks.append(Check("namespaces", ok=True, found="a sandbox was started with the real policy"))
    found = cgroup.find()
    if found.parents is None:
        checks.append(Check("cgroup", ok=False, found="none can be made", cure=found.detail))
    else:
        checks.append(Check("cgroup", ok=True, found=f"version {found.parents.version}, below {found.parents.memory}"))
    problems = sandbox.self_test()
    checks.append(Check("attack from inside", ok=not problems, found="; ".join(problems) or "nothing got out", cure=_cure_of(problems)))
    return Examination(sandbox.level, _STEP[sandbox.level], tuple(checks))


def _cure_of(problems: list[str]) -> str:
    return "do not run strangers' code on this machine, and report this" if problems else ""


def _kernel() -> Check:
    release = platform.release()
    new_enough = limits.kernel_version() >= _OLDEST_KERNEL
    cure = "" if new_enough else "Linux 5.3 or newer is needed: a job's processes are killed through a pidfd"
    return Check("kernel", ok=new_enough, found=release, cure=cure)


def _machine() -> Check:
    try:
        seccomp.architecture()
    except SandboxUnavailableError as error:
        return Check("machine", ok=False, found=platform.machine(), cure=str(error))
    return Check("machine", ok=True, found=f"{platform.machine()}, {limits.cores()} cores")


def _user() -> Check:
    if os.geteuid() != 0:
        return Check("user", ok=True, found=f"uid {os.geteuid()}: all slots share it, and with it what the kernel counts per user")
    if private_mounts.enter():
        return Check("user", ok=True, found=f"root, which runs jobs as uid {backend.FIRST_SLOT_UID} and up: keep these uids free")
    cure = "give the node CAP_SYS_ADMIN, or keep toolchains and their Python where every user can read them, such as /opt"
    return Check(
        "user", ok=True, found="root without a mount namespace of its own: what only root can read cannot be shown to jobs", cure=cure
    )


def _bubblewrap(home: Path) -> Check:
    uid = backend.FIRST_SLOT_UID if os.geteuid() == 0 else os.geteuid()
    try:
        found = binary.find(uid=uid, home=home)
    except SandboxUnavailableError as error:
        return Check("bubblewrap", ok=False, found="none", cure=str(error))
    return Check("bubblewrap", ok=True, found=f"{found}, version {'.'.join(map(str, binary.version(found)))}")


def _memory() -> Check:
    total, available = processes.total_bytes(), processes.available_bytes()
    found = f"{total / GIB:.1f} GiB, {available / GIB:.1f} GiB available"
    if available < 5 * GIB:
        return Check("memory", ok=False, found=found, cure="a job may use 4 GiB by default: run fewer slots, or give jobs less memory")
    return Check("memory", ok=True, found=found)


def _cards() -> Check:
    cards = sorted(path.name for path in Path("/dev").glob("nvidia[0-9]*"))
    if not cards:
        return Check("cards", ok=True, found="no NVIDIA card")
    libraries = gpu.driver().libraries
    if not any("libcuda" in library for library in libraries):
        cure = "install the driver's libcuda.so.1; in a container, start it with `--gpus all`"
        return Check("cards", ok=False, found=f"{', '.join(cards)}, but no driver library", cure=cure)
    return Check("cards", ok=True, found=f"{', '.join(cards)}; driver: {', '.join(libraries)}")
