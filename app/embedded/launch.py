"""Starts a program that dies with its parent. It can have another uid, and a view of the files that it needs.

Run as `python -I -S launch.py SPEC PROGRAM ARGUMENT…`. It uses only the standard library and is run by its
path, so it starts in a few milliseconds and works from any place.

SPEC is a JSON object: `parent` (pid), `signal` (sent to the program when the thread that started it ends),
`uid` (or null), `view` (files and folders that must stay readable), `passwd` (a file to show as /etc/passwd,
or null), `umask` (or null), `cwd`.
"""

from __future__ import annotations

import ctypes
import json
import os
import sys
from pathlib import Path

# The exit status if the private view can't be made. The parent can tell it from a failure of the program.
NO_VIEW_STATUS = 71
PR_SET_PDEATHSIG = 1
CLONE_NEWNS, CLONE_NEWUSER = 0x00020000, 0x10000000
MS_BIND, MS_REC, MS_PRIVATE = 0x1000, 0x4000, 0x40000


def first_blocker(path: Path, uid: int) -> Path | None:
    """The topmost folder above `path` that `uid` can't enter. Its only group has the same number."""
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
    """Cover each folder that the uid can't enter by an empty one, and bind the view's paths back into it.

    This happens in a private mount namespace: outside of it no mode, owner or mount changes.
    """
    blockers = {path: blocker for path in view if (blocker := first_blocker(path, uid))}
    if not blockers and passwd is None:
        return
    _call(libc, "unshare", CLONE_NEWNS)
    _call(libc, "mount", b"none", b"/", None, MS_REC | MS_PRIVATE, None)
    # Opened before they are covered, but after the unshare: a mount needs a source in its own namespace.
    sources = {path: os.open(path, os.O_PATH) for path in blockers}
    for blocker in set(blockers.values()):
        _call(libc, "mount", b"tmpfs", os.fsencode(blocker), b"tmpfs", 0, b"size=1m,mode=0755")
    for path, fd in sources.items():
        path.mkdir(parents=True, exist_ok=True)
        _call(libc, "mount", f"/proc/self/fd/{fd}".encode(), os.fsencode(path), None, MS_BIND | MS_REC, None)
        os.close(fd)
    if passwd is not None:
        _call(libc, "mount", os.fsencode(passwd), b"/etc/passwd", None, MS_BIND, None)


def see_passwd(libc: ctypes.CDLL, passwd: Path) -> None:
    """Show a file as /etc/passwd to a user without a name. The user keeps its uid in a private namespace."""
    uid, gid = os.geteuid(), os.getegid()
    _call(libc, "unshare", CLONE_NEWUSER | CLONE_NEWNS)
    Path("/proc/self/setgroups").write_text("deny")
    Path("/proc/self/uid_map").write_text(f"{uid} {uid} 1")
    Path("/proc/self/gid_map").write_text(f"{gid} {gid} 1")
    _call(libc, "mount", os.fsencode(passwd), b"/etc/passwd", None, MS_BIND, None)


def main(arguments: list[str]) -> None:
    """Set everything up, then replace this process by the program. Never returns."""
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
            f"uid {os.geteuid() if uid is None else uid} has no way to {place}, "
            f"and a private view can't be made here ({error}): choose a SAMEHERE_HOME and an installation "
            "that every user can enter, or start it as a user that has a name\n"
        )
        sys.exit(NO_VIEW_STATUS)
    if uid is not None:
        os.setgroups([])
        os.setresgid(uid, uid, uid)
        os.setresuid(uid, uid, uid)
    if spec["umask"] is not None:
        os.umask(spec["umask"])
    os.chdir(spec["cwd"])
    # This comes after the change of the uid, because that change clears it.
    _call(libc, "prctl", PR_SET_PDEATHSIG, spec["signal"], 0, 0, 0)
    if os.getppid() != spec["parent"]:
        sys.exit(1)
    os.execv(arguments[1], arguments[1:])  # noqa: S606  # the purpose of this module


if __name__ == "__main__":
    main(sys.argv[1:])
