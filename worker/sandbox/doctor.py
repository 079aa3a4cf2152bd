"""Examines how well this machine can isolate untrusted code, and says how to improve it.

For `samehere doctor`.
"""

from __future__ import annotations

import os
import platform
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from worker.contract import FIRST_UID, GIB, Level
from worker.sandbox import backend
from worker.sandbox.errors import SandboxUnavailableError
from worker.sandbox.isolation import binary, gpu, landlock, private_mounts, seccomp
from worker.sandbox.resources import cgroup, limits, processes

_OLDEST_KERNEL = (5, 3)  # pidfd_open
_MEANS = {
    Level.NAMESPACES_CGROUP: "untrusted code runs isolated, and the kernel counts its memory",
    Level.NAMESPACES: (
        "untrusted code runs isolated; its memory is checked by polling, so a hostile program can briefly "
        "use more than its limit"
    ),
    Level.LANDLOCK: (
        "programs are restricted without namespaces: this is enough for your own files, and for untrusted "
        "code only if you accept the gaps that docs/security.md lists; it is used only if you name it"
    ),
    Level.LIMITS_ONLY: "no isolation: this is only for your own files, and only if you name it",
}


@dataclass(frozen=True, slots=True)
class Check:
    """The result of one check; `cure` says how to fix a problem, and is empty if there is none."""

    name: str
    ok: bool
    found: str
    cure: str = ""


@dataclass(frozen=True, slots=True)
class Examination:
    """The level that works here, its meaning, how to get a stronger level (`more`), and all checks."""

    level: Level | None
    means: str
    more: str
    checks: tuple[Check, ...]

    def as_json(self) -> dict[str, Any]:
        """For `--json`."""
        return asdict(self)


def examine(*, home: Path, level: Level | None = None, first_uid: int = FIRST_UID) -> Examination:
    """Run all checks, with three small jobs in the real sandbox at the named level or the strongest one."""
    checks = [
        _kernel(),
        _machine(),
        _user(first_uid),
        _bubblewrap(home, first_uid),
        _landlock(),
        _memory(),
        _cards(),
    ]
    sandbox = None
    refusals: list[str] = []
    is_weak = level in (Level.LANDLOCK, Level.LIMITS_ONLY)
    for candidate in (level,) if is_weak else dict.fromkeys((level, None, Level.LANDLOCK)):
        try:
            sandbox = backend.Sandbox(
                slot=backend.PROBE_SLOT, home=home, level=candidate, first_uid=first_uid
            )
        except SandboxUnavailableError as error:
            refusals.append(str(error))
            continue
        break
    more = "; ".join(dict.fromkeys(refusals if sandbox is None else refusals[:1]))
    checks.append(_namespaces(sandbox, more))
    if sandbox is None:
        return Examination(None, "untrusted code can't run on this machine", more, tuple(checks))
    checks.append(_cgroup())
    problems = sandbox.self_test()
    checks.append(
        Check(
            "attack from inside",
            ok=not problems,
            found="; ".join(problems) or "all attacks failed, as they should",
            cure=_cure_of(problems),
        )
    )
    checks.append(_gate(sandbox))
    if sandbox.level is Level.NAMESPACES and not more:
        more = cgroup.find().detail
    elif not more and sandbox.level is not Level.NAMESPACES_CGROUP:
        more = f"do not name a weaker level: the level {sandbox.level} was named"
    return Examination(sandbox.level, _MEANS[sandbox.level], more, tuple(checks))


def _gate(sandbox: backend.Sandbox) -> Check:
    """Not ok only where there is a card."""
    problem = sandbox.test_gate()
    name = "card at the first touch"
    if not problem:
        return Check(name, ok=True, found="attempts can start before their card is free")
    has_cards = any(Path("/dev").glob("nvidia[0-9]*"))
    return Check(
        name,
        ok=not has_cards,
        found=f"not possible: {problem}",
        cure="each attempt has its card from the start, whatever SAMEHERE_CARD_PLACES says"
        if has_cards
        else "",
    )


def _namespaces(sandbox: backend.Sandbox | None, why_not: str) -> Check:
    if sandbox is not None and sandbox.level.satisfies(Level.NAMESPACES):
        return Check("namespaces", ok=True, found="a sandbox with the real policy works")
    if sandbox is not None and not why_not:
        return Check("namespaces", ok=True, found=f"not tried, because the level {sandbox.level} was named")
    return Check("namespaces", ok=False, found="no sandbox could be started", cure=why_not)


def _cgroup() -> Check:
    support = cgroup.find()
    if support.parents is None:
        return Check("cgroup", ok=False, found="the node can't create any", cure=support.detail)
    place = f"version {support.parents.version}, below {support.parents.memory}"
    return Check("cgroup", ok=True, found=place)


def _landlock() -> Check:
    """Always ok: Landlock is not needed where namespaces work."""
    try:
        abi = landlock.find_abi()
    except SandboxUnavailableError as error:
        return Check("landlock", ok=True, found=f"not available: {error}")
    scope = ["files"]
    scope += ["ports"] if abi >= landlock.NETWORK_ABI else []
    scope += ["signals and abstract sockets"] if abi >= landlock.SCOPES_ABI else []
    return Check("landlock", ok=True, found=f"version {abi}, which can restrict {', '.join(scope)}")


def _cure_of(problems: list[str]) -> str:
    return "do not run untrusted code on this machine, and please report this" if problems else ""


def _kernel() -> Check:
    release = platform.release()
    new_enough = limits.kernel_version() >= _OLDEST_KERNEL
    cure = "" if new_enough else "install Linux 5.3 or newer: the sandbox kills processes through a pidfd"
    return Check("kernel", ok=new_enough, found=release, cure=cure)


def _machine() -> Check:
    try:
        seccomp.architecture()
    except SandboxUnavailableError as error:
        return Check("machine", ok=False, found=platform.machine(), cure=str(error))
    return Check("machine", ok=True, found=f"{platform.machine()}, {limits.cores()} cores")


def _user(first_uid: int) -> Check:
    if os.geteuid() != 0:
        return Check(
            "user",
            ok=True,
            found=f"uid {os.geteuid()}: all slots share it, and the kernel's limits per user",
        )
    if private_mounts.enter():
        return Check(
            "user",
            ok=True,
            found=f"root; jobs run as uid {first_uid} and above: keep these uids free",
        )
    cure = (
        "give the node CAP_SYS_ADMIN, or put toolchains and their Python where every user can read them, "
        "such as /opt"
    )
    return Check(
        "user",
        ok=True,
        found="root, but it can't create a mount namespace: jobs can't use files that only root can read",
        cure=cure,
    )


def _bubblewrap(home: Path, first_uid: int) -> Check:
    uid = first_uid if os.geteuid() == 0 else os.geteuid()
    try:
        path = binary.find(uid=uid, home=home)
    except SandboxUnavailableError as error:
        return Check("bubblewrap", ok=False, found="none", cure=str(error))
    return Check("bubblewrap", ok=True, found=f"{path}, version {'.'.join(map(str, binary.version(path)))}")


def _memory() -> Check:
    total, available = processes.total_bytes(), processes.available_bytes()
    sizes = f"{total / GIB:.1f} GiB, {available / GIB:.1f} GiB available"
    if available < 5 * GIB:
        cure = "a job may use 4 GiB by default: run fewer slots, or lower the memory limit of jobs"
        return Check("memory", ok=False, found=sizes, cure=cure)
    return Check("memory", ok=True, found=sizes)


def _cards() -> Check:
    cards = sorted(path.name for path in Path("/dev").glob("nvidia[0-9]*"))
    if not cards:
        return Check("cards", ok=True, found="no NVIDIA card")
    libraries = gpu.driver().libraries
    if not any("libcuda" in library for library in libraries):
        cure = "install the driver's libcuda.so.1; in a container, start it with `--gpus all`"
        return Check(
            "cards", ok=False, found=f"{', '.join(cards)}, but not the driver's libraries", cure=cure
        )
    return Check("cards", ok=True, found=f"{', '.join(cards)}; driver: {', '.join(libraries)}")
