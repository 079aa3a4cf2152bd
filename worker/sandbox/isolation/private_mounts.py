"""Shows folders that a slot's uid can't read at a place where it can, in a private mount namespace.

The usual case is an interpreter below root's home, which only root may enter: bubblewrap never runs as root,
so it could not show that folder.
"""

from __future__ import annotations

import ctypes
import errno
import hashlib
import os
import stat
import tempfile
import threading
from pathlib import Path

from worker.sandbox.errors import SetupError

_CLONE_NEWNS = 0x00020000
_MS_NOSUID, _MS_NODEV, _MS_BIND, _MS_REC, _MS_SLAVE = 2, 4, 4096, 16384, 1 << 19
_NOBODY = 65534
_lock = threading.Lock()
# The tmpfs with all places, by mount namespace; and the place of each folder, by namespace and real path.
_stages: dict[str, Path] = {}
_places: dict[tuple[str, str], str] = {}


def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def _check(result: int, action: str) -> None:
    if result:
        number = ctypes.get_errno()
        raise OSError(number, f"{action}: {os.strerror(number)}")


def _mount(source: str, target: str, kind: str | None, flags: int, options: str | None = None) -> None:
    encoded = [None if text is None else os.fsencode(text) for text in (source, target, kind, options)]
    _check(
        _libc().mount(encoded[0], encoded[1], encoded[2], ctypes.c_ulong(flags), encoded[3]),
        f"mount {target}",
    )


def _namespace() -> str:
    return os.readlink("/proc/thread-self/ns/mnt")  # noqa: PTH115


def _unshare() -> None:
    """Give this thread a mount namespace.

    Later mounts of the host appear in it; its own mounts stay inside.
    """
    _check(_libc().unshare(_CLONE_NEWNS), "unshare the mount namespace")
    _mount("none", "/", None, _MS_REC | _MS_SLAVE)


def enter() -> bool:
    """Enter the private mount namespace.

    Call it in the main thread, before other threads start, so that all share it.

    Returns False, and does nothing, if this process is not root or the system forbids it.
    """
    if os.geteuid() != 0:
        return False
    with _lock:
        try:
            _stage()
        except OSError:
            return False
    return True


def _stage() -> Path:
    """The folder with all places in this thread's namespace; creates both if they do not exist yet.

    Raises OSError.
    """
    known = _stages.get(_namespace())
    # The system may give the id of a namespace to another one after a thread has ended.
    if known is not None and known.is_mount():
        return known
    _unshare()
    folder = _public_folder()
    _mount("samehere", str(folder), "tmpfs", _MS_NOSUID | _MS_NODEV, "mode=0755,size=1m")
    _stages[_namespace()] = folder
    return folder


def _public_folder() -> Path:
    """An empty folder, the same for all nodes. It stays on the host: removing it would unmount all places."""
    for parent in ("/run", tempfile.gettempdir(), "/var/tmp"):  # noqa: S108
        folder = Path(parent, "samehere-mounts")
        if not readable(parent, uid=_NOBODY) or not os.access(parent, os.W_OK):
            continue
        folder.mkdir(mode=0o755, exist_ok=True)
        status = folder.lstat()
        if stat.S_ISDIR(status.st_mode) and status.st_uid == 0:
            return folder
    raise OSError(errno.ENOENT, "no folder that every uid can enter and that this uid can write to")


def readable(path: str, *, uid: int) -> bool:
    """Whether a uid without groups can reach and read this path, by the modes of all folders on the way.

    For a link, the folders on the way to the link and to its target count.
    """
    real = os.path.realpath(path)
    try:
        for folder in (*Path(os.path.abspath(path)).parents, *Path(real).parents):  # noqa: PTH100  # the link's own folders
            if not _grants(folder.stat(), uid, 1):
                return False
        status = Path(real).stat()
    except OSError:
        return False
    return _grants(status, uid, 5 if stat.S_ISDIR(status.st_mode) else 4)


def _grants(status: os.stat_result, uid: int, rights: int) -> bool:
    bits = status.st_mode >> 6 if status.st_uid == uid else status.st_mode
    return bits & rights == rights


def show(path: str, *, uid: int) -> str:
    """A path at which the uid can read this file or folder: its own, or one in the private namespace.

    Raises SetupError if there is no way to show it.
    """
    if os.geteuid() != 0:
        return path
    real = os.path.realpath(path)
    if readable(real, uid=uid):
        return real
    with _lock:
        try:
            stage = _stage()
            key = (_namespace(), real)
            if key not in _places or not Path(_places[key]).is_mount():
                _places[key] = _bind(real, stage)
            return _places[key]
        except OSError as error:
            raise SetupError(
                f"the uid of the slot ({uid}) can't read {real}, and the sandbox can't show it: "
                f"{error.strerror}; "
                "put toolchains and their Python where every user can read them, such as /opt, "
                "or give the node CAP_SYS_ADMIN"
            ) from error


def _bind(real: str, stage: Path) -> str:
    place = stage / hashlib.sha256(real.encode()).hexdigest()[:16]
    if Path(real).is_dir():
        place.mkdir(exist_ok=True)
    else:
        place.touch()
    _mount(real, str(place), None, _MS_BIND | _MS_REC)
    return str(place)
