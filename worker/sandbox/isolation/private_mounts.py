"""A private mount namespace in which what a slot's uid cannot read on the host is shown at a place that it can.

An interpreter under root's 0700 home is the usual case: bubblewrap, which never runs as root, could not bind it.
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
# By mount namespace: the tmpfs that holds the places, and each source's place on it.
_stages: dict[str, Path] = {}
_places: dict[tuple[str, str], str] = {}


def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def _check(result: int, what: str) -> None:
    if result:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")


def _mount(source: str, target: str, kind: str | None, flags: int, options: str | None = None) -> None:
    encoded = [None if text is None else os.fsencode(text) for text in (source, target, kind, options)]
    _check(
        _libc().mount(encoded[0], encoded[1], encoded[2], ctypes.c_ulong(flags), encoded[3]),
        f"mount {target}",
    )


def _namespace() -> str:
    return os.readlink("/proc/thread-self/ns/mnt")  # noqa: PTH115


def _unshare() -> None:
    """This thread's view of mounts becomes its own; what the host mounts later still shows, what is mounted here does not leave."""
    _check(_libc().unshare(_CLONE_NEWNS), "a mount namespace of its own")
    _mount("none", "/", None, _MS_REC | _MS_SLAVE)


def enter() -> bool:
    """Call in the main thread before any other thread exists, so that all of them share the namespace.

    Does nothing, and returns False, when this process is not root or is not permitted to.
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
    """The folder of this thread's namespace that holds the places; makes both where they are not there yet."""
    known = _stages.get(_namespace())
    # Ids of namespaces are used again after a thread ended.
    if known is not None and known.is_mount():
        return known
    _unshare()
    folder = _public_folder()
    _mount("samehere", str(folder), "tmpfs", _MS_NOSUID | _MS_NODEV, "mode=0755,size=1m")
    _stages[_namespace()] = folder
    return folder


def _public_folder() -> Path:
    """An empty folder, the same for all nodes: on the host it stays, because removing it would unmount what lies on it."""
    for parent in ("/run", tempfile.gettempdir(), "/var/tmp"):  # noqa: S108
        folder = Path(parent, "samehere-mounts")
        if not readable(parent, uid=_NOBODY) or not os.access(parent, os.W_OK):
            continue
        folder.mkdir(mode=0o755, exist_ok=True)
        status = folder.lstat()
        if stat.S_ISDIR(status.st_mode) and status.st_uid == 0:
            return folder
    raise OSError(errno.ENOENT, "no folder that every uid can enter and this one can write to")


def readable(path: str, *, uid: int) -> bool:
    """Whether a uid without groups reaches and reads this path, by the modes of all folders on the way, to a link as well."""
    real = os.path.realpath(path)
    try:
        for folder in (*Path(os.path.abspath(path)).parents, *Path(real).parents):  # noqa: PTH100  # the link's own folders
            if not _granted(folder.stat(), uid, 1):
                return False
        status = Path(real).stat()
    except OSError:
        return False
    return _granted(status, uid, 5 if stat.S_ISDIR(status.st_mode) else 4)


def _granted(status: os.stat_result, uid: int, wanted: int) -> bool:
    bits = status.st_mode >> 6 if status.st_uid == uid else status.st_mode
    return bits & wanted == wanted


def show(path: str, *, uid: int) -> str:
    """Where the uid can read what lies at this path: the path itself, or a place in the private namespace."""
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
                f"{real} cannot be read by the uid of the slot ({uid}), and cannot be shown to it: {error.strerror}; "
                "put toolchains and their Python where every user can read them, such as /opt, or give the node CAP_SYS_ADMIN"
            ) from error


def _bind(real: str, stage: Path) -> str:
    place = stage / hashlib.sha256(real.encode()).hexdigest()[:16]
    if Path(real).is_dir():
        place.mkdir(exist_ok=True)
    else:
        place.touch()
    _mount(real, str(place), None, _MS_BIND | _MS_REC)
    return str(place)
