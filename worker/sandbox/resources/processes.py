"""Reads a job's processes and their use of resources under /proc.

A process that ends meanwhile counts nothing.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Mapping
from pathlib import Path

_PROC = Path("/proc")
_KIB = 1024
_TICKS = os.sysconf("SC_CLK_TCK")


def tree(root: int) -> list[int]:
    """The ids on the host of the process and all its descendants."""
    pids: list[int] = []
    waiting = [root]
    while waiting:
        pid = waiting.pop()
        pids.append(pid)
        try:
            for task in os.listdir(f"/proc/{pid}/task"):  # noqa: PTH208 - several times faster, 20 times a second
                waiting += [int(child) for child in _read_whole(f"/proc/{pid}/task/{task}/children").split()]
        except OSError:
            continue
    return pids


def _read(path: str) -> bytes:
    fd = os.open(path, os.O_RDONLY)
    try:
        return os.read(fd, 1 << 16)
    finally:
        os.close(fd)


def _read_whole(path: str) -> bytes:
    """Read until the end: the kernel gives a list one page at a time."""
    parts = []
    fd = os.open(path, os.O_RDONLY)
    try:
        while part := os.read(fd, 1 << 16):
            parts.append(part)
    finally:
        os.close(fd)
    return b"".join(parts)


def _fields_kib(path: str, names: frozenset[bytes]) -> dict[bytes, int]:
    """Bytes by name, from a file with lines like `Name:   123 kB`."""
    sizes = {}
    for line in _read(path).splitlines():
        name, _, rest = line.partition(b":")
        if name in names:
            sizes[name] = int(rest.split()[0]) * _KIB
    return sizes


_RESIDENT = frozenset({b"RssAnon", b"RssShmem", b"VmPTE"})
# Page tables also count: reading one page of reserved memory creates a table for 2 MiB.
_PAGE_TABLES = frozenset({b"VmPTE"})
_PROPORTIONAL = frozenset({b"Pss_Anon", b"Pss_Shmem"})


def resident_bytes(pids: Iterable[int]) -> int:
    """A cheap upper bound of the memory in use: a page that several processes share counts once for each."""
    total = 0
    for pid in pids:
        try:
            total += sum(_fields_kib(f"/proc/{pid}/status", _RESIDENT).values())
        except OSError:
            continue
    return total


def proportional_bytes(pids: Iterable[int]) -> tuple[int, int]:
    """Private and shared memory in bytes, each page counted once; slower.

    A process whose maps can't be read counts with its `resident_bytes`.
    """
    private = shared = 0
    for pid in pids:
        try:
            fields = _fields_kib(f"/proc/{pid}/smaps_rollup", _PROPORTIONAL)
            private += fields[b"Pss_Anon"] + sum(_fields_kib(f"/proc/{pid}/status", _PAGE_TABLES).values())
            shared += fields[b"Pss_Shmem"]
        except ProcessLookupError:
            continue
        except (OSError, KeyError):
            private += resident_bytes([pid])
    return private, shared


def cpu_seconds(pids: Iterable[int]) -> float:
    """CPU time of the processes and of those children that they have waited for."""
    ticks = 0
    for pid in pids:
        try:
            # The fields follow the name, which the program chooses and which may contain parentheses itself.
            fields = _read(f"/proc/{pid}/stat").rpartition(b")")[2].split()
        except OSError:
            continue
        ticks += sum(int(field) for field in fields[11:15])
    return ticks / _TICKS


def status(path: str) -> dict[str, str]:
    """The fields of a `status` file, text by name.

    The kernel escapes the program's own name, which comes first.
    """
    lines = _read(path).decode("utf-8", "replace").split("\n")
    return {name: text.strip() for name, colon, text in (line.partition(":") for line in lines) if colon}


def parent_of(pid: int) -> int | None:
    """The id of the process's parent; None if the process has ended."""
    try:
        return int(_read(f"/proc/{pid}/stat").rpartition(b")")[2].split()[1])
    except OSError:
        return None


def exists(pid: int) -> bool:
    """Whether the process exists; a zombie does."""
    return Path("/proc", str(pid)).exists()


def of_uid(uid: int) -> list[int]:
    """The ids of all processes of a user, zombies too."""
    # The owner of the folder would not do: it is root for a process that hides its memory.
    pids = [int(name) for name in os.listdir(_PROC) if name.isdigit()]  # noqa: PTH208
    return [pid for pid in pids if _field(pid, "Uid").split()[:1] == [str(uid)]]


def confined_children() -> list[int]:
    """A job's orphans: children of this process with more seccomp filters, and their descendants."""
    own = _filters(os.getpid())
    orphans: list[int] = []
    for pid in tree(os.getpid())[1:]:
        if parent_of(pid) == os.getpid() and _filters(pid) > own:
            orphans += tree(pid)
    return orphans


def _filters(pid: int) -> int:
    return int(_field(pid, "Seccomp_filters") or 0)


def _field(pid: int, name: str) -> str:
    try:
        return status(f"/proc/{pid}/status").get(name, "")
    except OSError:
        return ""


def open_devices(pids: Iterable[int], devices: Mapping[int, str]) -> set[str]:
    """The device nodes that one of the processes has open. `devices`: path by device number."""
    open_paths: set[str] = set()
    for pid in pids:
        try:
            names = os.listdir(f"/proc/{pid}/fd")  # noqa: PTH208
        except OSError:
            continue
        for name in names:
            try:
                status = os.stat(f"/proc/{pid}/fd/{name}")  # noqa: PTH116 - the open file itself, not its path
            except OSError:
                continue
            if stat.S_ISCHR(status.st_mode) and status.st_rdev in devices:
                open_paths.add(devices[status.st_rdev])
    return open_paths


def device_numbers(paths: Iterable[str]) -> dict[int, str]:
    """The device nodes that exist: path by device number."""
    numbers = {}
    for path in paths:
        try:
            status = Path(path).stat()
        except OSError:
            continue
        if stat.S_ISCHR(status.st_mode):
            numbers[status.st_rdev] = path
    return numbers


def available_bytes() -> int:
    """Bytes of memory that the machine can still give without swapping."""
    return _fields_kib("/proc/meminfo", frozenset({b"MemAvailable"})).get(b"MemAvailable", 1 << 62)


def total_bytes() -> int:
    """Bytes of memory of the machine."""
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def machine_oom_kills() -> int:
    """The number of processes that the kernel killed for lack of memory since the machine started."""
    for line in (_PROC / "vmstat").read_bytes().splitlines():
        if line.startswith(b"oom_kill "):
            return int(line.split()[1])
    return 0
