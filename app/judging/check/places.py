"""Where a claim is said to hold, against the target and what was found on it."""

from __future__ import annotations

import re

from app.intake.claim.claims import Check, CheckKind, Role
from app.judging.check.reach import NO_GPU, OTHER_DEVICE, OTHER_MODE, OTHER_OS, OTHER_VERSION, uses_gpu
from app.judging.output.sides import lacks_a_side
from app.targets.target import Target
from worker.contract import Device, Reason, Result

_SYSTEMS = {
    "windows": ("windows", "win32", "win64"),
    "macos": ("mac", "darwin", "osx", "os x"),
    "linux": (
        "linux",
        "ubuntu",
        "debian",
        "fedora",
        "centos",
        "red hat",
        "rhel",
        "suse",
        "arch",
        "rocky",
        "alma",
        "alpine",
        "gentoo",
        "wsl",
    ),
}


def excluded(check: Check, target: Target) -> Reason | None:
    """Why the check can't speak of this target, whatever is seen there; None when it can."""
    if target.device is Device.CPU and check.where.device == Device.CUDA:
        return NO_GPU
    if check.where.device not in {None, Device.CPU, Device.CUDA}:
        # Of a device that no target grants, such as `mps`.
        return OTHER_DEVICE
    if check.kind in {CheckKind.DIFFERS, CheckKind.SLOWER} and lacks_a_side(check.sides, target):
        return NO_GPU
    return None


def away(check: Check, result: Result, target: Target) -> Reason | None:
    """Why this attempt was not where the claim is said to hold: a "no" from elsewhere is none. A "yes" counts anywhere."""
    where, found = check.where, result.environment
    if (
        check.role is Role.BUG
        and where.device == Device.CPU
        and target.device is Device.CUDA
        and uses_gpu(result)
    ):
        return OTHER_DEVICE
    if target.device is Device.CPU and not uses_gpu(result) and was_on_card(check):
        return NO_GPU
    if where.mode:
        return OTHER_MODE
    if where.version and not is_version(where.version, result, target):
        return OTHER_VERSION
    system = found.get("os.name")
    if where.os and system_of(where.os) != (system_of(system) if isinstance(system, str) else "linux"):
        return OTHER_OS
    return None


# What only a card says of itself.
_OF_A_CARD = re.compile(
    r"device='cuda|\b(?:CUDA (?:error|out of memory|kernel errors?|driver error)|device-side assert|cublas\w*|cudnn\w*|cusolver\w*"
    r"|cusparse\w*"
    r"|NCCL error|illegal memory access|misaligned address|no kernel image)\b",
    re.IGNORECASE,
)


def was_on_card(check: Check) -> bool:
    """Whether what is claimed to be shown proves that it was seen on a GPU, whatever the words around it say."""
    return any(_OF_A_CARD.search(shown) for shown in (*check.lines, check.message or ""))


def is_version(claimed: str, result: Result, target: Target) -> bool:
    """Whether an attempt ran under the claimed version: `2.1`, `>=2.1`, `python 3.12`."""
    if claimed.startswith("python"):
        found = result.environment.get("python.version")
        return isinstance(found, str) and same_release(claimed, found)
    seen = torch_of(result, target)
    if claimed.startswith(">="):
        return bool(release_of(seen)) and release_of(seen)[:2] >= release_of(claimed)[:2]
    return same_release(claimed, seen)


def torch_of(result: Result | None, target: Target) -> str:
    """The torch version that was found, else the one that the toolchain's name says."""
    version = None if result is None else result.environment.get("torch.version")
    return version if isinstance(version, str) else target.toolchain


def release_of(version: str) -> tuple[int, ...]:
    """`2.13.0+cpu` and `torch-2.13-cpu` as numbers; empty when there are none."""
    found = re.search(r"\d{1,9}(?:\.\d{1,9}){0,5}", version)
    return tuple(map(int, found.group().split("."))) if found else ()


def same_release(claimed: str, found: str) -> bool:
    """Whether a version is the claimed one as far as its minor number. Versions without numbers (`master`) are no one's."""
    one, other = release_of(claimed)[:2], release_of(found)[:2]
    return bool(one) and one == other[: len(one)]


def system_of(name: str) -> str:
    """The family of an operating system; Linux distributions are one. An unknown one is itself."""
    text = name.casefold()
    return next((system for system, words in _SYSTEMS.items() if any(word in text for word in words)), text)
