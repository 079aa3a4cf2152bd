"""Finds the files that a job with NVIDIA cards needs: control nodes, driver libraries and parts of /sys."""

from __future__ import annotations

import glob
import os
import platform
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

# Without nvidia-uvm, cuInit fails with "CUDA unknown error".
# nvidia-uvm-tools, -modeset and -caps are not needed.
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
    """The driver's libraries.

    `folders`: folders outside /usr that a sandbox must show. `library_path`: folders that the loader does not
    search by itself. `libraries`: the paths of the libraries.
    """

    folders: tuple[str, ...] = ()
    library_path: tuple[str, ...] = ()
    libraries: tuple[str, ...] = ()


def is_nvidia(devices: Sequence[str]) -> bool:
    """Whether any of the device nodes belongs to NVIDIA."""
    return any(device.startswith("/dev/nvidia") for device in devices)


def nodes(devices: Sequence[str]) -> tuple[str, ...]:
    """The device nodes, and the control nodes that every NVIDIA card needs."""
    extra = [node for node in _CONTROL_NODES if is_nvidia(devices) and Path(node).exists()]
    return tuple(dict.fromkeys([*devices, *extra]))


def sys_folders() -> tuple[str, ...]:
    """The folders under /sys that the driver reads, if they exist."""
    return tuple(folder for folder in _SYS if Path(folder).is_dir())


@lru_cache(maxsize=1)
def driver() -> Driver:
    """Find the libraries once per process: in the loader's cache, else in the usual folders."""
    cached = _in_loader_cache()
    bound: dict[str, None] = {}
    searched: dict[str, None] = {}
    libraries: dict[str, None] = {}
    for name in _LIBRARIES:
        path = cached.get(name)
        if path is None:
            matches = (match for place in _PLACES for match in sorted(glob.glob(f"{place}/{name}")))  # noqa: PTH207
            path = next(matches, None)
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
            process = subprocess.run(
                [command, "-p"], capture_output=True, text=True, check=False, env={}, cwd="/", timeout=20
            )
            paths: dict[str, str] = {}
            for line in process.stdout.splitlines():
                name, arrow, path = line.strip().partition(" => ")
                if arrow and _OWN_ABI.get(platform.machine(), "") in name and Path(path).exists():
                    paths.setdefault(name.split(" ")[0], path)
            return paths
    return {}
