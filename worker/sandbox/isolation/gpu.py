"""What a job with NVIDIA cards needs to see beside the cards' own nodes: control nodes, driver libraries, some of /sys."""

from __future__ import annotations

import glob
import os
import platform
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

# Without nvidia-uvm, cuInit says "CUDA unknown error". nvidia-uvm-tools, -modeset and -caps are not needed.
_CONTROL_NODES = ("/dev/nvidiactl", "/dev/nvidia-uvm")
_SYS = ("/sys/devices", "/sys/bus/pci", "/sys/module/nvidia", "/sys/module/nvidia_uvm")
_LIBRARIES = (
    "libcuda.so.1",
    "libnvidia-ml.so.1",
    "libnvidia-ptxjitcompiler.so.1",
    "libnvidia-nvvm.so.4",
    "libnvidia-gpucomp.so.*",
)
_PLACES = (
    "/usr/lib/x86_64-linux-gnu",
    "/usr/lib/aarch64-linux-gnu",
    "/usr/lib64",
    "/usr/lib",
    "/usr/local/nvidia/lib64",
    "/usr/local/nvidia/lib",
    "/usr/lib/wsl/lib",
    "/opt/nvidia/lib64",
    "/home/kubernetes/bin/nvidia/lib64",
    "/run/opengl-driver/lib",
)
_OWN_ABI = {"x86_64": "x86-64", "aarch64": "AArch64"}
_LDCONFIG = ("/sbin/ldconfig", "/usr/sbin/ldconfig")


@dataclass(frozen=True, slots=True)
class Driver:
    """The driver's user side: folders to bind because /usr does not hold them, and those that the loader would not search."""

    folders: tuple[str, ...] = ()
    library_path: tuple[str, ...] = ()
    libraries: tuple[str, ...] = ()


def is_nvidia(devices: Sequence[str]) -> bool:
    """Whether any of the granted nodes is a card of NVIDIA."""
    return any(device.startswith("/dev/nvidia") for device in devices)


def nodes(devices: Sequence[str]) -> tuple[str, ...]:
    """The granted nodes, with the control nodes that every card needs."""
    extra = [node for node in _CONTROL_NODES if is_nvidia(devices) and Path(node).exists()]
    return tuple(dict.fromkeys([*devices, *extra]))


def sys_folders() -> tuple[str, ...]:
    """What the driver looks up under /sys, as far as it is there."""
    return tuple(folder for folder in _SYS if Path(folder).is_dir())


@lru_cache(maxsize=1)
def driver() -> Driver:
    """Found once: by the loader's cache, else in the places that are known."""
    cached = _in_loader_cache()
    bound: dict[str, None] = {}
    searched: dict[str, None] = {}
    libraries: dict[str, None] = {}
    for name in _LIBRARIES:
        path = cached.get(name)
        if path is None:
            path = next((found for place in _PLACES for found in sorted(glob.glob(f"{place}/{name}"))), None)  # noqa: PTH207
            if path is None:
                continue
            searched[str(Path(path).parent)] = None
        libraries[path] = None
        for place in (path, os.path.realpath(path)):
            if not place.startswith(("/usr/", "/lib")):
                bound[str(Path(place).parent)] = None
    return Driver(tuple(bound), tuple(searched), tuple(libraries))


def _in_loader_cache() -> dict[str, str]:
    for command in _LDCONFIG:
        if Path(command).exists():
            listed = subprocess.run(
                [command, "-p"], capture_output=True, text=True, check=False, env={}, timeout=20
            )
            found: dict[str, str] = {}
            for line in listed.stdout.splitlines():
                name, arrow, path = line.strip().partition(" => ")
                if arrow and _OWN_ABI.get(platform.machine(), "") in name and Path(path).exists():
                    found.setdefault(name.split(" ")[0], path)
            return found
    return {}
