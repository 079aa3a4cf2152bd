"""The device, version and system that a claim names, compared with those of a target or an attempt."""

from __future__ import annotations

import re

from packaging.specifiers import InvalidSpecifier, SpecifierSet

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


def exclusion_of(check: Check, target: Target) -> Reason | None:
    """Why the check can't be judged on this target at all; None if it can."""
    if target.device is Device.CPU and check.where.device == Device.CUDA:
        return NO_GPU
    if check.where.device not in {None, Device.CPU, Device.CUDA}:
        # No target has such a device, for example `mps`.
        return OTHER_DEVICE
    if check.kind in {CheckKind.DIFFERS, CheckKind.SLOWER} and lacks_a_side(check.sides, target):
        return NO_GPU
    return None


def mismatch_of(check: Check, result: Result, target: Target) -> Reason | None:
    """Why the environment of this attempt is not the claimed one; None if it is.

    A "no" from another environment does not count. A "yes" counts in any environment.
    """
    where = check.where
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
    if not _is_claimed_version(check, result, target):
        return OTHER_VERSION
    system = result.environment.get("os.name")
    if where.os and system_of(where.os) != (system_of(system) if isinstance(system, str) else "linux"):
        return OTHER_OS
    return None


def _is_claimed_version(check: Check, result: Result, target: Target) -> bool:
    where = check.where
    return (not where.version or is_version(where.version, result, target, package=where.package)) and (
        not where.range or is_in_range(where.range, result, target, package=where.package)
    )


# Only messages about a GPU have these words.
_GPU_MESSAGE = re.compile(
    r"device='cuda"
    r"|\b(?:CUDA (?:error|out of memory|kernel errors?|driver error)|device-side assert"
    r"|cublas\w*|cudnn\w*|cusolver\w*|cusparse\w*"
    r"|NCCL error|illegal memory access|misaligned address|no kernel image)\b",
    re.IGNORECASE,
)


def was_on_card(check: Check) -> bool:
    """Whether the claimed output can only come from a GPU, whatever else the report says."""
    return any(_GPU_MESSAGE.search(text) for text in (*check.lines, check.message or ""))


def is_version(claimed: str, result: Result, target: Target, *, package: str | None = None) -> bool:
    """Whether an attempt ran under the claimed version of the package: `2.1`, `>=2.1`, `python 3.12`.

    Without a package, it is a version of torch.
    """
    if claimed.startswith("python"):
        package, claimed = "python", claimed.removeprefix("python").strip()
    seen = version_of(package or "torch", result, target)
    if claimed.startswith(">="):
        return bool(release_of(seen)) and release_of(seen)[:2] >= release_of(claimed)[:2]
    return same_release(claimed, seen)


def is_in_range(claimed: str, result: Result, target: Target, *, package: str | None = None) -> bool:
    """Whether an attempt ran under a version of the package in this range, as in `>=2.4,<2.6`.

    A build before a release counts as the release.
    """
    release = ".".join(map(str, release_of(version_of(package or "torch", result, target))))
    try:
        return bool(release) and SpecifierSet(claimed).contains(release)
    except InvalidSpecifier:
        return False


def version_of(package: str, result: Result | None, target: Target) -> str:
    """The version of a package in an attempt; empty if it has none."""
    if package == "torch":
        return torch_of(result, target)
    name = "python.version" if package == "python" else f"package.{package}"
    version = None if result is None else result.environment.get(name)
    return version if isinstance(version, str) else ""


def torch_of(result: Result | None, target: Target) -> str:
    """The torch version of the attempt, else the toolchain's name, which holds a version."""
    version = None if result is None else result.environment.get("torch.version")
    return version if isinstance(version, str) else target.toolchain


def release_of(version: str) -> tuple[int, ...]:
    """The numbers of a version, as (2, 13, 0) for `2.13.0+cpu` and (2, 13) for `torch-2.13-cpu`.

    Empty without numbers.
    """
    match = re.search(r"\d{1,9}(?:\.\d{1,9}){0,5}", version)
    return tuple(map(int, match.group().split("."))) if match else ()


def same_release(claimed: str, version: str) -> bool:
    """Whether a version has the claimed major and minor number.

    False for a claim without numbers, as `master`.
    """
    one, other = release_of(claimed)[:2], release_of(version)[:2]
    return bool(one) and one == other[: len(one)]


def system_of(name: str) -> str:
    """The family of an operating system.

    All Linux distributions are `linux`; an unknown name is its own family.
    """
    text = name.casefold()
    return next((system for system, words in _SYSTEMS.items() if any(word in text for word in words)), text)
