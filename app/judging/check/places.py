"""The device, version and system that a claim names, compared with those of a target or an attempt."""

from __future__ import annotations

import re
from collections.abc import Sequence

from packaging.specifiers import InvalidSpecifier, SpecifierSet

from app.intake.claim.claims import Check, CheckKind, Claim, Role
from app.intake.reading import Script
from app.intake.words.other_devices import device_at_issue, other_device_in
from app.intake.words.vocabulary import FLAGS
from app.judging.check.reach import NO_GPU, OTHER_DEVICE, OTHER_MODE, OTHER_OS, OTHER_VERSION, uses_gpu
from app.judging.output.sides import lacks_a_side
from app.targets.target import Target
from worker.contract import Device, Reason, Result

_MOST_LINES = 100
_MOST_LINE = 2_000
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


# Lines that name a device as the place where something ran: `device: mps`, `device='xpu:0'`, `on tpu`.
_NAMED_DEVICE = re.compile(
    r"\b(?:device|backend|accelerator|platform|using|on)\b['\"]?[\s:=(]{1,4}(?:\w{1,12}[\s:=]{1,3}){0,2}['\"]?"
    r"(?P<device>mps|xpu|tpu|hpu|npu|hip|xla|mtia|ipu|vulkan|rocm|metal|privateuseone)(?![A-Za-z])"
    r"|(?<![A-Za-z])(?P<numbered>mps|xpu|tpu|hpu|npu|hip|xla|mtia|ipu|privateuseone):\d"
    r"|(?<![A-Za-z])(?P<card>TpuDevice|Radeon|Instinct MI\d+|gfx\d{3,4}|Gaudi|Ascend)",
    FLAGS,
)
_LIBRARY_OF_DEVICES = re.compile(r"\b(?:torch|jax|tensorflow|keras|paddle|mlx|mindspore|flax)\b")
# `MPS available: False`, `no XPU found`, `mps: False` where the script prints whether there is one.
_IS_NOT_THERE = re.compile(
    r"\b(?:available|built|supported|found|enabled)\W{1,4}(?:false|no|0)\b|\bunavailable\b"
    r"|\b(?:no|without|not) (?:\w{1,12} ){0,2}"
    r"(?:mps|xpu|tpu|hpu|npu|rocm|available|built|found|supported|enabled)\b",
    FLAGS,
)
_ASKS_ALOUD = re.compile(r"print\([^\n]{0,200}\b(?:is_available|is_built|device_count)")
# Such a script goes on with the CPU, whatever its own words for the sides are.
_CHOOSES = re.compile(
    r"is_available|is_built|device_count|current_accelerator|default_backend|\.devices\(|\bexcept\b"
)
_CONTRASTS = re.compile(
    r"\b(?:than|vs|versus|unlike|but|while|whereas|differ\w*|mismatch\w*|inconsist\w*|compared|only)\b",
    FLAGS,
)


def is_of_absent_device(check: Check, result: Result, script: Script, claim: Claim) -> bool:
    """Whether the claim shows a device that no target has, and this attempt nothing of that device."""
    own = _device_in((*check.lines, *check.side_lines, *(check.message or "").splitlines()[:1]), script)
    device = own or _device_of_title(claim.text.partition("\n")[0], script)
    if device is None or any(device in used.casefold() for used in result.observation.devices_used):
        return False
    is_seen = _device_in(result.observation.stdout.splitlines()[:_MOST_LINES], script) == device
    return not is_seen or _CHOOSES.search(script.script) is not None


def _device_in(lines: Sequence[str], script: Script) -> str | None:
    """The first such device that the lines name as a place of their own."""
    is_bare = _LIBRARY_OF_DEVICES.search(script.script) is not None
    asks = _ASKS_ALOUD.search(script.script) is not None
    for line in (each[:_MOST_LINE] for each in lines[:_MOST_LINES]):
        if _IS_NOT_THERE.search(line) or (asks and "False" in line):
            continue
        if named := _NAMED_DEVICE.search(line):
            return str(named[named.lastgroup or 0]).casefold()
        # `max diff of cpu and mps: 1.5` is about the other device, too.
        if is_bare and (device := other_device_in(line)):
            return device
    return None


def _device_of_title(title: str, script: Script) -> str | None:
    """The one such device that a title is about: not one that does the same as another."""
    if not _LIBRARY_OF_DEVICES.search(script.script):
        return None
    return device_at_issue(title) or (other_device_in(title) if _CONTRASTS.search(title) else None)


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
