"""A cgroup for each job, version 1 or 2, if this process may create one."""

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
# The shares and the weight of a process outside of these cgroups, and the part of them that a job gets. A job
# may use every idle core, but the service on the same machine is answered first.
_SHARES_OF_A_PROCESS = 1024
_WEIGHT_OF_A_PROCESS = 100
_PART_OF_A_JOB = 0.5
_lock = threading.Lock()


@dataclass(frozen=True, slots=True)
class _Home:
    """The cgroup of this process, and the content of /proc/self/cgroup when it was found."""

    folder: Path
    content: str

    def is_left(self) -> bool:
        """Whether this process has been moved to another cgroup since then."""
        return _read_own_cgroup() != self.content


@dataclass(frozen=True, slots=True)
class Parents:
    """The folders in which jobs get their cgroups, by controller; in version 2, all are the same."""

    version: int
    memory: Path
    pids: Path | None
    # With it, a job with many processes gets no more CPU time than another job. Not every machine permits it.
    cpu: Path | None = None
    home: _Home | None = None

    @property
    def folders(self) -> tuple[Path, ...]:
        """The folders of all controllers, each once."""
        return tuple(
            dict.fromkeys(folder for folder in (self.memory, self.pids, self.cpu) if folder is not None)
        )


@dataclass(frozen=True, slots=True)
class Support:
    """The folders in which jobs can get cgroups; if None, the detail says why and how to change it."""

    parents: Parents | None
    detail: str = ""


@dataclass(frozen=True, slots=True)
class _Mount:
    kind: str
    root: str
    point: Path
    controllers: frozenset[str]


class Leaf:
    """A job's own cgroup. Raises OSError if it can't be created."""

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
                # Not every machine permits it.
                _write_if_there(self._memory / "cpu.weight", round(_PART_OF_A_JOB * _WEIGHT_OF_A_PROCESS))
            if parents.pids is not None:
                _write(parents.pids / name / "pids.max", processes)
            if parents.cpu is not None:
                # A part of the CPU time that one busy thread on each core gets.
                cores = len(os.sched_getaffinity(0))
                _write(
                    parents.cpu / name / "cpu.shares", round(_PART_OF_A_JOB * _SHARES_OF_A_PROCESS * cores)
                )
        except OSError:
            self.remove()
            raise

    def add(self, pid: int) -> None:
        """Move a process into the cgroup. Its later children start inside. Raises OSError."""
        for folder in self._folders:
            _write(folder / "cgroup.procs", pid)

    def expect(self) -> None:
        """Make the next `add` faster. Call it in another thread while the process starts.

        Before a move, the kernel waits about 10 ms until all CPUs know of it; a second move soon after does
        not wait. So this moves our own process to the cgroup where it already is.
        """
        if self._home is not None and not self._home.is_left():
            _write_if_there(self._home.folder / "cgroup.procs", os.getpid())

    def oom_kills(self) -> int:
        """The number of processes that the kernel killed because of this cgroup's memory limit."""
        name = "memory.oom_control" if self._version == 1 else "memory.events"
        return _read_numbers(self._memory / name).get("oom_kill", 0)

    def used_bytes(self) -> int:
        """Bytes of private and shared memory now, without the page cache."""
        fields = _read_numbers(self._memory / "memory.stat")
        return fields.get("rss" if self._version == 1 else "anon", 0) + fields.get("shmem", 0)

    def kill(self) -> None:
        """Kill all processes in it, if the kernel supports that."""
        _write_if_there(self._memory / "cgroup.kill", 1)

    def remove(self) -> bool:
        """Remove it after its processes have ended; whether it could be removed in time."""
        deadline = time.monotonic() + _REMOVE_SECONDS
        removed = [_remove(folder, deadline) for folder in self._folders]
        return all(removed)


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
    # Without O_CREAT: this must not create a file in a folder that is no cgroup.
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


def _read_numbers(path: Path) -> dict[str, int]:
    numbers = {}
    try:
        text = path.read_text()
    except OSError:
        return {}
    for line in text.splitlines():
        name, _, value = line.partition(" ")
        if value.isdigit():
            numbers[name] = int(value)
    return numbers


def _mounts(mountinfo: str) -> list[_Mount]:
    mounts = []
    for line in mountinfo.splitlines():
        before, _, after = line.partition(" - ")
        kind, _, options = after.split(" ", 2)
        if kind in ("cgroup", "cgroup2"):
            fields = before.split(" ")
            mounts.append(_Mount(kind, fields[3], Path(fields[4]), frozenset(options.split(","))))
    return mounts


def _own_paths(proc_cgroup: str) -> dict[str, str]:
    """The path of this process's cgroup by controller; that of version 2 has the key ""."""
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
    candidates = []
    for mount in mounts:
        if mount.kind == "cgroup2":
            folder = _own_folder(mount, own.get("", "/"))
            candidates += [Parents(2, folder, folder)]
            if folder != mount.point:
                candidates += [Parents(2, mount.point, mount.point)]
    return candidates


def _delegate(folder: Path) -> None:
    """Enable the controllers memory and pids, and if possible cpu, for the children of a version 2 cgroup.

    Such a cgroup may contain no process: this process moves into a child if it is the only one. Raises
    OSError.
    """
    _delegate_required(folder)
    _write_if_there(folder / "cgroup.subtree_control", "+cpu")


def _delegate_required(folder: Path) -> None:
    required = {"memory", "pids"}
    if required <= set((folder / "cgroup.subtree_control").read_text().split()):
        return
    missing = required - set((folder / "cgroup.controllers").read_text().split())
    if missing:
        raise OSError(
            errno.ENODEV, f"cgroup version 2 has no {' and no '.join(sorted(missing))} controller here"
        )
    try:
        _write(folder / "cgroup.subtree_control", "+memory +pids")
    except OSError as error:
        pids = {int(pid) for pid in (folder / "cgroup.procs").read_text().split()}
        if error.errno != errno.EBUSY or pids != {os.getpid()}:
            raise
        (folder / _OWN_LEAF).mkdir(exist_ok=True)
        _write(folder / _OWN_LEAF / "cgroup.procs", os.getpid())
        _write(folder / "cgroup.subtree_control", "+memory +pids")


def _sweep(parents: Parents) -> None:
    """Remove the cgroups of nodes that have ended without removing them."""
    for parent in parents.folders:
        for folder in parent.glob(f"{_PREFIX}[0-9]*"):
            owner = folder.name.removeprefix(_PREFIX).partition("-")[0]
            if not _is_alive(owner):
                _remove(folder, 0.0)


def _is_alive(pid: str) -> bool:
    """Whether a process exists and is no zombie."""
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


def _read_own_cgroup() -> str:
    return Path("/proc/self/cgroup").read_text()


def _find_home(parents: Parents) -> _Home | None:
    for folder in (parents.memory, parents.memory / _OWN_LEAF):
        try:
            if str(os.getpid()) in (folder / "cgroup.procs").read_text().split():
                return _Home(folder, _read_own_cgroup())
        except OSError:
            continue
    return None


def leaf_name(label: str | int, number: int) -> str:
    """A cgroup's name, with this process's id: `_sweep` then recognises cgroups without an owner."""
    return f"{_PREFIX}{os.getpid()}-{label}-{number}"


_HOW = (
    "for an exact memory limit, give the node its own writable cgroup: as a user, start it by "
    "`systemd-run --user --scope -p Delegate=yes …`; in Docker, use `--security-opt writable-cgroups=true` "
    "(28 or newer); in podman, `--security-opt unmask=/sys/fs/cgroup`"
)
_support: Support | None = None


def find(*, proc_cgroup: str | None = None, mountinfo: str | None = None) -> Support:
    """Whether and where this process can create cgroups for jobs. Found once per process, by creating one.

    The arguments replace the content of the files under /proc/self, for tests.
    """
    global _support  # noqa: PLW0603 - this process moves into a child cgroup (`_delegate`), which happens once
    is_test = proc_cgroup is not None or mountinfo is not None
    with _lock:
        if _support is None or is_test:
            candidates = _candidates(
                Path("/proc/self/cgroup").read_text() if proc_cgroup is None else proc_cgroup,
                Path("/proc/self/mountinfo").read_text() if mountinfo is None else mountinfo,
            )
            result = _first_that_works(candidates)
            if is_test:
                return result
            _support = result
        return _support


def _first_that_works(candidates: Sequence[Parents]) -> Support:
    reason = "no cgroup file system is mounted"
    for parents in candidates:
        try:
            _try(parents)
        except OSError as error:
            reason = f"{parents.memory}: {error.strerror}"
        else:
            return Support(replace(parents, home=_find_home(parents)))
    return Support(None, f"no cgroup for each job ({reason}); {_HOW}")
