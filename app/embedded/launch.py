"""Becomes a child that dies with its parent: drops to a uid, in a view of the file system where that uid reaches what it must.

Run as `python -I -S launch.py SPEC PROGRAM ARGUMENT…`, by path and with the standard library alone, so that it starts in a few
milliseconds and does not care from where it was installed. SPEC is a JSON object: `parent` (pid), `signal` (sent to the
child when the parent's starting thread ends), `uid` (or null), `view` (folders and files to keep in reach), `passwd` (a file to
see as /etc/passwd, or null), `umask` (or null), `cwd`.
"""

from __future__ import annotations

import ctypes
import json
import os
import sys
from pathlib import Path

# What the parent can tell from a failure of the program itself.
NO_VIEW_STATUS = 71
PR_SET_PDEATHSIG = 1
CLONE_NEWNS, CLONE_NEWUSER = 0x00020000, 0x10000000
MS_BIND, MS_REC, MS_PRIVATE = 0x1000, 0x4000, 0x40000


def first_blocker(path: Path, uid: int) -> Path | None:
    """The topmost folder above `path` that `uid` (with the group of the same number and no other) can't enter."""
    for folder in reversed(path.parents):
        facts = folder.stat()
        shift = 6 if facts.st_uid == uid else 3 if facts.st_gid == uid else 0
        if not facts.st_mode >> shift & 1:
            return folder
    return None


def _call(libc: ctypes.CDLL, name: str, *arguments: object) -> None:
    if getattr(libc, name)(*arguments) != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{name}: {os.strerror(number)}")


def enter_view(libc: ctypes.CDLL, uid: int, view: list[Path], passwd: Path | None) -> None:
    """Cover each folder that the uid can't enter by an empty one, and bind what it needs back at the same path.

    In a mount namespace of our own: outside of it no mode, owner or mount changes.
    """
    blockers = {path: blocker for path in view if (blocker := first_blocker(path, uid))}
    if not blockers and passwd is None:
        return
    _call(libc, "unshare", CLONE_NEWNS)
    _call(libc, "mount", b"none", b"/", None, MS_REC | MS_PRIVATE, None)
    # Opened before they are covered, and after the unshare: a mount's source has to be in the caller's own namespace.
    kept = {path: os.open(path, os.O_PATH) for path in blockers}
    for blocker in set(blockers.values()):
        _call(libc, "mount", b"tmpfs", os.fsencode(blocker), b"tmpfs", 0, b"size=1m,mode=0755")
    for path, fd in kept.items():
        path.mkdir(parents=True, exist_ok=True)
        _call(libc, "mount", f"/proc/self/fd/{fd}".encode(), os.fsencode(path), None, MS_BIND | MS_REC, None)
        os.close(fd)
    if passwd is not None:
        _call(libc, "mount", os.fsencode(passwd), b"/etc/passwd", None, MS_BIND, None)


def see_passwd(libc: ctypes.CDLL, passwd: Path) -> None:
    """As a plain user that has no name: give it one, in a user namespace in which it stays itself."""
    uid, gid = os.geteuid(), os.getegid()
    _call(libc, "unshare", CLONE_NEWUSER | CLONE_NEWNS)
    Path("/proc/self/setgroups").write_text("deny")
    Path("/proc/self/uid_map").write_text(f"{uid} {uid} 1")
    Path("/proc/self/gid_map").write_text(f"{gid} {gid} 1")
    _call(libc, "mount", os.fsencode(passwd), b"/etc/passwd", None, MS_BIND, None)


def main(arguments: list[str]) -> None:
    """Never returns: the program takes this process over."""
    spec = json.loads(arguments[0])
    libc = ctypes.CDLL(None, use_errno=True)
    uid = spec["uid"]
    passwd = Path(spec["passwd"]) if spec["passwd"] else None
    view = [Path(path) for path in spec["view"]]
    try:
        if uid is not None:
            enter_view(libc, uid, view, passwd)
        elif passwd is not None:
            see_passwd(libc, passwd)
    except OSError as error:
        hidden = {str(blocker) for path in view if uid is not None and (blocker := first_blocker(path, uid))}
        place = " and ".join(sorted(hidden)) or "a name in /etc/passwd"
        sys.stderr.write(
            f"uid {os.geteuid() if uid is None else uid} has no way to {place}, and a private view can't be had here ({error}): "
            "choose a SAMEHERE_HOME and an installation that every user can enter, or start it as a user that has a name\n"
        )
        sys.exit(NO_VIEW_STATUS)
    if uid is not None:
        os.setgroups([])
        os.setresgid(uid, uid, uid)
        os.setresuid(uid, uid, uid)
    if spec["umask"] is not None:
        os.umask(spec["umask"])
    os.chdir(spec["cwd"])
    # After the change of uid, which clears it.
    _call(libc, "prctl", PR_SET_PDEATHSIG, spec["signal"], 0, 0, 0)
    if os.getppid() != spec["parent"]:
        sys.exit(1)
    os.execv(arguments[1], arguments[1:])  # noqa: S606  # that is the point


if __name__ == "__main__":
    main(sys.argv[1:])
