"""One cgroup per job, version 1 or 2, where this process may make one."""

from __future__ import annotations

import errno
import os
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

_PREFIX = "samehere-"
_OWN_LEAF = "samehere-node"
_REMOVE_SECONDS = 2.0
_SHARES_OF_A_PROCESS = 1024
_lock = threading.Lock()


@dataclass(frozen=True, slots=True)
class _Home:
    """Where this process itself is, and what it read of that then."""

    folder: Path
    told: str

    def is_left(self) -> bool:
        """Whether somebody moved this process since."""
        return _told() != self.told


@dataclass(frozen=True, slots=True)
class Parents:
    """The folders below which leaves are made; for version 2 all are the same one."""

    version: int
    memory: Path
    pids: Path | None
    # So that a job of many processes gets no more of the processor than another: where it can be had.
    cpu: Path | None = None
    home: _Home | None = None

    @property
    def folders(self) -> tuple[Path, ...]:
        return tuple(
            dict.fromkeys(folder for folder in (self.memory, self.pids, self.cpu) if folder is not None)
        )


@dataclass(frozen=True, slots=True)
class Found:
    """Where leaves can be made, or why not and how to get there."""

    parents: Parents | None
    detail: str = ""


@dataclass(frozen=True, slots=True)
class _Mount:
    kind: str
    root: str
    point: Path
    controllers: frozenset[str]


class Leaf:
    """A job's own cgroup."""

    def __init__(self, parents: Parents, name: str, *, memory_bytes: int, processes: int) -> None:
        self._version = parents.version
        self._home = parents.home
        self._memory = parents.memory / name
        self._folders = [folder / name for folder in parents.folders]
        try:
            for folder in self._folders:
                folder.mkdir()
            if self._version == 1:
                _write(self._memory / "memory.limit_in_bytes", memory_bytes)
                _write_if_there(self._memory / "memory.memsw.limit_in_bytes", memory_bytes)
            else:
                _write(self._memory / "memory.max", memory_bytes)
                _write_if_there(self._memory / "memory.swap.max", 0)
                _write_if_there(self._memory / "memory.oom.group", 1)
            if parents.pids is not None:
                _write(parents.pids / name / "pids.max", processes)
            if parents.cpu is not None:
                # As many as its threads would have by themselves, beside what is in no leaf.
                _write(parents.cpu / name / "cpu.shares", _SHARES_OF_A_PROCESS * len(os.sched_getaffinity(0)))
        except OSError:
            self.remove()
            raise

    def add(self, pid: int) -> None:
        """Move a process in; what it starts later is born inside."""
        for folder in self._folders:
            _write(folder / "cgroup.procs", pid)

    def expect(self) -> None:
        """Beside the start of the process that `add` will move: what the kernel waits for before a move, 10 ms long, is over by then.

        All processors must have noticed that something moves. We move ourselves to where we are.
        """
        if self._home is not None and not self._home.is_left():
            _write_if_there(self._home.folder / "cgroup.procs", os.getpid())

    def oom_kills(self) -> int:
        """How many processes the kernel killed for this cgroup's memory."""
        name = "memory.oom_control" if self._version == 1 else "memory.events"
        return _keyed(self._memory / name).get("oom_kill", 0)

    def used_bytes(self) -> int:
        """Private and shared memory now, without the page cache."""
        fields = _keyed(self._memory / "memory.stat")
        return fields.get("rss" if self._version == 1 else "anon", 0) + fields.get("shmem", 0)

    def kill(self) -> None:
        """Kill all in it, where the kernel offers that."""
        _write_if_there(self._memory / "cgroup.kill", 1)

    def remove(self) -> bool:
        """Remove it once its processes are gone; whether it is gone."""
        deadline = time.monotonic() + _REMOVE_SECONDS
        gone = [_remove(folder, deadline) for folder in self._folders]
        return all(gone)


def _remove(folder: Path, deadline: float) -> bool:
    while True:
        try:
            folder.rmdir()
        except FileNotFoundError:
            return True
        except OSError as error:
            if error.errno != errno.EBUSY or time.monotonic() > deadline:
                return False
            time.sleep(0.01)
        else:
            return True


def _write(path: Path, value: int | str) -> None:
    # Without O_CREAT: in a folder that is no cgroup, a missing file must not appear.
    fd = os.open(path, os.O_WRONLY)
    try:
        os.write(fd, str(value).encode())
    finally:
        os.close(fd)


def _write_if_there(path: Path, value: int | str) -> None:
    try:
        _write(path, value)
    except OSError:
        return


def _keyed(path: Path) -> dict[str, int]:
    found = {}
    try:
        text = path.read_text()
    except OSError:
        return {}
    for line in text.splitlines():
        name, _, value = line.partition(" ")
        if value.isdigit():
            found[name] = int(value)
    return found


def _mounts(mountinfo: str) -> list[_Mount]:
    found = []
    for line in mountinfo.splitlines():
        before, _, after = line.partition(" - ")
        kind, _, options = after.split(" ", 2)
        if kind in ("cgroup", "cgroup2"):
            fields = before.split(" ")
            found.append(_Mount(kind, fields[3], Path(fields[4]), frozenset(options.split(","))))
    return found


def _own_paths(proc_cgroup: str) -> dict[str, str]:
    """This process's cgroup by controller; version 2 under the empty name."""
    paths = {}
    for line in proc_cgroup.splitlines():
        _, controllers, path = line.split(":", 2)
        for controller in controllers.split(","):
            paths[controller] = path
    return paths


def _own_folder(mount: _Mount, path: str) -> Path:
    relative = os.path.relpath(path, mount.root)
    folder = mount.point / relative
    return folder if not relative.startswith("..") and folder.is_dir() else mount.point


def _candidates(proc_cgroup: str, mountinfo: str) -> list[Parents]:
    own = _own_paths(proc_cgroup)
    mounts = _mounts(mountinfo)
    first = {
        name: next((m for m in mounts if m.kind == "cgroup" and name in m.controllers), None)
        for name in ("memory", "pids", "cpu")
    }
    folders = {
        name: _own_folder(mount, own.get(name, "/")) for name, mount in first.items() if mount is not None
    }
    if "memory" in folders:
        without = Parents(1, folders["memory"], folders.get("pids"))
        return [replace(without, cpu=folders["cpu"]), without] if "cpu" in folders else [without]
    found = []
    for mount in mounts:
        if mount.kind == "cgroup2":
            folder = _own_folder(mount, own.get("", "/"))
            found += [Parents(2, folder, folder)]
            if folder != mount.point:
                found += [Parents(2, mount.point, mount.point)]
    return found


def _delegate(folder: Path) -> None:
    """Have a version 2 folder hand memory and pids, and the processor if it has it, to its children; it may not hold processes then."""
    _delegate_what_must(folder)
    _write_if_there(folder / "cgroup.subtree_control", "+cpu")


def _delegate_what_must(folder: Path) -> None:
    wanted = {"memory", "pids"}
    if wanted <= set((folder / "cgroup.subtree_control").read_text().split()):
        return
    missing = wanted - set((folder / "cgroup.controllers").read_text().split())
    if missing:
        raise OSError(
            errno.ENODEV, f"cgroup version 2 offers no {' and no '.join(sorted(missing))} controller here"
        )
    try:
        _write(folder / "cgroup.subtree_control", "+memory +pids")
    except OSError as error:
        if error.errno != errno.EBUSY or {
            int(pid) for pid in (folder / "cgroup.procs").read_text().split()
        } != {os.getpid()}:
            raise
        (folder / _OWN_LEAF).mkdir(exist_ok=True)
        _write(folder / _OWN_LEAF / "cgroup.procs", os.getpid())
        _write(folder / "cgroup.subtree_control", "+memory +pids")


def _sweep(parents: Parents) -> None:
    """Remove what a killed node left behind: leaves of processes that are gone."""
    for parent in parents.folders:
        for folder in parent.glob(f"{_PREFIX}[0-9]*"):
            owner = folder.name.removeprefix(_PREFIX).partition("-")[0]
            if not _lives(owner):
                _remove(folder, 0.0)


def _lives(pid: str) -> bool:
    """Whether a process is there and no zombie: one that nobody reaps owns nothing any more."""
    try:
        return Path("/proc", pid, "stat").read_text().rpartition(")")[2].split()[0] not in {"Z", "X"}
    except OSError:
        return False


def _try(parents: Parents) -> None:
    if parents.version == 2:
        _delegate(parents.memory)
    _sweep(parents)
    leaf = Leaf(parents, leaf_name("probe", threading.get_native_id()), memory_bytes=1 << 26, processes=16)
    leaf.remove()


def _told() -> str:
    return Path("/proc/self/cgroup").read_text()


def _find_home(parents: Parents) -> _Home | None:
    for folder in (parents.memory, parents.memory / _OWN_LEAF):
        try:
            if str(os.getpid()) in (folder / "cgroup.procs").read_text().split():
                return _Home(folder, _told())
        except OSError:
            continue
    return None


def leaf_name(label: str | int, number: int) -> str:
    """Starts with this process's id, so that leaves without an owner are recognised."""
    return f"{_PREFIX}{os.getpid()}-{label}-{number}"


_HOW = (
    "for a memory limit that counts everything, give the node a cgroup of its own to write to: as a user, start it by "
    "`systemd-run --user --scope -p Delegate=yes …`; in Docker, `--security-opt writable-cgroups=true` (28 or newer); in podman, "
    "`--security-opt unmask=/sys/fs/cgroup`"
)
_found: Found | None = None


def find(*, proc_cgroup: str | None = None, mountinfo: str | None = None) -> Found:
    """Where this process can make leaves: found once, by making one."""
    global _found  # noqa: PLW0603 - moving out of the way of version 2's rule happens once per process
    given = proc_cgroup is not None or mountinfo is not None
    with _lock:
        if _found is None or given:
            candidates = _candidates(
                Path("/proc/self/cgroup").read_text() if proc_cgroup is None else proc_cgroup,
                Path("/proc/self/mountinfo").read_text() if mountinfo is None else mountinfo,
            )
            result = _first_that_works(candidates)
            if given:
                return result
            _found = result
        return _found


def _first_that_works(candidates: Sequence[Parents]) -> Found:
    why = "no cgroup file system is mounted"
    for parents in candidates:
        try:
            _try(parents)
        except OSError as error:
            why = f"{parents.memory}: {error.strerror}"
        else:
            return Found(replace(parents, home=_find_home(parents)))
    return Found(None, f"no cgroup for each job ({why}); {_HOW}")
