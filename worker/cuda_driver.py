"""Where the NVIDIA driver's libraries lie when they are not where every process finds them."""

from __future__ import annotations

import functools
from dataclasses import dataclass, field
from pathlib import Path

from worker.sandbox.job import Bind

# Folders of container runtimes and of distributions that keep /usr to themselves.
_ELSEWHERE = ("/usr/local/nvidia/lib64", "/usr/local/nvidia/lib", "/run/nvidia/driver/usr/lib/x86_64-linux-gnu", "/usr/lib/wsl/lib")
_LIBRARY = "libcuda.so.1"


@dataclass(frozen=True, slots=True)
class DriverLibraries:
    """What to show and to set so that `libcuda` is found."""

    binds: tuple[Bind, ...] = ()
    variables: dict[str, str] = field(default_factory=dict)


@functools.cache
def driver_libraries() -> DriverLibraries:
    for folder in ("/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64", "/usr/lib"):
        if Path(folder, _LIBRARY).exists():
            return DriverLibraries()
    for folder in _ELSEWHERE:
        if Path(folder, _LIBRARY).exists():
            shown = () if folder.startswith("/usr/") else (Bind(folder, folder),)
            return DriverLibraries(shown, {"LD_LIBRARY_PATH": folder})
    return DriverLibraries()
