"""Explains why a sandbox can't be started: checks for known causes, and says how to fix them."""

from __future__ import annotations

from pathlib import Path

_DOCKER = (
    "this looks like a container: start it with "
    "`--security-opt seccomp=unconfined --security-opt systempaths=unconfined` "
    "(and `--security-opt apparmor=unconfined` if AppArmor is active); "
    "it needs no capability and no --privileged"
)
_MASKED_PROC = (
    "the container engine hides parts of /proc, so no process may mount its own /proc: "
    "start the container with "
    "`--security-opt systempaths=unconfined` (podman: `--security-opt unmask=ALL`)"
)
_APPARMOR = (
    "AppArmor restricts user namespaces (kernel.apparmor_restrict_unprivileged_userns=1): "
    "allow them for bwrap by the "
    "profile `profile bwrap /usr/bin/bwrap flags=(unconfined) { userns, }`, with the path of your bwrap, "
    "or set that sysctl to 0"
)
_NO_NAMESPACES = (
    "user namespaces are switched off (user.max_user_namespaces=0): "
    "run `sysctl -w user.max_user_namespaces=15000`"
)
_DEBIAN = (
    "only root may use user namespaces (kernel.unprivileged_userns_clone=0): "
    "run `sysctl -w kernel.unprivileged_userns_clone=1`"
)
_UNKNOWN = (
    "no known cause was found; "
    "if a security policy of this machine forbids unprivileged user namespaces or mounts, "
    "allow them for the node"
)


def _sysctl(name: str) -> str | None:
    try:
        return Path("/proc/sys", name.replace(".", "/")).read_text().strip()
    except OSError:
        return None


def in_container() -> bool:
    """Whether this is a container, by the marks that container engines leave."""
    if Path("/.dockerenv").exists() or Path("/run/.containerenv").exists():
        return True
    try:
        return b"container=" in Path("/proc/1/environ").read_bytes()
    except OSError:
        return False


def has_seccomp_filter() -> bool:
    """Whether a seccomp filter restricts this process."""
    return any(
        line.split() == ["Seccomp:", "2"] for line in Path("/proc/self/status").read_text().splitlines()
    )


def causes() -> list[str]:
    """The known causes that are present here, each with its fix, as sentences."""
    sentences = []
    if _sysctl("user.max_user_namespaces") == "0":
        sentences.append(_NO_NAMESPACES)
    if _sysctl("kernel.unprivileged_userns_clone") == "0":
        sentences.append(_DEBIAN)
    if _sysctl("kernel.apparmor_restrict_unprivileged_userns") == "1":
        sentences.append(_APPARMOR)
    if in_container():
        sentences.append(_DOCKER)
    elif has_seccomp_filter():
        sentences.append(f"a seccomp filter restricts this process, as in a container; {_DOCKER}")
    return sentences


def explain(message: str) -> str:
    """The text of a SandboxUnavailableError, from bubblewrap's message."""
    # bubblewrap guesses a cause; we look it up instead.
    message = message.partition(", likely because")[0]
    sentences = ([_MASKED_PROC] if "mount proc" in message else []) + causes()
    return f"isolation does not work here: {message.rstrip('.')}. " + "; ".join(sentences or [_UNKNOWN])
