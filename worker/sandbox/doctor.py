"""What this machine can do for strangers' code, and how to get more, in plain words."""

from __future__ import annotations

import os
import platform
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from worker.contract import GIB, Level
from worker.sandbox import backend
from worker.sandbox.errors import SandboxUnavailableError
from worker.sandbox.isolation import binary, gpu, landlock, private_mounts, seccomp
from worker.sandbox.resources import cgroup, limits, processes

_OLDEST_KERNEL = (5, 3)  # pidfd_open
_MEANS = {
    Level.NAMESPACES_CGROUP: "strangers' code is isolated, and its memory is counted by the kernel",
    Level.NAMESPACES: "strangers' code is isolated; its memory is watched by polling, which a hostile program can evade up to a floor",
    Level.LANDLOCK: (
        "a program is closed in without namespaces: enough for files of your own, and for strangers' code only where you accept what "
        "docs/security.md says of this level; it is taken only if it is named"
    ),
    Level.LIMITS_ONLY: "no isolation: only for a file of your own, and only if it is named",
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
    """The level that can be reached, what it means, how to get the next one up, and what was looked at."""

    level: Level | None
    means: str
    more: str
    checks: tuple[Check, ...]

    def as_json(self) -> dict[str, Any]:
        """For `--json`."""
        return asdict(self)


def examine(*, home: Path, level: Level | None = None) -> Examination:
    """Look at all of it; runs two small jobs in the real sandbox, at the level that the operator named, else at the strongest."""
    checks = [_kernel(), _machine(), _user(), _bubblewrap(home), _landlock(), _memory(), _cards()]
    sandbox = None
    refusals: list[str] = []
    for wanted in (
        (level,)
        if level in (Level.LANDLOCK, Level.LIMITS_ONLY)
        else dict.fromkeys((level, None, Level.LANDLOCK))
    ):
        try:
            sandbox = backend.Sandbox(slot=backend.PROBE_SLOT, home=home, level=wanted)
        except SandboxUnavailableError as error:
            refusals.append(str(error))
            continue
        break
    more = "; ".join(dict.fromkeys(refusals if sandbox is None else refusals[:1]))
    checks.append(_namespaces(sandbox, more))
    if sandbox is None:
        return Examination(None, "strangers' code cannot run here", more, tuple(checks))
    checks.append(_cgroup())
    problems = sandbox.self_test()
    checks.append(
        Check(
            "attack from inside",
            ok=not problems,
            found="; ".join(problems) or "nothing got out",
            cure=_cure_of(problems),
        )
    )
    if sandbox.level is Level.NAMESPACES and not more:
        more = cgroup.find().detail
    elif not more and sandbox.level is not Level.NAMESPACES_CGROUP:
        more = f"name no weaker level: {sandbox.level} was asked for"
    return Examination(sandbox.level, _MEANS[sandbox.level], more, tuple(checks))


def _namespaces(sandbox: backend.Sandbox | None, why_not: str) -> Check:
    if sandbox is not None and sandbox.level.satisfies(Level.NAMESPACES):
        return Check("namespaces", ok=True, found="a sandbox was started with the real policy")
    if sandbox is not None and not why_not:
        return Check("namespaces", ok=True, found=f"not tried, since {sandbox.level} was named")
    return Check("namespaces", ok=False, found="a sandbox could not be started", cure=why_not)


def _cgroup() -> Check:
    found = cgroup.find()
    if found.parents is None:
        return Check("cgroup", ok=False, found="none can be made", cure=found.detail)
    return Check("cgroup", ok=True, found=f"version {found.parents.version}, below {found.parents.memory}")


def _landlock() -> Check:
    """A second-best: nothing is wrong without it where namespaces work."""
    try:
        abi = landlock.find_abi()
    except SandboxUnavailableError as error:
        return Check("landlock", ok=True, found=f"none: {error}")
    held = ["files"]
    held += ["ports"] if abi >= landlock.NETWORK_ABI else []
    held += ["signals and abstract sockets"] if abi >= landlock.SCOPES_ABI else []
    return Check("landlock", ok=True, found=f"version {abi}, which judges {', '.join(held)}")


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
        return Check(
            "user",
            ok=True,
            found=f"uid {os.geteuid()}: all slots share it, and with it what the kernel counts per user",
        )
    if private_mounts.enter():
        return Check(
            "user",
            ok=True,
            found=f"root, which runs jobs as uid {backend.FIRST_SLOT_UID} and up: keep these uids free",
        )
    cure = "give the node CAP_SYS_ADMIN, or keep toolchains and their Python where every user can read them, such as /opt"
    return Check(
        "user",
        ok=True,
        found="root without a mount namespace of its own: what only root can read cannot be shown to jobs",
        cure=cure,
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
        return Check(
            "memory",
            ok=False,
            found=found,
            cure="a job may use 4 GiB by default: run fewer slots, or give jobs less memory",
        )
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
