"""From a failed probe to words: which of the known causes is present here, looked up rather than guessed, and what helps."""

from __future__ import annotations

from pathlib import Path

_DOCKER = (
    "this looks like a container: start it with `--security-opt seccomp=unconfined --security-opt systempaths=unconfined` "
    "(and `--security-opt apparmor=unconfined` where AppArmor is on); no capability and no --privileged is needed"
)
_MASKED_PROC = (
    "parts of /proc are masked here, as container engines do, and then no process may mount a /proc of its own: start the container "
    "with `--security-opt systempaths=unconfined` (podman: `--security-opt unmask=ALL`)"
)
_APPARMOR = (
    "AppArmor restricts user namespaces (kernel.apparmor_restrict_unprivileged_userns=1): allow them for bwrap by a profile "
    "`profile bwrap /usr/bin/bwrap flags=(unconfined) { userns, }` with the path of the bwrap in use, or set that sysctl to 0"
)
_NO_NAMESPACES = "user namespaces are switched off (user.max_user_namespaces=0): `sysctl -w user.max_user_namespaces=15000`"
_DEBIAN = "user namespaces are for root only (kernel.unprivileged_userns_clone=0): `sysctl -w kernel.unprivileged_userns_clone=1`"
_UNKNOWN = "no known cause was found; if a security policy of the machine forbids unprivileged user namespaces or mounts, allow them for the node"


def _sysctl(name: str) -> str | None:
    try:
        return Path("/proc/sys", name.replace(".", "/")).read_text().strip()
    except OSError:
        return None


def in_container() -> bool:
    """Whether this is a container, by what the engines leave there."""
    if Path("/.dockerenv").exists() or Path("/run/.containerenv").exists():
        return True
    try:
        return b"container=" in Path("/proc/1/environ").read_bytes()
    except OSError:
        return False


def filtered() -> bool:
    """Whether this process runs under somebody's seccomp filter."""
    return any(
        line.split() == ["Seccomp:", "2"] for line in Path("/proc/self/status").read_text().splitlines()
    )


def causes() -> list[str]:
    """The known causes that are present, each with its cure."""
    found = []
    if _sysctl("user.max_user_namespaces") == "0":
        found.append(_NO_NAMESPACES)
    if _sysctl("kernel.unprivileged_userns_clone") == "0":
        found.append(_DEBIAN)
    if _sysctl("kernel.apparmor_restrict_unprivileged_userns") == "1":
        found.append(_APPARMOR)
    if in_container():
        found.append(_DOCKER)
    elif filtered():
        found.append(f"a seccomp filter is in force here, as in a container; {_DOCKER}")
    return found


def explain(said: str) -> str:
    """The message of `SandboxUnavailableError`."""
    # bubblewrap guesses at a cause, which is looked up here instead.
    said = said.partition(", likely because")[0]
    found = ([_MASKED_PROC] if "mount proc" in said else []) + causes()
    return f"no isolation can be had here: {said.rstrip('.')}. " + "; ".join(found or [_UNKNOWN])
